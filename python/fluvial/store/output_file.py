# SPDX-License-Identifier: Apache-2.0
"""Files that are written at the places where their elements belong, by any number of processes."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.messages import shown, shown_path, shown_text
from ..describe.engines import kind_of_folder

_WRITE_BYTES_MAX = 1 << 30  # of a call of pwrite
_KINDS: dict[int | None, type[_core.SystemError]] = {
    errno.ENOENT: _core.NoSuchFile,
    errno.EACCES: _core.NotPermitted,
    errno.EPERM: _core.NotPermitted,
}
"""The errors that Python has a class for, too."""
_NO_FILES = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def as_stored(array: np.ndarray, big_endian: bool) -> np.ndarray:
    """Return elements in one piece and in the byte order of the file."""
    return array.astype(array.dtype.newbyteorder(">" if big_endian else "="), "C", copy=False)


def write_part(
    file: int,
    path: str,
    begin: int,
    shape: tuple[int, ...],
    offset: tuple[int, ...],
    part: np.ndarray,
) -> None:
    """Write a part of a dataset whose first element lies at the byte `begin`. Local.

    `part` is contiguous and as it is to be stored; `offset` is that of its first element.

    Raises
    ------
    SystemError
        It cannot be written: the disk is full, for example.
    """
    try:
        for data, at in _runs(begin, shape, offset, part):
            write_at(file, data, at)
    except OSError as error:
        raise cannot_write(path, error) from None


def check_part(
    file: int,
    name: str,
    begin: int,
    shape: tuple[int, ...],
    offset: tuple[int, ...],
    part: np.ndarray,
) -> None:
    """Raise unless a part of a dataset is stored already, just as it is. Local.

    Raises
    ------
    InvalidArgument
        It is another one.
    """
    for data, at in _runs(begin, shape, offset, part):
        if os.pread(file, len(data), at) != data:
            raise InvalidArgument(
                f"the coordinate '{name}' changes: got {shown(part)}; allowed: what it was in the "
                "first step: a file has coordinates once"
            )


def write_at(file: int, data: memoryview, at: int) -> None:
    """Write bytes at a place of a file. Local; OSError."""
    while data:
        written = os.pwrite(file, data[:_WRITE_BYTES_MAX], at)
        data, at = data[written:], at + written


def take_room(file: int, path: str, end: int) -> None:
    """Have the file system set blocks aside up to `end`, so that no write finds the disk full.

    Raises
    ------
    SystemError
        There is no room.
    """
    try:
        size = os.fstat(file).st_size
        if end > size:
            os.posix_fallocate(file, size, end - size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise cannot_write(path, error) from None


def remove(path: str) -> None:
    """Remove a file that is to be overwritten, or a folder of Zarr or BP.

    Raises
    ------
    SystemError
        It cannot be removed.
    InvalidArgument
        It is any other folder.
    """
    try:
        if not os.path.isdir(path):
            os.unlink(path)
        elif kind_of_folder(path) is not None:
            shutil.rmtree(path)
        else:
            raise InvalidArgument(
                f"a folder is in the way: got '{shown_text(path)}'; allowed: a name that is free, "
                "or what a series has written before. Remove it, or write elsewhere"
            )
    except OSError as error:
        raise cannot_write(path, error) from None


def check_kind(path: str) -> None:
    """Refuse what is no file: a FIFO, a socket or a device is not to be replaced by one.

    Raises
    ------
    InvalidArgument
        With what it is.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return
    what = _NO_FILES.get(stat.S_IFMT(mode))
    if what is not None:
        raise InvalidArgument(
            f"files are not written into what is no file: got '{shown_text(path)}', which is "
            f"{what}; allowed: a name that is free, or a file's. Remove it, or write elsewhere"
        )


def check_folder(path: str) -> None:
    """Refuse a file in a folder that is not there.

    Raises
    ------
    NoSuchFile
        There is none.
    """
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise cannot_write(path, FileNotFoundError(errno.ENOENT, "no such folder"))


def check_free(paths: list[str], pattern: str) -> None:
    """Refuse a pattern of which files are there already: they would be among those of the series.

    Raises
    ------
    InvalidArgument
        There are some.
    """
    if paths:
        raise InvalidArgument(
            f"files of the series are there already: got '{shown_text(paths[0])}' for "
            f"'{shown_text(pattern)}'; allowed: none. Remove them, or write elsewhere"
        )


def cannot_write(path: str, error: OSError | RuntimeError) -> Exception:
    """Return the error for a file that cannot be written."""
    number = error.errno if isinstance(error, OSError) else None
    why = os.strerror(number) if number else " ".join(str(error).split())
    kind = _KINDS.get(number, _core.SystemError)
    return kind(
        f"'{shown_path(path)}' cannot be written: got {shown_text(why)}; allowed: a folder in "
        "which this user may write, on a disk with room"
    )


def _runs(
    begin: int, shape: tuple[int, ...], offset: tuple[int, ...], part: np.ndarray
) -> Iterator[tuple[memoryview, int]]:
    """Give what of a part lies in one piece, each with its place."""
    if part.size == 0:
        return
    # Axes that are whole, and the one before them, lie in one piece.
    axis = len(shape)
    while axis > 0 and part.shape[axis - 1] == shape[axis - 1]:
        axis -= 1
    strides = np.ones(len(shape) + 1, np.int64)
    strides[:-1] = np.cumprod(np.array(shape[::-1], np.int64))[::-1] if shape else []
    outer = part.shape[: max(axis - 1, 0)]
    run = part.size // max(int(np.prod(outer, dtype=np.int64)), 1) * part.itemsize
    data = part.reshape(-1).view(np.uint8).data
    first = sum(int(o) * int(s) for o, s in zip(offset, strides[1:], strict=True))
    for number, at in enumerate(np.ndindex(outer)):
        where = first + sum(int(i) * int(s) for i, s in zip(at, strides[1:], strict=False))
        yield data[number * run : (number + 1) * run], begin + where * part.itemsize
