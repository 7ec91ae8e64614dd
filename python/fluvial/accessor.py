# SPDX-License-Identifier: Apache-2.0
"""`ds.fluvial` and `da.fluvial`: reductions of what xarray opened from files, while reading.

>>> ds = xr.open_dataset("t.nc")                                          # doctest: +SKIP
>>> ds.fluvial.mean("time")                                               # doctest: +SKIP
>>> ds["temperature"].sel(lat=slice(-30, 30)).fluvial.reduce(["min", "max"])
... # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import xarray as xr

from . import _core
from ._core import InvalidArgument, Reduction, dtype_name
from .arguments import check_options, unknown_name

# What computes comes when it is called: it imports xarray, whose import brings this module.
if TYPE_CHECKING:
    from .file_dataset import FileDataset
    from .files import File
    from .scanning import ScanOptions

_REMEDY = (
    "Open the file with fl.open and select there, or use xarray's own reduction on this object"
)
_DECODED_BY_XARRAY = ("_FillValue", "missing_value", "scale_factor", "add_offset")


@xr.register_dataarray_accessor("fluvial")
class DataArrayAccessor:
    """Reductions of one array that xarray has opened from a file and selected from."""

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def dataset(self) -> FileDataset:
        """Return the same selection of the file's dataset.

        Raises
        ------
        InvalidArgument
            The array does not come from a file, was computed with, or cannot be found in the file
            by its coordinates.
        """
        from .files import open_files

        array = self._array
        source = array.encoding.get("source")
        if source is None or array.name is None:
            raise _not_of_file(array, "no file that it comes from")
        if array.variable._in_memory and array.size:
            raise _not_of_file(array, "values in memory, which may differ from the file's")
        stored = any(name in array.attrs for name in _DECODED_BY_XARRAY)
        file = open_files(source, decode=False if stored else "xarray")
        return _find(array, file)

    def reduce(
        self,
        op: Any,
        dim: Any = None,
        *,
        skipna: bool | None = None,
        **options: Unpack[ScanOptions],
    ) -> Any:
        """Reduce over `dim` (None: all dimensions); everything else as `FileDataset.reduce`.

        Values that are in memory already are reduced there. Collective as `FileDataset.reduce`.
        """
        array = self._array
        names = [str(d) for d in array.dims]
        dims = names if dim is None or dim is ... else _dims(dim, names)
        if array.variable._in_memory:
            return _in_memory(array, op, dims, skipna, options)
        return self.dataset().reduce(op, over=dims or None, skipna=skipna, **options)

    def mean(self, dim: Any = None, **options: Any) -> Any:
        """Return the arithmetic mean over `dim`."""
        return self.reduce("mean", dim, **options)

    def sum(self, dim: Any = None, **options: Any) -> Any:
        """Return the sum over `dim`."""
        return self.reduce("sum", dim, **options)

    def min(self, dim: Any = None, **options: Any) -> Any:
        """Return the smallest element over `dim`."""
        return self.reduce("min", dim, **options)

    def max(self, dim: Any = None, **options: Any) -> Any:
        """Return the largest element over `dim`."""
        return self.reduce("max", dim, **options)

    def std(self, dim: Any = None, **options: Any) -> Any:
        """Return the population standard deviation over `dim`."""
        return self.reduce("std", dim, **options)

    def var(self, dim: Any = None, **options: Any) -> Any:
        """Return the population variance over `dim`."""
        return self.reduce("variance", dim, **options)

    def count(self, dim: Any = None, **options: Any) -> Any:
        """Return the number of elements that are not missing, over `dim`."""
        return self.reduce("count", dim, **options)


@xr.register_dataset_accessor("fluvial")
class DatasetAccessor:
    """The same for each variable that has one of the dimensions; others stay as they are."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def reduce(self, op: Any, dim: Any = None, **options: Any) -> xr.Dataset:
        """Reduce every numeric variable over `dim` (None: all). Collective, a scan a variable."""
        names = [str(d) for d in self._dataset.dims]
        dims = names if dim is None or dim is ... else _dims(dim, names)
        found = {}
        for name, array in self._dataset.data_vars.items():
            mine = [d for d in dims if d in array.dims]
            if mine and array.dtype.kind in "iufc":
                found[name] = array.fluvial.reduce(op, mine, **options)
            elif not mine:
                found[name] = _over_nothing(array, op, options)
        return xr.Dataset(found, attrs=self._dataset.attrs)

    def mean(self, dim: Any = None, **options: Any) -> xr.Dataset:
        """Return the arithmetic mean over `dim`."""
        return self.reduce("mean", dim, **options)

    def sum(self, dim: Any = None, **options: Any) -> xr.Dataset:
        """Return the sum over `dim`."""
        return self.reduce("sum", dim, **options)

    def min(self, dim: Any = None, **options: Any) -> xr.Dataset:
        """Return the smallest element over `dim`."""
        return self.reduce("min", dim, **options)

    def max(self, dim: Any = None, **options: Any) -> xr.Dataset:
        """Return the largest element over `dim`."""
        return self.reduce("max", dim, **options)

    def std(self, dim: Any = None, **options: Any) -> xr.Dataset:
        """Return the population standard deviation over `dim`."""
        return self.reduce("std", dim, **options)

    def var(self, dim: Any = None, **options: Any) -> xr.Dataset:
        """Return the population variance over `dim`."""
        return self.reduce("variance", dim, **options)

    def count(self, dim: Any = None, **options: Any) -> xr.Dataset:
        """Return the number of elements that are not missing, over `dim`."""
        return self.reduce("count", dim, **options)


