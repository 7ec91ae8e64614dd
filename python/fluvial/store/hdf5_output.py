# SPDX-License-Identifier: Apache-2.0
"""A file of HDF5 whose datasets are laid out before their elements are written.

One process makes groups, datasets and attributes, and says where the bytes of each dataset lie;
then any number of processes write them there, each its own. So parallel output needs no parallel
libhdf5.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .. import _core
from .attribute_texts import HDF5_ATTRIBUTE_BYTES_MAX, check_attributes
from .chunk_grid import fits
from .compression import Compression, PackedChunk
from .hdf5_host_file import JoinedRows, make_joined_dataset
from .hdf5_objects import (
    OBJECT_BYTES_MAX,
    close_file,
    make_dataset,
    new_file,
    packing_of,
    room_of,
    set_attributes,
    space_of,
)
from .openpmd_layout import StepLayout, series_attributes, step_layout
from .output_file import cannot_write, take_room
from .step_contents import Extent, Packing, Parts, Places, Region, StepContents

if TYPE_CHECKING:
    import h5py


HOST_BYTES_MIN = 4096
"""Of a dataset whose elements go to files of the hosts; smaller ones are not worth parts."""


class Hdf5Output:
    """A new file; what is written is there once a step has been finished."""

    def __init__(
        self, path: str, pattern: str | None, compression: Compression | None = None
    ) -> None:
        """Make the file with its first step; `pattern` is that of files of one iteration each."""
        self.path = path
        self._compression = compression
        self._packings: dict[str, Packing] = {}
        self._by_host: dict[str, list[Sequence[Region]]] = {}
        """Of datasets whose elements lie in files of the hosts: what each host has."""
        self._number = 0
        self._pattern = pattern
        self._file: h5py.File | None = None
        self._step: h5py.Group | None = None
        """The group of the step that was laid out last; it has a name once it is finished."""

    def lay_out(self, step: StepContents) -> Places:
        """Make an iteration without its elements; return where those of each dataset begin.

        Until it is finished nothing in the file leads to it: a killed writer leaves whole steps.

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
        check_attributes(of_series, "the series", HDF5_ATTRIBUTE_BYTES_MAX)
        layout.check_attributes(HDF5_ATTRIBUTE_BYTES_MAX)
        file = self._make_file(of_series) if self._file is None else self._file
        self._number = step.number
        self._packings = self._packings_of(layout, step.regions)
        self._by_host = _by_host(layout, step)
        begins = self._make_objects(file, layout)
        cut = {
            name: packing.chunk
            for name, packing in self._packings.items()
            if not fits(step.regions[name], layout.datasets[name].shape, packing.chunk)
        }
        return Places(
            self.path,
            {n: begin for n, begin in begins.items() if begin is not None},
            packed=self._packings,
            cut=cut,
            by_host=frozenset(self._by_host),
        )

    def _make_file(self, of_series: Mapping[str, object]) -> h5py.File:
        file = new_file(self.path)
        try:
            set_attributes(file.id, of_series)
        except BaseException:
            file.close()
            raise
        self._file = file  # whole: where this raises the next step begins anew
        return file

    def _packings_of(
        self, layout: StepLayout, regions: Mapping[str, Sequence[Region]]
    ) -> dict[str, Packing]:
        """Return how datasets are compressed: those that are large enough."""
        found = {
            name: packing_of(self._compression, extent.shape, np.dtype(extent.dtype), regions[name])
            for name, extent in layout.datasets.items()
        }
        return {name: packing for name, packing in found.items() if packing is not None}

    def _make_objects(self, file: h5py.File, layout: StepLayout) -> dict[str, int | None]:
        self._take_room(layout)
        try:
            file.require_group("data")
            self._step = step = file.create_group(None)
            for path, attrs in layout.groups.items():
                set_attributes((step.require_group(path) if path else step).id, attrs)
            for path, extent in layout.constants.items():
                _make_constant(step.create_group(path), extent)
            begins = {
                path: self._make(step, path, extent) for path, extent in layout.datasets.items()
            }
            file.flush()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None
        return begins

    def _make(self, step: h5py.Group, path: str, extent: Extent) -> int | None:
        """Make a dataset; return where its elements begin if they lie here, in one piece."""
        kind, by_host = np.dtype(extent.dtype), self._by_host.get(path)
        if by_host is not None:
            row = f"data/{self._number}/{path}"
            made = make_joined_dataset(
                step.id, path, kind, extent.shape, JoinedRows(self.path, row, by_host)
            )
            set_attributes(made, extent.attrs)
            return None
        packing = self._packings.get(path)
        made = make_dataset(step.id, path, kind, space_of(extent.shape), packing)
        set_attributes(made, extent.attrs)
        return made.get_offset() if packing is None else None

    def _take_room(self, layout: StepLayout) -> None:
        """Have the file system set blocks aside, so that no write finds the disk full.

        libhdf5 takes back at its next flush what is too much, and does not survive a full disk.
        """
        objects = len(layout.groups) + len(layout.constants) + len(layout.datasets) + 2
        elsewhere = self._packings.keys() | self._by_host.keys()
        size = sum(_bytes_of(e) for n, e in layout.datasets.items() if n not in elsewhere)
        self._extend(size + objects * OBJECT_BYTES_MAX)

    def _extend(self, size: int) -> None:
        with open(self.path, "rb+") as file:
            take_room(file.fileno(), self.path, os.fstat(file.fileno()).st_size + size)

    def give_up(self, index: int) -> None:
        """Take a step out again that could not be written."""
        group = f"data/{index}"
        if self._file is not None and self._step is not None and group in self._file:
            del self._file[group]
        self._step = None

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Write what ranks cannot write by themselves: nothing."""

    def write_chunks(self, name: str, chunks: Iterable[PackedChunk]) -> None:
        """Write chunks of a dataset of the step that was laid out last.

        Raises
        ------
        SystemError
            There is no room on the disk.
        """
        dataset = self._dataset(name).id
        found = list(chunks)
        self._extend(room_of(found))
        try:
            for offset, data, filters_left_out in found:
                dataset.write_direct_chunk(offset, data, filters_left_out)
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None

    def _dataset(self, name: str) -> h5py.Dataset:
        assert self._step is not None
        return self._step[name]

    def finish(self) -> None:
        """Make the file one that can be read as it is.

        Raises
        ------
        SystemError
            There is no room on the disk.
        """
        assert self._file is not None
        self._extend(2 * OBJECT_BYTES_MAX)
        try:
            self._file[f"data/{self._number}"] = self._step
            self._file.flush()
            self._step = None
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None

    def discard(self) -> None:
        """Close and remove the file."""
        self.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def make_without_steps(self, of_series: Mapping[str, object]) -> None:
        """Make the file with the attributes of the series alone.

        Raises
        ------
        InvalidArgument
            HDF5 has no place for one of them.
        SystemError
            It cannot be written.
        """
        attrs = series_attributes(of_series, self._pattern, _core.__version__)
        check_attributes(attrs, "the series", HDF5_ATTRIBUTE_BYTES_MAX)
        try:
            file = self._make_file(attrs)
            self._extend(2 * OBJECT_BYTES_MAX)
            file.create_group("data")
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None

    def close(self) -> None:
        """Close the file. Idempotent."""
        close_file(self._file, self.path)


def _by_host(layout: StepLayout, step: StepContents) -> dict[str, list[Sequence[Region]]]:
    """Return the datasets whose elements lie in files of the hosts, and what each host has."""
    if step.by_host is None:
        return {}
    return {
        name: [of_host.get(name, ()) for of_host in step.by_host]
        for name, extent in layout.datasets.items()
        if extent.shape and _bytes_of(extent) >= HOST_BYTES_MIN
    }


def _make_constant(group: h5py.Group, extent: Extent) -> None:
    group.attrs["value"] = np.array(extent.attrs.get("value", 0), extent.dtype)
    group.attrs["shape"] = np.array(extent.shape, np.uint64)
    own = {name: said for name, said in extent.attrs.items() if name not in ("value", "shape")}
    set_attributes(group.id, own)


def _bytes_of(extent: Extent) -> int:
    return int(np.prod(extent.shape, dtype=np.int64)) * np.dtype(extent.dtype).itemsize
