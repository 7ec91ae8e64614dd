# SPDX-License-Identifier: Apache-2.0
"""Read-only arrays, as they travel between the ranks of a pool."""

from __future__ import annotations

import ctypes
import pickle
from types import NotImplementedType
from typing import cast

import numpy as np


def reduced_array(thing: object) -> tuple[object, ...] | NotImplementedType:
    """Return what pickle writes of an array that cannot be written; NotImplemented of others.

    The one that it reads can be written, as if it had been pickled without buffers: a process of
    its own has memory of its own.

    >>> array = np.arange(3)
    >>> array.flags.writeable = False
    >>> rebuild, arguments = reduced_array(array)[:2]
    >>> rebuild(*arguments).flags.writeable
    True
    """
    if type(thing) is not np.ndarray or thing.flags.writeable:
        return NotImplemented
    reduced = cast("tuple[object, tuple[object, ...]]", thing.__reduce_ex__(5))
    rebuild, arguments = reduced[:2]
    if not any(isinstance(one, pickle.PickleBuffer) for one in arguments):
        return NotImplemented
    # The same memory, which pickle only reads, as a buffer that does not say that it is read-only.
    memory = (ctypes.c_char * thing.nbytes).from_address(thing.ctypes.data)
    memory.owner = thing  # type: ignore[attr-defined]
    buffer = pickle.PickleBuffer(memory)
    ours = tuple(buffer if isinstance(one, pickle.PickleBuffer) else one for one in arguments)
    return rebuild, ours, *reduced[2:]
