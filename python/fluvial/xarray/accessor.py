# SPDX-License-Identifier: Apache-2.0
"""`ds.fluvial` and `da.fluvial`: reductions of what xarray opened from files, while reading.

>>> ds = xr.open_dataset("t.nc")                                          # doctest: +SKIP
>>> ds.fluvial.mean("time")                                               # doctest: +SKIP
>>> ds["temperature"].sel(lat=slice(-30, 30)).fluvial.reduce(["min", "max"])
... # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Protocol, Unpack

import numpy as np
import pandas as pd
import xarray as xr

from .._core import InvalidArgument, Reduction, dtype_name
from ..base.arguments import check_options, to_text, unknown_name
from ..base.messages import shown
from ..compute.reductions import Reductions
from ..compute.registry import Reduced
from ..compute.specs import Specs
from ..describe.selection import Over, one_of, to_dims
from ..describe.storage_attributes import DECODED_BY_XARRAY
from ..scan.axis_weights import Weights
from ..scan.file import File, open_files
from ..scan.file_dataset import FileDataset
from ..scan.grouped_dataset import GroupedDataset
from ..scan.kept_attributes import with_attrs
from ..scan.labelled import frame_of
from ..scan.options import ScanOptions
from ..scan.predicates import Condition
from ..scan.request import operators_of
from .positions import positions_of
from .sources import names_in_files, sources_of

Dims = Over | Iterable[Hashable] | EllipsisType | None

_REMEDY = (
    "Open the file with fl.open and select there, or use xarray's own reduction on this object"
)


@xr.register_dataarray_accessor("fluvial")
class DataArrayAccessor(Reductions[xr.DataArray]):
    """Reductions of one array that xarray has opened from a file and selected from."""

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def dataset(self) -> FileDataset:
        """Return the same selection of the file's dataset.

        Raises
        ------
        InvalidArgument
            The array does not come from a file, was computed with, has other names or labels than
            there, or was indexed in a way that cannot be followed.
        """
        array = self._array
        sources = sources_of(array)
        if not sources or array.name is None:
            raise _not_of_file(array, "no file that it comes from")
        if array.variable._in_memory and array.size:
            raise _not_of_file(array, "values in memory, which may differ from the file's")
        if array.dtype.kind not in "iufcb":
            raise _not_of_file(array, f"{array.dtype}, which are no numbers")
        names = names_in_files(array) or {str(array.name)}
        name = min(names)
        if len(names) > 1 or name.rpartition("/")[2] != str(array.name):
            raise _not_of_file(array, f"a new name of what the file calls {name!r}")
        stored = any(name in array.attrs for name in DECODED_BY_XARRAY)
        paths = sources if len(sources) == 1 else _in_order(array, name, sources)
        file = open_files(paths, decode="xarray")
        found = _find(array, name, file)._decoded_as(False if stored else "xarray")
        if file.format.startswith("Zarr") and not stored:
            _check_fill_value(array, found)
        return found

    def reduce(
        self,
        op: Specs,
        over: Dims = None,
        *,
        skipna: bool | None = None,
        keep_attrs: bool | None = None,
        axis: Over | None = None,
        dim: Dims = None,
        **options: Unpack[ScanOptions],
    ) -> Reduced:
        """Reduce over dimensions (None: all); everything else as `FileDataset.reduce`.

        Values that are in memory already are reduced there. Collective as `FileDataset.reduce`.

        Parameters
        ----------
        over, axis, dim
            Dimensions by name or number, by one of these three.
        keep_attrs
            True: the result has the array's attributes, as in xarray; False: none. None: those that
            hold for the result, and how it was made (CF's cell_methods).
        """
        array = self._array
        names = [str(d) for d in array.dims]
        dims = _dims(_one_of(over, axis, dim), names)
        if array.variable._in_memory or not array.size:
            found = _in_memory(array, op, dims, skipna, options)
        else:
            found = self.dataset().reduce(op, over=dims or None, skipna=skipna, **options)
            found = _ordered_as(found, names)
        return with_attrs(found, array.attrs, keep_attrs)

    def groupby(self, key: str) -> GroupedDataset:
        """Group the file's dataset, as `FileDataset.groupby`: by "time.month", "lat" …."""
        return self.dataset().groupby(key)

    def resample(self, **period: str) -> GroupedDataset:
        """Group the file's dataset by periods, as `FileDataset.resample`: ``time="MS"``."""
        return self.dataset().resample(**period)

    def weighted(self, weights: Weights) -> FileDataset:
        """Give the elements of the file's dataset weights, as `FileDataset.weighted`."""
        return self.dataset().weighted(weights)

    def where(self, condition: Condition) -> FileDataset:
        """Let only some elements of the file's dataset count, as `FileDataset.where`."""
        return self.dataset().where(condition)


def _ordered_as(found: Reduced, names: Sequence[str]) -> Reduced:
    """Return the result of a scan with the dimensions that are left in the order of the array's.

    The file has its own, where the array was transposed.
    """
    if isinstance(found, xr.Dataset):
        return found.map(lambda variable: _ordered_as(variable, names), keep_attrs=True)
    if not isinstance(found, xr.DataArray):
        return found
    wanted = iter([name for name in names if name in found.dims])
    return found.transpose(*[next(wanted) if d in names else d for d in found.dims])


@xr.register_dataset_accessor("fluvial")
class DatasetAccessor(Reductions[xr.Dataset]):
    """The same for each variable that has one of the dimensions; others stay as they are."""

    def __init__(self, dataset: xr.Dataset) -> None:
        self._dataset = dataset

    def reduce(
        self,
        op: Specs,
        over: Dims = None,
        *,
        axis: Over | None = None,
        dim: Dims = None,
        **options: object,
    ) -> xr.Dataset:
        """Reduce every numeric variable over dimensions (None: all). Collective, a scan each."""
        names = [str(d) for d in self._dataset.dims]
        dims = _dims(_one_of(over, axis, dim), names)
        found = {}
        for name, array in self._dataset.data_vars.items():
            mine = [d for d in dims if d in array.dims]
            if mine and array.dtype.kind in "iufc":
                found[name] = array.fluvial.reduce(op, mine, **options)
            elif not mine:
                found[name] = _over_nothing(array, op, options)
        keep = options.get("keep_attrs") is not False
        return xr.Dataset(found, attrs=self._dataset.attrs if keep else None)

    def groupby(self, key: str) -> DatasetParts:
        """Group each numeric variable that has the dimension of the key, as `groupby` of one."""
        coord = to_text(key, "the key of groups").partition(".")[0]
        if coord not in self._dataset.coords:
            raise unknown_name("no such coordinate to group by", coord, self._dataset.coords)
        return self._each(self._dataset.coords[coord].dims, lambda array: array.groupby(key))

    def resample(self, **period: str) -> DatasetParts:
        """Group each numeric variable that has the dimension by periods: ``time="MS"``."""
        return self._each(tuple(period), lambda array: array.resample(**period))

    def weighted(self, weights: Weights) -> DatasetParts:
        """Give the elements of all numeric variables weights, as `FileDataset.weighted`."""
        return self._each((), lambda array: array.weighted(weights))

    def _each(
        self,
        dims: tuple[Hashable, ...],
        make: Callable[[DataArrayAccessor], Reductions[xr.DataArray]],
    ) -> DatasetParts:
        chosen = {
            str(name): make(array.fluvial)
            for name, array in self._dataset.data_vars.items()
            if array.ndim and array.dtype.kind in "iufc" and set(dims) <= set(array.dims)
        }
        return DatasetParts(chosen, self._dataset.attrs)


class DatasetParts(Reductions[xr.Dataset]):
    """Variables of a dataset, grouped or weighted; each is reduced by a scan of its own."""

    def __init__(
        self, parts: Mapping[str, Reductions[xr.DataArray]], attrs: Mapping[Hashable, object]
    ) -> None:
        self._parts = dict(parts)
        self._attrs = dict(attrs)

    def reduce(self, op: Specs, over: Over | None = None, **options: object) -> xr.Dataset:
        """Reduce every variable. Collective, a scan each."""
        found = {name: part.reduce(op, over, **options) for name, part in self._parts.items()}
        keep = options.get("keep_attrs") is not False
        return xr.Dataset(found, attrs=self._attrs if keep else None)

    def __repr__(self) -> str:
        return f"<fluvial.xarray.DatasetParts: {', '.join(self._parts)}>"


def _one_of(over: Dims, axis: Over | None, dim: Dims) -> Dims:
    """Return the dimensions, by whichever name they were given; None and ... are all."""
    given = (None if one is ... else one for one in (over, axis, dim))
    return one_of(*given)  # type: ignore[arg-type]


def _dims(dim: Dims, names: list[str]) -> list[str]:
    """Return the dimensions that are named or numbered; none is allowed, None is all."""
    if dim is None:
        return names
    wanted: list[str] = []
    for one in dim if isinstance(dim, Iterable) and not isinstance(dim, str) else [dim]:
        known = isinstance(one, str) and one in names
        wanted += [str(one)] if known else to_dims(one, names)  # type: ignore[arg-type]
    return wanted


def _over_nothing(array: xr.DataArray, op: Specs, options: Mapping[str, object]) -> Reduced:
    """Reduce each element by itself, as xarray does for variables without the dimension."""
    if op in ("mean", "sum", "min", "max", "product", "prod") or array.dtype.kind not in "iufc":
        return array
    one = array.expand_dims("of one element").load()
    found = one.fluvial.reduce(op, "of one element", **options)
    return found.assign_attrs(array.attrs) if isinstance(found, xr.DataArray) else found


class _Label(Protocol):
    """A coordinate: a number, a date, a text."""

    def __lt__(self, other: object, /) -> bool: ...


def _in_order(array: xr.DataArray, name: str, paths: Sequence[str]) -> list[str]:
    """Return the paths of joined files in the order of the labels along their first dimension."""
    first: dict[str, _Label] = {}
    for path in paths:
        file = open_files(path)
        if name not in file:
            raise _not_of_file(array, f"a name that {path!r} does not have")
        dataset = file[name]
        labels = dataset.coords.get(dataset.dims[0]) if dataset.dims else None
        if labels is None or not labels.size:
            raise _not_of_file(array, f"no labels that tell the order of files, in {path!r}")
        first[path] = labels.values[0]
    return sorted(paths, key=first.__getitem__)


def _find(array: xr.DataArray, name: str, file: File) -> FileDataset:
    """Find the selection: which positions along each axis xarray has chosen."""
    if name not in file:
        raise _not_of_file(array, f"a name that {file.path!r} does not have")
    whole = file[name]
    original = array.encoding.get("original_shape", whole.shape)  # of the first of several files
    if len(file.paths) == 1 and original != whole.shape:
        raise _not_of_file(array, "another variable or group of the file")
    if not set(map(str, array.dims)) <= set(whole.dims):
        raise _not_of_file(array, f"dimensions {array.dims}, in the file {whole.dims}")
    places = positions_of(array, whole.dims, file.paths)
    if places is None and not array.size:
        raise _not_of_file(array, "a selection without elements, whose place is not known")
    if places is None:
        raise _not_of_file(array, "axes that were renamed, or indexed in an unusual way")
    plain = open_files(file.paths, decode=False)[name]  # with decode_times=False
    if any(_index(array, dim, plain.coords) is not None for dim in _without_labels(array, whole)):
        whole = plain
    for dim, at in zip(whole.dims, places, strict=True):
        index = _index(array, dim, whole.coords)
        if index is not None and not _same(index[np.atleast_1d(at)], array.coords[dim]):
            raise _not_of_file(array, f"labels along '{dim}' that were assigned")
    return whole.isel(
        {dim: at if at.ndim else int(at) for dim, at in zip(whole.dims, places, strict=True)}
    )


def _check_fill_value(array: xr.DataArray, found: FileDataset) -> None:
    """Refuse an array whose missing values xarray was told to find in another way than it does."""
    mine, theirs = (attrs.get("_FillValue") for attrs in (found.attrs, array.encoding))
    if mine is theirs is None:
        return
    if mine is None or theirs is None or not np.array_equal(mine, theirs, equal_nan=True):
        raise _not_of_file(array, f"the fill value {shown(theirs)}, in the file {shown(mine)}")


def _same(labels: pd.Index, coordinate: xr.DataArray) -> bool:
    """Tell whether labels are equal; NaN is equal to NaN."""
    return labels.equals(pd.Index(np.atleast_1d(coordinate.values)))


def _without_labels(array: xr.DataArray, whole: FileDataset) -> list[str]:
    """Return the dimensions whose labels in the file are no such dates or numbers as xarray has."""
    return [dim for dim in whole.dims if _index(array, dim, whole.coords) is None]


def _index(array: xr.DataArray, dim: str, coords: xr.Coordinates) -> pd.Index | None:
    """Return the file's labels along a dimension, where they are dates or numbers as xarray's."""
    mine = array.coords.get(dim)
    if mine is not None and dim in coords and mine.dtype.kind == coords[dim].dtype.kind:
        return coords[dim].to_index()
    return None


def _in_memory(
    array: xr.DataArray, op: Specs, dims: list[str], skipna: bool | None, options: ScanOptions
) -> Reduced:
    """Reduce values in memory by the same operators. Local: every rank has the same values."""
    check_options(options, ScanOptions.__annotations__, "of a reduction")
    operators = operators_of(op, skipna)
    values = np.asarray(array.values, dtype=array.dtype.newbyteorder("="))
    entries = [(name, operator, [0]) for name, operator in operators.items()]
    axes = [array.get_axis_num(dim) for dim in dims]
    reduction = Reduction(entries, values.shape, [dtype_name(values)], axes)
    reduction.absorb([values])
    return frame_of(array, dims).to_user(op, operators, reduction.finish())


def _not_of_file(array: xr.DataArray, seen: str) -> InvalidArgument:
    return InvalidArgument(
        f"the array {array.name!r} is no unmodified selection of a file: got {seen}; allowed: what "
        "xarray opened from files, or from folders of Zarr on this machine, and isel, sel or "
        f"transpose selected. {_REMEDY}."
    )
