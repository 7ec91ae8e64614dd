# SPDX-License-Identifier: Apache-2.0
"""A file of netCDF-4 with a record for each step, whose elements any process can write.

netCDF-4 is HDF5 in which dimensions are dimension scales. One process makes the variables, makes
room for a record, and says where it lies; then each rank writes its parts there. So netCDF-4 is
written in parallel without a parallel library, and compressed by all ranks at once.

Source: netCDF user's guide, "File format specifications", section "The netCDF-4 format".
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.messages import listed
from ..describe.dates import TIME
from ..describe.storage_attributes import OF_DIMENSIONS
from .attribute_texts import HDF5_ATTRIBUTE_BYTES_MAX, check_attributes
from .chunk_grid import fits
from .compression import Compression, PackedChunk
from .hdf5_objects import (
    OBJECT_BYTES_MAX,
    make_dataset,
    packing_of,
    room_of,
    set_attributes,
    space_of,
    type_of,
)
from .netcdf_variables import (
    attribute_numbers,
    check_name,
    check_varies,
    once_and_records,
    single_text,
)
from .output_file import cannot_write, take_room, write_at
from .record_layout import (
    RecordLayout,
    RecordVariable,
    check_same,
    record_layout,
    series_attributes,
)
from .step_contents import Packing, Parts, Places, Region, StepContents, StepSaid

if TYPE_CHECKING:
    import h5py
    from h5py import h5d, h5s

_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
_NO_COORDINATE = "_nc4_non_coord_"
"""Before the name of what is called like an axis and is not its coordinate; readers take it off."""
_CHUNK_BYTES = 4096  # of small records, many of which share a chunk
_RECORD_BYTES_MAX = (1 << 32) - 1  # of a chunk of HDF5
_CHARS_MAX = 10  # of the length of a dimension in the name of its scale


class _Stored(NamedTuple):
    """A variable of the file."""

    dataset: h5d.DatasetID
    records_per_chunk: int
    """0: it is there once, or compressed."""
    packing: Packing | None


class Netcdf4Output:
    """A new file; made when its first step is laid out, which says what is in each of them."""

    def __init__(self, path: str, compression: Compression | None = None) -> None:
        self.path = path
        self._compression = compression
        self._layout: RecordLayout | None = None
        self._file: h5py.File | None = None
        self._stored: dict[str, _Stored] = {}
        self._scale_of_time: h5d.DatasetID | None = None
        """Where the steps have no time: then that axis has no variable."""
        self._records = 0
        self._without_steps = False

    def lay_out(self, step: StepContents) -> Places:
        """Make room for a record; return where its datasets begin.

        Raises
        ------
        InvalidArgument
            The step has not what the first one had, or what the format does not have.
        SystemError
            The file cannot be made, or there is no room on the disk.
        """
        layout = record_layout(step)
        first = self._layout is None
        if self._layout is None:
            check_varies(layout)
            self._make_file(layout, step)
        else:
            check_same(self._layout, layout, step.number)
        begins = self._make_room(layout)
        for name, variable in layout.variables.items():
            if variable.values is not None and (first or self._is_record(name)):
                raw = np.ascontiguousarray(variable.values).reshape(-1).view(np.uint8)
                self._write_at(raw.data, begins[name])
        packings = {n: s.packing for n, s in self._stored.items() if s.packing is not None}
        cut = {
            name: packing.chunk
            for name, packing in packings.items()
            if not fits(step.regions[name], step.extents[name].shape, packing.chunk)
        }
        kept = () if first else (name for name in step.extents if not self._is_record(name))
        return Places(
            self.path,
            {name: begins[name] for name in step.extents if name in begins},
            kept=frozenset(kept),
            packed=packings,
            cut=cut,
        )

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Write what ranks cannot write by themselves: nothing."""

    def write_chunks(self, name: str, chunks: Iterable[PackedChunk]) -> None:
        """Write chunks of a dataset of the record that was laid out last.

        Raises
        ------
        SystemError
            There is no room on the disk.
        """
        found = list(chunks)
        self._take_room(room_of(found))
        try:
            for offset, data, filters_left_out in found:
                where = (self._records, *offset)
                self._stored[name].dataset.write_direct_chunk(where, data, filters_left_out)
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None

    def finish(self) -> None:
        """Make the record that was laid out last one of the file.

        Until then nothing in the file says that it is there.
        """
        self._flush()
        self._records += 1

    def give_up(self, index: int) -> None:
        """Leave the record out: the next one takes its place; the first may be another one."""
        if self._records == 0:
            self.discard()
            return
        self._flush()  # libhdf5 learns how long the file is, before it clears the rest of chunks
        self._extend(self._records)
        self._flush()

    def discard(self) -> None:
        """Close and remove the file."""
        self.close()
        if os.path.exists(self.path):
            os.unlink(self.path)

    def make_without_steps(self, of_series: Mapping[str, object]) -> None:
        """Make the file with the attributes of the series and an axis of time alone.

        Raises
        ------
        InvalidArgument
            netCDF has no place for one of them.
        SystemError
            It cannot be written.
        """
        said = StepSaid({}, of_series, {}, set())
        self._make_file(RecordLayout({}, {}), StepContents(0, said, {}, {}, {}))
        self._without_steps = True

    def close(self) -> None:
        """Close the file; where each step has failed it is removed. Idempotent."""
        file, self._file = self._file, None
        self._stored, self._layout, self._scale_of_time = {}, None, None
        if file is None:
            return
        try:
            file.flush()
            size = file.id.get_filesize()
            file.close()
            os.truncate(self.path, size)  # what was set aside and not needed
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None
        if self._records == 0 and not self._without_steps:
            os.unlink(self.path)

    @property
    def _known(self) -> RecordLayout:
        assert self._layout is not None
        return self._layout

    @property
    def _opened(self) -> h5py.File:
        assert self._file is not None
        return self._file

    def _is_record(self, name: str) -> bool:
        return self._known.variables[name].by_record

    def _make_file(self, layout: RecordLayout, step: StepContents) -> None:
        import h5py

        once, records = once_and_records(layout)
        attrs = _attributes(series_attributes(step.said.of_series), "the series", None)
        said = {
            name: _attributes(v.attrs, f"'{name}'", v.dtype) for name, v in layout.variables.items()
        }
        for name in layout.variables:
            check_name(name, "a dataset")
        for name in layout.dims:
            check_name(name, "an axis")
        for name, variable in records.items():
            self._check_record(name, variable)
            if name == TIME and variable.dims:
                raise InvalidArgument(
                    f"'{name}' is the axis of the records and of nothing else: got a dataset along "
                    f"{listed(variable.dims)} that changes with time; allowed: one number a "
                    "record. Call it something else"
                )
        try:
            # No cache of raw data, which others write; links in the order of the variables.
            self._file = h5py.File(
                self.path, "w", libver=("earliest", "v110"), rdcc_nbytes=0, track_order=True
            )
        except OSError as error:
            raise cannot_write(self.path, error) from None
        self._take_room(sum(variable.bytes for variable in once.values()))
        try:
            made = f"version=2,fluvial={_core.__version__},hdf5={h5py.version.hdf5_version}"
            set_attributes(self._opened.id, {"_NCProperties": made, **attrs})
            for name, variable in layout.variables.items():
                link = name if _is_own(name, layout) else _NO_COORDINATE + name
                stored = self._make_variable(link, variable, step.regions.get(name, []))
                set_attributes(stored.dataset, said[name])
                self._stored[name] = stored
            self._make_dimensions(layout)
            self._layout = layout
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None

    def _check_record(self, name: str, variable: RecordVariable) -> None:
        if variable.bytes > _RECORD_BYTES_MAX and self._packing_of(variable, []) is None:
            raise InvalidArgument(
                f"'{name}' is too large for a record of netCDF-4: got {variable.bytes} bytes; "
                f"allowed: at most {_RECORD_BYTES_MAX}, the largest chunk of HDF5. Write CDF-5 "
                "(.nc), or give compression='gzip'"
            )

    def _packing_of(self, variable: RecordVariable, regions: Sequence[Region]) -> Packing | None:
        if not variable.by_record or variable.values is not None:
            return None
        return packing_of(self._compression, variable.shape, np.dtype(variable.dtype), regions)

    def _make_variable(
        self, name: str, variable: RecordVariable, regions: Sequence[Region]
    ) -> _Stored:
        root, dtype = self._opened.id, np.dtype(variable.dtype)
        if not variable.by_record:
            return _Stored(make_dataset(root, name, dtype, space_of(variable.shape)), 0, None)
        space = _growing(variable.shape)
        packing = self._packing_of(variable, regions)
        if packing is not None:
            of_records = Packing((1, *packing.chunk), packing.level)
            return _Stored(make_dataset(root, name, dtype, space, of_records), 0, packing)
        count = max(_CHUNK_BYTES // variable.bytes, 1)
        made = make_dataset(root, name, dtype, space, chunk=(count, *variable.shape))
        return _Stored(made, count, None)

    def _make_dimensions(self, layout: RecordLayout) -> None:
        """Make each dimension a scale, and say which variable has which."""
        from h5py import h5ds

        scales: dict[str, h5d.DatasetID] = {}
        for number, (name, length) in enumerate({TIME: 0, **layout.dims}.items()):
            if name in self._stored and _is_own(name, layout):
                scales[name] = self._stored[name].dataset
                h5ds.set_scale(scales[name], name.encode())
            else:
                scales[name] = self._make_scale(name, length)
            set_attributes(scales[name], {"_Netcdf4Dimid": np.int32(number)})
        for name, variable in layout.variables.items():
            dims = ((TIME,) if variable.by_record else ()) + variable.dims
            for axis, dim in enumerate(dims):
                if dim != name or not _is_own(name, layout):
                    h5ds.attach_scale(self._stored[name].dataset, scales[dim], axis)

    def _make_scale(self, name: str, length: int) -> h5d.DatasetID:
        """Make a dimension that has no variable of its name: a dataset without elements."""
        from h5py import h5d, h5ds, h5p

        properties = h5p.create(h5p.DATASET_CREATE)
        if name == TIME:
            properties.set_chunk((_CHUNK_BYTES,))
        space = _growing(()) if name == TIME else space_of((length,))
        made = h5d.create(
            self._opened.id, name.encode(), type_of(np.dtype(">f4")), space, properties
        )
        h5ds.set_scale(made, f"{_NO_VARIABLE}{length:{_CHARS_MAX}d}".encode())
        if name == TIME:
            self._scale_of_time = made
        return made

    def _make_room(self, layout: RecordLayout) -> dict[str, int]:
        """Add a record; return where what is not compressed begins."""
        variables = {name: v for name, v in layout.variables.items() if v.by_record}
        room = sum(v.bytes for n, v in variables.items() if self._stored[n].packing is None)
        self._take_room(room + len(variables) * (_CHUNK_BYTES + OBJECT_BYTES_MAX))
        try:
            self._extend(self._records + 1)
            return dict(self._begins(layout))
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None

    def _begins(self, layout: RecordLayout) -> Iterator[tuple[str, int]]:
        for name in layout.variables:
            dataset, count, packing = self._stored[name]
            if packing is not None:
                continue
            if count == 0:
                yield name, dataset.get_offset()
                continue
            variable = self._known.variables[name]
            behind = self._records % count
            first = (self._records - behind, *(0 for _ in variable.shape))
            chunk = dataset.get_chunk_info_by_coord(first)
            yield name, chunk.byte_offset + behind * variable.bytes

    def _extend(self, records: int) -> None:
        """Say how many records there are."""
        for name, (dataset, *_) in self._stored.items():
            if self._is_record(name):
                dataset.set_extent((records, *self._known.variables[name].shape))
        if self._scale_of_time is not None:
            self._scale_of_time.set_extent((records,))

    def _take_room(self, size: int) -> None:
        """Have the file system set blocks aside: libhdf5 does not survive a full disk."""
        end = self._opened.id.get_filesize() + size + OBJECT_BYTES_MAX
        with open(self.path, "rb+") as file:
            take_room(file.fileno(), self.path, end + len(self._stored) * OBJECT_BYTES_MAX)

    def _write_at(self, data: memoryview, at: int) -> None:
        try:
            with open(self.path, "rb+", buffering=0) as file:
                write_at(file.fileno(), data, at)
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def _flush(self) -> None:
        try:
            self._opened.flush()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from None


def _is_own(name: str, layout: RecordLayout) -> bool:
    """Tell whether a variable has its name alone, or with the axis whose coordinate it is."""
    return name not in layout.dims or not layout.variables[name].by_record


def _growing(shape: tuple[int, ...]) -> h5s.SpaceID:
    """Return the space of a variable without a record yet."""
    from h5py import h5s

    return h5s.create_simple((0, *shape), (h5s.UNLIMITED, *shape))


def _attributes(attrs: Mapping[str, object], what: str, dtype: str | None) -> dict[str, object]:
    """Return attributes as netCDF has them; of a variable where there is a dtype."""
    kept: dict[str, object] = {}
    for name, said in attrs.items():
        check_name(name, f"an attribute of {what}")
        value = single_text(said)
        if dtype is not None and name in OF_DIMENSIONS:
            # libhdf5 reads these as references when scales are attached, and does not survive texts
            raise InvalidArgument(
                f"an attribute of {what} has a name that netCDF-4 needs for dimensions: got "
                f"'{name}'; allowed: any but {listed(OF_DIMENSIONS)}. Call it something else"
            )
        if isinstance(value, str):
            kept[name] = value
            continue
        kept[name] = attribute_numbers(name, value, what)
    check_attributes(kept, what, HDF5_ATTRIBUTE_BYTES_MAX)
    return kept
