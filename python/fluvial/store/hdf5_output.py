# SPDX-License-Identifier: Apache-2.0
"""A file of HDF5 whose datasets are laid out before their elements are written.

One process makes groups, datasets and attributes, and says where the bytes of each dataset lie;
then any number of processes write them there, each its own. So parallel output needs no parallel
libhdf5.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import _core
from .openpmd_layout import StepLayout, series_attributes, step_layout
from .output_file import cannot_write, take_room
from .step_contents import Extent, Parts, Places, StepContents

_OBJECT_BYTES_MAX = 4096  # of a group or dataset with its attributes, mostly much less


class Hdf5Output:
    """A new file; what is written is there once a step has been finished."""

    def __init__(self, path: str, pattern: str | None) -> None:
        """Make the file with its first step; `pattern` is that of files of one iteration each."""
        self.path = path
        self._pattern = pattern
        self._file: Any = None

    def lay_out(self, step: StepContents) -> Places:
        """Make an iteration without its elements; return where those of each dataset begin.

        Raises
        ------
        InvalidArgument
            openPMD has no place for what was put.
        SystemError
            There is no room on the disk.
        """
        of_series = series_attributes(step.said.of_series, self._pattern, _core.__version__)
        layout = step_layout(
            step.said.attrs, step.extents, of_series, step.said.groups, step.said.varying
        )
        if self._file is None:
            self._file = self._new_file()
            _set_attributes(self._file, of_series)
        begins = self._make_objects(step.number, layout)
        return Places(self.path, {n: begin for n, begin in begins.items() if begin is not None})

    def _new_file(self) -> Any:
        import h5py

        try:
            # What older programs read, and no cache of raw data, which others write.
            return h5py.File(self.path, "w", libver=("earliest", "v110"))
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def _make_objects(self, index: int, layout: StepLayout) -> dict[str, int | None]:
        self._take_room(layout)
        try:
            step = self._file.create_group(f"data/{index}")
            for path, attrs in layout.groups.items():
                _set_attributes(step.require_group(path) if path else step, attrs)
            for path, extent in layout.constants.items():
                _make_constant(step.create_group(path), extent)
            begins = {path: _make(step, path, extent) for path, extent in layout.datasets.items()}
            self._file.flush()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None
        return begins

    def _take_room(self, layout: StepLayout) -> None:
        """Have the file system set blocks aside, so that no write finds the disk full.

        libhdf5 takes back at its next flush what is too much, and does not survive a full disk.
        """
        objects = len(layout.groups) + len(layout.constants) + len(layout.datasets) + 2
        size = sum(map(_bytes_of, layout.datasets.values())) + objects * _OBJECT_BYTES_MAX
        with open(self.path, "rb+") as file:
            take_room(file.fileno(), self.path, os.fstat(file.fileno()).st_size + size)

    def give_up(self, index: int) -> None:
        """Take a step out again that could not be written."""
        group = f"data/{index}"
        if self._file is not None and group in self._file:
            del self._file[group]

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Write what ranks cannot write by themselves: nothing."""

    def finish(self) -> None:
        """Make the file one that can be read as it is."""
        try:
            self._file.flush()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None

    def discard(self) -> None:
        """Close and remove the file."""
        self.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def close(self) -> None:
        """Close the file. Idempotent."""
        try:
            if self._file is not None:
                self._file.close()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None


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
