# SPDX-License-Identifier: Apache-2.0
"""Keys of tasks: what a text must not have that is to mean the same in the next run."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

import numpy as np

from .. import _core
from ..base.arguments import to_text
from ..base.messages import shown

_ADDRESS = re.compile(r"<.+ at 0x[0-9a-f]+")
_DIGEST = "key=lambda x: hashlib.sha256(x.tobytes()).hexdigest()"


def checked_key(key: str, arguments: Iterable[object]) -> str:
    """Return the key of a task with these arguments.

    Raises
    ------
    InvalidArgument
        When it has the address of an object, which is another in each run, or an array as it is
        printed, rounded or with its middle left out.
    """
    if _ADDRESS.search(key):
        raise _core.InvalidArgument(
            f"a key has the address of an object: got {shown(key)}; allowed: text that is the same "
            "in each run. Make it of values; of a future, of those that its task was given"
        )
    for argument in arguments:
        if isinstance(argument, np.ndarray) and _is_printed_in(key, argument):
            raise _core.InvalidArgument(
                f"a key has an array as it is printed: got {shown(key)}; allowed: text that "
                f"differs when the arrays differ. Make it of a digest, as in {_DIGEST}"
            )
    return to_text(key, "a key")


def _is_printed_in(key: str, array: np.ndarray) -> bool:
    """Tell whether a key has the array by a text that is not that of this array alone."""
    is_whole = array.size <= np.get_printoptions()["threshold"]
    if array.ndim == 0 or (is_whole and array.size >= len(key)):  # its text would be longer
        return False
    if str(array) not in key and repr(array) not in key:
        return False
    if not is_whole:
        return True
    return str(array) != np.array2string(array, threshold=sys.maxsize, floatmode="unique")