def _dims(dim: Any, names: list[str]) -> list[str]:
    """Return the dimensions that are named; none is allowed."""
    wanted = [dim] if isinstance(dim, str) or not isinstance(dim, Iterable) else list(dim)
    for one in wanted:
        if not isinstance(one, str) or one not in names:
            raise unknown_name("no such dimension", one, names)
    return wanted


def _over_nothing(array: xr.DataArray, op: Any, options: Any) -> Any:
    """Reduce each element by itself, as xarray does for variables without the dimension."""
    if op in ("mean", "sum", "min", "max") or array.dtype.kind not in "iufc":
        return array
    one = array.expand_dims("of one element").load()
    found = one.fluvial.reduce(op, "of one element", **options)
    return found.assign_attrs(array.attrs) if isinstance(found, xr.DataArray) else found


def _find(array: xr.DataArray, file: File) -> FileDataset:
    """Find the selection from the coordinates: every axis is whole, or its labels say where."""
    from .files import File

    name = str(array.name)
    if name not in file:
        raise _not_of_file(array, f"a name that {file.path!r} does not have")
    whole = file[name]
    if array.encoding.get("original_shape", whole.shape) != whole.shape:
        raise _not_of_file(array, "another variable or group of the file")
    if not set(map(str, array.dims)) <= set(whole.dims):
        raise _not_of_file(array, f"dimensions {array.dims}, in the file {whole.dims}")
    chosen = whole
    plain = File([_core.open_file(file.path)], decode=False)[name].coords  # with decode_times=False
    for dim, length in zip(whole.dims, whole.shape, strict=True):
        index = _index(array, dim, whole.coords, plain)
        if dim in array.coords and index is not None and index.is_unique:
            at = index.get_indexer(np.atleast_1d(array.coords[dim].values))
            if (at < 0).any():
                raise _not_of_file(array, f"labels along '{dim}' that the file does not have")
            chosen = chosen.isel({dim: at if dim in array.dims else int(at[0])})
        elif array.sizes.get(dim) != length:
            raise _not_of_file(
                array, f"a part of '{dim}', which has no distinct labels that tell where it is"
            )
    return chosen


def _index(array: xr.DataArray, dim: str, *candidates: dict[str, xr.DataArray]) -> Any:
    """Return the file's labels along a dimension, as dates or as numbers: whichever xarray has."""
    for coords in candidates:
        mine = array.coords.get(dim)
        if mine is not None and dim in coords and mine.dtype.kind == coords[dim].dtype.kind:
            return coords[dim].to_index()
    return None


def _in_memory(
    array: xr.DataArray, op: Any, dims: list[str], skipna: bool | None, options: Any
) -> Any:
    """Reduce values in memory by the same operators. Local: every rank has the same values."""
    from . import labelled, scan_work, scanning

    check_options(options, scanning.ScanOptions.__annotations__, "of a reduction")
    operators = scan_work.operators_of(op, skipna)
    values = np.asarray(array.values, dtype=array.dtype.newbyteorder("="))
    entries = [(name, operator, [0]) for name, operator in operators.items()]
    axes = [array.get_axis_num(dim) for dim in dims]
    reduction = Reduction(entries, values.shape, [dtype_name(values)], axes)
    reduction.absorb([values])
    return labelled.to_user(op, operators, reduction.finish(), labelled.frame_of(array, dims))


def _not_of_file(array: xr.DataArray, seen: str) -> InvalidArgument:
    return InvalidArgument(
        f"the array {array.name!r} is no unmodified selection of a file: got {seen}; allowed: what "
        f"xarray opened and isel, sel or transpose selected. {_REMEDY}."
    )
