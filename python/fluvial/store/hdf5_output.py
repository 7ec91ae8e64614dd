# SPDX-License-Identifier: Apache-2.0
"""A file of HDF5 whose datasets are laid out before their elements are written.

One process makes groups, datasets and attributes, and says where the bytes of each dataset lie;
then any number of processes write them there, each its own. So parallel output needs no parallel
libhdf5.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.messages import shown_text
from .openpmd_layout import Extent, StepLayout

_WRITE_BYTES_MAX = 1 << 30  # of a call of pwrite
_OBJECT_BYTES_MAX = 4096  # of a group or dataset with its attributes, mostly much less


class Hdf5Output:
    """A new file; what is written is there once a step has been `finished`.

    Raises
    ------
    SystemError
        The file cannot be made.
    """

    def __init__(self, path: str, attrs: Mapping[str, Any]) -> None:
        import h5py

        self.path = path
        try:
            # What older programs read, and no cache of raw data, which others write.
            self._file = h5py.File(path, "w", libver=("earliest", "v110"))
        except OSError as error:
            raise _failed(path, error) from None
        _set_attributes(self._file, attrs)

    def lay_out(self, index: int, layout: StepLayout) -> dict[str, int]:
        """Make an iteration without its elements; return where those of each dataset begin.

        Raises
        ------
        SystemError
            There is no room on the disk.
        """
        try:
            self._take_room(layout)
            step = self._file.create_group(f"data/{index}")
            for path, attrs in layout.groups.items():
                _set_attributes(step.require_group(path) if path else step, attrs)
            for path, extent in layout.constants.items():
                _make_constant(step.create_group(path), extent)
            offsets = {path: _make(step, path, extent) for path, extent in layout.datasets.items()}
            self._file.flush()
        except (OSError, RuntimeError) as error:
            raise _failed(self.path, error) from None
        return {path: offset for path, offset in offsets.items() if offset is not None}

    def _take_room(self, layout: StepLayout) -> None:
        """Have the file system set blocks aside, so that no write finds the disk full.

        libhdf5 takes back at its next flush what is too much, and does not survive a full disk.
        """
        objects = len(layout.groups) + len(layout.constants) + len(layout.datasets) + 2
        size = sum(map(_bytes_of, layout.datasets.values())) + objects * _OBJECT_BYTES_MAX
        with open(self.path, "rb+") as file:
            try:
                os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, size)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                    raise

    def give_up(self, index: int) -> None:
        """Take a step out again that could not be written."""
        group = f"data/{index}"
        if group in self._file:
            del self._file[group]

    def finish(self) -> None:
        """Make the file one that can be read as it is."""
        try:
            self._file.flush()
        except (OSError, RuntimeError) as error:
            raise _failed(self.path, error) from None

    def close(self) -> None:
        """Close the file. Idempotent."""
        try:
            self._file.close()
        except (OSError, RuntimeError) as error:
            raise _failed(self.path, error) from None


def write_part(
    file: int,
    path: str,
    begin: int,
    shape: tuple[int, ...],
    offset: tuple[int, ...],
    part: np.ndarray,
) -> None:
    """Write a part of a dataset whose first element lies at the byte `begin`. Local.

    `part` is contiguous and in the dataset's dtype; `offset` is that of its first element.

    Raises
    ------
    SystemError
        It cannot be written: the disk is full, for example.
    """
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
    try:
        for number, at in enumerate(np.ndindex(outer)):
            where = first + sum(int(i) * int(s) for i, s in zip(at, strides[1:], strict=False))
            _write(file, data[number * run : (number + 1) * run], begin + where * part.itemsize)
    except OSError as error:
        raise _failed(path, error) from None


def _write(file: int, data: memoryview, at: int) -> None:
    while data:
        written = os.pwrite(file, data[:_WRITE_BYTES_MAX], at)
        data, at = data[written:], at + written


def _make(group: Any, path: str, extent: Extent) -> int | None:
    """Make a dataset with all its room, and nothing written into it; None: it has no elements."""
    from h5py import h5d, h5p, h5s, h5t

    folder, _, name = path.rpartition("/")
    parent = group.require_group(folder) if folder else group
    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_layout(h5d.CONTIGUOUS)
    properties.set_alloc_time(h5d.ALLOC_TIME_EARLY)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    space = h5s.create_simple(extent.shape) if extent.shape else h5s.create(h5s.SCALAR)
    kind = h5t.py_create(np.dtype(extent.dtype), logical=True)
    made = h5d.create(parent.id, name.encode(), kind, space, dcpl=properties)
    _set_attributes(parent[name], extent.attrs)
    return made.get_offset()


def _make_constant(group: Any, extent: Extent) -> None:
    group.attrs["value"] = np.array(extent.attrs.get("value", 0), extent.dtype)
    group.attrs["shape"] = np.array(extent.shape, np.uint64)
    own = {name: said for name, said in extent.attrs.items() if name not in ("value", "shape")}
    _set_attributes(group, own)


def _bytes_of(extent: Extent) -> int:
    return int(np.prod(extent.shape, dtype=np.int64)) * np.dtype(extent.dtype).itemsize


def _set_attributes(target: Any, attrs: Mapping[str, Any]) -> None:
    for name, value in attrs.items():
        target.attrs[name] = _stored(value)


def _stored(value: Any) -> Any:
    """Return a value in the form that openPMD's programs read: text of fixed length."""
    if isinstance(value, str):
        return np.bytes_(value.encode())
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return np.array([v.encode() for v in value], "S")
    return value


def _failed(path: str, error: OSError | RuntimeError) -> Exception:
    number = error.errno if isinstance(error, OSError) else None
    why = os.strerror(number) if number else " ".join(str(error).split())
    return _core.SystemError(
        f"'{shown_text(path)}' cannot be written: got {shown_text(why)}; allowed: a folder in "
        "which this user may write, on a disk with room"
    )


def remove(path: str) -> None:
    """Remove a file that is to be overwritten; SystemError where that cannot be."""
    try:
        os.unlink(path)
    except OSError as error:
        raise _failed(path, error) from None


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
