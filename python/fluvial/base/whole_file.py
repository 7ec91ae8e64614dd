# SPDX-License-Identifier: Apache-2.0
"""Files that are there when they are whole."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from .._core import InvalidArgument
from .messages import shown


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """Give a path beside the target; what was written there is put in its place at the end.

    After an exception the target is as it was, and nothing is left beside it. Of a symbolic link
    the target is what it leads to.

    Raises
    ------
    InvalidArgument
        The target is there and no regular file.
    """
    target = os.path.realpath(path)
    check_replaceable(target)
    partial = f"{target}.partial-{os.getpid()}"
    try:
        yield partial
        os.replace(partial, target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)


def check_replaceable(path: str) -> None:
    """Refuse what is there and no regular file: a device, a pipe, a folder.

    Raises
    ------
    InvalidArgument
        It is one of these.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        raise InvalidArgument(
            f"what is to be written is no regular file: got {shown(path)}; allowed: a new file, or "
            "one that may be replaced"
        )
