# SPDX-License-Identifier: Apache-2.0
"""By what a journal belongs to one pool, beside SQLite's own locks.

Those are POSIX locks, of the process: they end as soon as it closes any descriptor of the file,
also one that it has opened only to copy it. This lock is one of an open file description, and lies
on a byte that SQLite never locks.
"""

from __future__ import annotations

import errno
import fcntl
import os
import struct

from ..launch.parent_only import give_up_in_children

_BYTE = (1 << 30) - 1  # SQLite's begin behind it
_FLOCK = "hhqqi"  # struct flock: type, whence, start, length, process


class JournalInUseError(OSError):
    """Another pool has it."""


class JournalLock:
    """Held until it is closed, which has to come after the database: SQLite's locks end with it.

    Raises
    ------
    JournalInUseError
        When another one holds it, also in this process.
    OSError
        When the file cannot be opened, or its file system has no locks.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, _BYTE, 1, 0)
        try:
            fcntl.fcntl(self._descriptor, fcntl.F_OFD_SETLK, wanted)
        except OSError as error:
            self.close()
            if error.errno in (errno.EAGAIN, errno.EACCES):
                raise JournalInUseError(*error.args) from None
            raise
        give_up_in_children(self)

    def is_at(self, path: str | os.PathLike[str]) -> bool:
        """Tell whether the file that is locked is the one of this name."""
        assert self._descriptor is not None
        try:
            return os.path.samestat(os.stat(path), os.fstat(self._descriptor))
        except FileNotFoundError:
            return False

    def close(self) -> None:
        """Let another have it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def give_up(self) -> None:
        """Close the descriptor in a child by fork(), which would go on holding the lock."""
        self.close()
