# SPDX-License-Identifier: Apache-2.0
"""A folder of Zarr whose arrays grow along a leading axis of time, by its own library.

Ranks write chunks of their own where the borders of what they put are borders of chunks; what is
cut otherwise is written by the first rank. Readers see a step once the metadata are consolidated,
which is the last that happens to it.
"""

from __future__ import annotations

import base64
import shutil
import struct
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from .._core import InvalidArgument
from ..base.messages import shown
from ..describe.dates import TIME
from .chunk_grid import chunk_of, fits
from .compression import Compression
from .output_file import cannot_write
from .record_layout import (
    RecordLayout,
    RecordVariable,
    check_same,
    record_layout,
    series_attributes,
)
from .step_contents import Parts, Places, Region, StepContents, StepSaid

if TYPE_CHECKING:
    import zarr
    from zarr.core.array import CompressorsLike
    from zarr.core.common import JSON

_OF_ZARR = {"zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata"}
_TIMES_TOGETHER = 1024  # records of one number in a chunk


class ZarrOutput:
    """A new folder; made when its first step is laid out, which says what is in each of them."""

    def __init__(
        self, path: str, version: Literal[2, 3], compression: Compression | None = None
    ) -> None:
        self.path = path
        self._compression = compression
        self._version = version
        self._group: zarr.Group | None = None
        self._layout: RecordLayout | None = None
        self._records = 0
        self._without_steps = False

    def lay_out(self, step: StepContents) -> Places:
        """Make the arrays one record longer; return which rank writes what.

        Raises
        ------
        InvalidArgument
            The step has not what the first one had.
        SystemError
            It cannot be written.
        """
        layout = record_layout(step)
        if self._layout is None:
            _check_names(layout.variables)
        else:
            check_same(self._layout, layout, step.number)
        try:
            if self._layout is None:
                self._make(layout, step)
            assert self._layout is not None
            for name, variable in self._layout.variables.items():
                if variable.by_record:
                    self._resize(name, self._records + 1)
            for name, variable in layout.variables.items():
                if variable.values is not None and self._layout.variables[name].by_record:
                    self._array(name)[self._records] = variable.values
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from error
        own = frozenset(name for name in step.extents if layout.variables[name].by_record)
        chunks = {name: self._chunk_of(name) for name in own}
        cut = {
            name: chunk
            for name, chunk in chunks.items()
            if not fits(step.regions[name], layout.variables[name].shape, chunk)
        }
        merged = frozenset(step.extents) - own
        return Places(self.path, {}, record=self._records, own=own, merged=merged, cut=cut)

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Write what ranks cannot write by themselves.

        Raises
        ------
        InvalidArgument
            A coordinate is another one than in the first step.
        SystemError
            It cannot be written.
        """
        assert self._layout is not None
        try:
            for name, found in parts.items():
                for offset, array in found:
                    self._write_once(name, _box(offset, array), array)
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from error

    def finish(self) -> None:
        """Let readers see the record that was laid out last.

        Raises
        ------
        SystemError
            It cannot be written.
        """
        try:
            self._consolidate()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from error
        self._records += 1

    def give_up(self, number: int) -> None:
        """Leave the record out; the first may be another one."""
        if self._records == 0:
            self.discard()
            return
        assert self._layout is not None
        for name, variable in self._layout.variables.items():
            if variable.by_record:
                self._resize(name, self._records)

    def discard(self) -> None:
        """Remove the folder."""
        if self._group is not None:
            shutil.rmtree(self.path, ignore_errors=True)
        self._group = self._layout = None

    def make_without_steps(self, of_series: Mapping[str, object]) -> None:
        """Make the folder with the attributes of the series, and an axis of time without records.

        Raises
        ------
        SystemError
            It cannot be written.
        """
        time = RecordVariable("float64", (), (), {}, True, np.zeros(0))
        said = StepSaid({}, of_series, {}, set())
        try:
            self._make(RecordLayout({}, {TIME: time}), StepContents(0, said, {}, {}, {}))
            self._consolidate()
        except (OSError, RuntimeError) as error:
            raise cannot_write(self.path, error) from error
        self._without_steps = True

    def close(self) -> None:
        """Close the folder: only where each step has failed it is removed. Idempotent."""
        if self._records == 0 and not self._without_steps:
            self.discard()

    def _make(self, layout: RecordLayout, step: StepContents) -> None:
        import zarr

        self._group = group = zarr.create_group(
            self.path,
            zarr_format=self._version,
            attributes=series_attributes(step.said.of_series),
        )
        self._consolidate()  # readers see nothing yet
        for path, attrs in step.said.groups.items():
            if path not in layout.variables:
                group.require_group(path).update_attributes(dict(attrs))
        for name, variable in layout.variables.items():
            dims = ((TIME,) if variable.by_record else ()) + variable.dims
            version_2 = {"_ARRAY_DIMENSIONS": list(dims)} if self._version == 2 else {}
            attrs, missing = _plain(variable, self._version)
            array = group.create_array(
                name,
                shape=((0,) if variable.by_record else ()) + variable.shape,
                chunks=_chunks(variable, step.regions.get(name, ())),
                dtype=variable.dtype,
                # Of version 2, xarray takes it for missing.
                fill_value=missing if self._version == 2 else 0,
                dimension_names=None if self._version == 2 else dims,
                attributes={**attrs, **version_2},
                compressors=_compressors(self._compression, self._version),
            )
            if variable.values is not None and not variable.by_record:
                array[...] = variable.values
        self._layout = layout

    def _write_once(self, name: str, box: tuple[slice, ...], array: np.ndarray) -> None:
        """Write a part of a coordinate, which stays what the first step has said."""
        if self._records and not np.array_equal(self._array(name)[box], array):
            raise InvalidArgument(
                f"the coordinate '{name}' changes: got {shown(array)}; allowed: what it was in the "
                "first step: a file has coordinates once"
            )
        self._array(name)[box] = array

    def _resize(self, name: str, records: int) -> None:
        array = self._array(name)
        array.resize((records, *array.shape[1:]))

    def _chunk_of(self, name: str) -> tuple[int, ...]:
        return tuple(self._array(name).chunks[1:])

    def _array(self, name: str) -> zarr.Array:
        assert self._group is not None
        return cast("zarr.Array", self._group[name])

    def _consolidate(self) -> None:
        import zarr

        assert self._group is not None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # version 3 does not define them, and all read them
            zarr.consolidate_metadata(self._group.store)


def write_own(path: str, record: int, parts: Mapping[str, Parts]) -> None:
    """Write whole chunks of a record. Local; any number of ranks may, each its own chunks.

    Raises
    ------
    SystemError
        It cannot be written.
    """
    import zarr

    try:
        for name, found in parts.items():
            array = zarr.open_array(f"{path}/{name}", mode="r+")
            for offset, values in found:
                if values.size:
                    box: tuple[int | slice, ...] = (record, *_box(offset, values))
                    array[box] = values
    except (OSError, RuntimeError) as error:
        raise cannot_write(path, error) from error


def _chunks(variable: RecordVariable, regions: Sequence[Region]) -> tuple[int, ...]:
    if not variable.by_record:
        return tuple(max(extent, 1) for extent in variable.shape)
    if variable.shape == ():
        return (_TIMES_TOGETHER if variable.values is not None else 1,)
    itemsize = np.dtype(variable.dtype).itemsize
    return 1, *chunk_of(variable.shape, regions, itemsize)


def _compressors(compression: Compression | None, version: int) -> CompressorsLike:
    """Return what Zarr's library takes for a codec; "auto": its own choice."""
    if compression is None:
        return "auto"
    codec, level = compression
    if codec == "none":
        return None
    if version == 2:
        import numcodecs  # type: ignore[import-untyped]

        made = {"gzip": numcodecs.GZip, "zstd": numcodecs.Zstd}
        return made[codec](level) if codec in made else numcodecs.Blosc(clevel=level)
    from zarr.codecs import BloscCodec, GzipCodec, ZstdCodec

    if codec == "blosc":
        return BloscCodec(clevel=level)
    return (GzipCodec if codec == "gzip" else ZstdCodec)(level=level)


