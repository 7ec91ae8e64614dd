# SPDX-License-Identifier: Apache-2.0
"""How those that follow files know how far their writer is: a small file beside them.

| the writer                 | does to NAME.writing          | a follower finds                    |
|----------------------------|-------------------------------|-------------------------------------|
| opens the series           | makes and locks it            | a lock: it is being written         |
| begins to change what says | makes the count of changes    | odd: it may not be whole, so it     |
| what is in a file          | odd                           | looks again                         |
| has changed that           | makes that count even again   | another count: it looks again       |
| has finished a step        | notes its number              | steps up to that one are there      |
| is about to change it, and | waits a second at most        | that it is in time: it asks for     |
| a follower asks for a rest |                               | that where it was late three times  |
| closes the series          | removes it, after the files   | none: nothing more will come        |
| fails                      | says why, lets go of the lock | no lock: the writer is gone         |
| is killed                  |                               | the same                            |

The lock is one of fcntl, which the kernel lets go of with the process, and which file systems that
are shared between hosts carry on. A follower asks for a rest by such a lock on the second byte.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import time
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from .. import _core
from ..base.messages import shown_text

_DIGITS = 20  # of each of the two counts at the front
_LOCK = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0)
_REST = struct.pack("hhqqi", fcntl.F_RDLCK, os.SEEK_SET, 1, 1, 0)
_NO_REST = struct.pack("hhqqi", fcntl.F_WRLCK, os.SEEK_SET, 1, 1, 0)
_REST_S = 1.0  # that a writer waits at most
_NAP_S = 0.001


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
    """Who the writer is, or why it failed."""

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
        self._path = path_of_mark(name)
        self._changes = 0
        self._finished = -1
        self._rested_in_vain = False
        """A follower asked for a rest for longer than there is; it may be stopped."""
        self._file = -1
        try:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError:
            return  # nor will the file itself be made, which says so
        if not _lock(self._file):
            said = _read(self._file).said
            self._let_go()
            raise _core.InvalidArgument(
                f"another writer has these files: got '{shown_text(name)}' ({said}); allowed: one "
                "at a time. Write elsewhere, or end that one"
            )
        self._say(f"process {os.getpid()} on {os.uname().nodename}")

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Inside of it, what says what is in the files may not be whole."""
        self._rest()
        self._changes += 1
        self._count()
        try:
            yield
        finally:
            self._changes += 1
            self._count()

    def finish(self, number: int) -> None:
        """Note a step that is finished."""
        self._finished = number
        self._count()

    def fail(self, why: str) -> None:
        """Say that no step will follow, though the files are not what they were to be."""
        if self._file >= 0:
            self._say(why)
            self._let_go()

    def close(self) -> None:
        """Say that no step follows. Idempotent."""
        if self._file >= 0:
            os.unlink(self._path)
            self._let_go()

    def __del__(self) -> None:
        if self._file >= 0:  # given up without an end
            self._let_go()

    def _rest(self) -> None:
        """Wait for followers that are reading what says what is in the files."""
        begin = time.monotonic()
        with contextlib.suppress(OSError):  # no locks here
            while self._file >= 0 and _locked(self._file, _NO_REST):
                if self._rested_in_vain or time.monotonic() - begin > _REST_S:
                    self._rested_in_vain = True
                    return
                time.sleep(_NAP_S)
        self._rested_in_vain = False

    def _let_go(self) -> None:
        os.close(self._file)
        self._file = -1

    def _count(self) -> None:
        if self._file >= 0:
            os.pwrite(self._file, self._counts().encode(), 0)

    def _say(self, what: str) -> None:
        os.pwrite(self._file, f"{self._counts()}\n{what}\n".encode(), 0)
        os.ftruncate(self._file, len(self._counts()) + len(what.encode()) + 2)

    def _counts(self) -> str:
        return f"{self._changes:0{_DIGITS}d} {self._finished + 1:0{_DIGITS}d}"


def progress_of(name: str) -> Progress:
    """Return what the writer of these files has left beside them. Local."""
    try:
        file = os.open(path_of_mark(name), os.O_RDWR | os.O_CLOEXEC)
    except PermissionError:
        return Progress(Writer.WRITES, 0, -1, "another user's process")
    except OSError:
        return Progress(Writer.NONE, 0, -1, "")
    try:
        found = _read(file)
        if not found.said or _locked(file, _LOCK):
            return found  # without a word of its writer it is just being made, and not locked yet
    except OSError:
        return found._replace(writer=Writer.WRITES)  # no locks here: the time limit remains
    finally:
        os.close(file)
    # It may have closed the files since.
    still_there = os.path.exists(path_of_mark(name))
    return found._replace(writer=Writer.GONE if still_there else Writer.NONE)


@contextlib.contextmanager
def writer_rests(name: str) -> Iterator[None]:
    """Inside of it, a writer on this or another host begins no change for up to a second."""
    file = -1
    try:
        file = os.open(path_of_mark(name), os.O_RDWR | os.O_CLOEXEC)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _REST)
        end = time.monotonic() + _REST_S / 2
        while not _read(file).whole and time.monotonic() < end:
            time.sleep(_NAP_S)  # what it has begun
    except OSError:
        pass  # there is none, or there are no locks here: it goes on writing
    try:
        yield
    finally:
        if file >= 0:
            os.close(file)


def _locked(file: int, lock: bytes) -> bool:
    """Tell whether another has a lock in the way of this one; raise where there are none."""
    found = fcntl.fcntl(file, fcntl.F_OFD_GETLK, lock)
    return struct.unpack_from("h", found) != (fcntl.F_UNLCK,)


def _lock(file: int) -> bool:
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, _LOCK)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # no locks on this file system: two writers are then not noticed
    return True


def _read(file: int) -> Progress:
    counts, _, said = os.pread(file, 4096, 0).decode(errors="replace").partition("\n")
    changes, _, steps = counts.partition(" ")
    if not (changes.isdecimal() and steps.isdecimal()):
        return Progress(Writer.WRITES, 0, -1, said.strip())  # it is just being made
    return Progress(Writer.WRITES, int(changes), int(steps) - 1, said.strip())
