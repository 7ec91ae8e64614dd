# SPDX-License-Identifier: Apache-2.0
"""How those that follow files know how far their writer is: a small file beside them.

What writers do to it and what followers find is in ``src/fluvial/store/progress_mark.hpp``, whose
words these are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from .. import _core


def path_of_mark(name: str) -> str:
    """Return the path of the small file beside a file, or beside numbered ones.

    >>> path_of_mark("run/data%T.h5")
    'run/data%T.h5.writing'
    """
    return f"{name.rstrip('/')}.writing"


class Writer(Enum):
    """What is known of the writer of files."""

    WRITES = "writes"
    GONE = "gone"
    """It was killed, or failed."""
    NONE = "none"
    """It has closed the files, or leaves no mark because it is another program."""


class Progress(NamedTuple):
    """What a follower finds."""

    writer: Writer
    changes: int
    finished: int
    """Number of the last step that is finished; -1: none is."""
    said: str
    """Which program writes, or why it failed."""

    @property
    def whole(self) -> bool:
        """Whether what says what is in the files is not just being changed."""
        return self.changes % 2 == 0


class ProgressMark:
    """The writer's end: of one process, from the opening of a series to its close.

    Raises
    ------
    InvalidArgument
        Another writer has the name.
    """

    def __init__(self, name: str) -> None:
        self._mark = _core.ProgressMark(name)
        self.finish = self._mark.finish
        self.close = self._mark.close

    def fail(self, why: str) -> None:
        """Say that no step will follow, though the files are not what they were to be."""
        self._mark.fail(why.encode(errors="replace").decode())

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Inside of it, what says what is in the files may not be whole."""
        self._mark.begin_change()
        try:
            yield
        finally:
            self._mark.end_change()


def progress_of(name: str) -> Progress:
    """Return what the writer of these files has left beside them. Local."""
    writer, changes, steps, said = _core.progress_of(name)
    return Progress(Writer(writer), changes, steps - 1, said)


@contextlib.contextmanager
def writer_rests(name: str) -> Iterator[None]:
    """Inside of it, a writer on this or another host begins no change for up to a second."""
    rest = _core.WriterRests(name)
    try:
        yield
    finally:
        rest.end()