def _plain(variable: RecordVariable, version: int) -> tuple[dict[str, JSON], complex | None]:
    """Return attributes as JSON has them, and a fill value that is none of them.

    xarray wants that of floats in base64, each part of a complex one; in version 2 a complex one
    cannot be an attribute.
    """
    found = {
        k: v.tolist() if isinstance(v, np.ndarray | np.generic) else cast("JSON", v)
        for k, v in variable.attrs.items()
    }
    fill = found.get("_FillValue")
    if np.dtype(variable.dtype).kind == "c" and isinstance(fill, list) and len(fill) == 2:
        if version == 2:
            del found["_FillValue"]
            return found, complex(*fill)
        found["_FillValue"] = [_in_base64(part) for part in fill]
    elif version == 3 and isinstance(fill, float):
        found["_FillValue"] = _in_base64(fill)
    return found, None


def _in_base64(number: float) -> str:
    return base64.standard_b64encode(struct.pack("<d", number)).decode()


def _box(offset: tuple[int, ...], array: np.ndarray) -> tuple[slice, ...]:
    return tuple(slice(b, b + n) for b, n in zip(offset, array.shape, strict=True))


def _check_names(names: Iterable[str]) -> None:
    known = set(names)
    for name in known:
        parts = name.split("/")
        above = {"/".join(parts[:end]) for end in range(1, len(parts))}
        reserved = any(
            not part or set(part) == {"."} or part.startswith("__") or part in _OF_ZARR
            for part in parts
        )
        if reserved or above & known or "\\" in name or "\0" in name:
            raise InvalidArgument(
                f"a dataset of a Zarr folder cannot be called that: got {shown(name)}; allowed: "
                "words with single slashes between them, none of them that of another dataset, and "
                "no file of Zarr's own"
            )
        if (longest := max(len(part.encode(errors="surrogateescape")) for part in parts)) > 255:
            raise InvalidArgument(
                f"the name of a dataset is too long for a folder: got {shown(name)}, with a word "
                f"of {longest} bytes; allowed: 255 between two slashes. Shorten it, or give "
                "engine='hdf5'"
            )
