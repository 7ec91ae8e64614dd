# SPDX-License-Identifier: Apache-2.0
"""Coordinate variables of files: read when they are asked for, decoded as xarray does."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

from .. import _core
from ..describe.axis_labels import axis_labels
from ..describe.records import is_record
from .joined_coordinates import check_same, join

Parts = Sequence[_core.FileDataset]

_DECODED = {
    *("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "_Encoding"),
    *("calendar", "dtype"),
}
_PLAIN_UNITS = {
    *("", "1", "m", "km", "Pa", "hPa", "mbar", "millibar", "K", "level", "degree", "degrees"),
    *("degrees_north", "degrees_east", "degree_north", "degree_east", "degreesN", "degreesE"),
}

_decoded_as_cftime = (
    functools.partial(
        xr.conventions.decode_cf_variable, decode_times=xr.coders.CFDatetimeCoder(use_cftime=True)
    )
    if hasattr(xr, "coders")  # since xarray 2025.1
    else functools.partial(xr.conventions.decode_cf_variable, use_cftime=True)
)


def whole(dataset: _core.FileDataset) -> np.ndarray:
    """Return all stored elements of one file's dataset."""
    return dataset.read((0,) * len(dataset.shape), dataset.shape)


def typed(attributes: Mapping[str, object], dtype: np.dtype) -> dict[str, object]:
    """Return attributes whose numbers that stand for elements have the elements' dtype.

    As scans take them: floating numbers are rounded, integers may be of the same bits with another
    sign where `_Unsigned` says so or the dtype has none, and what the dtype cannot hold marks
    nothing. A _FillValue of two numbers is a complex one.

    >>> typed({"_FillValue": -1, "units": "m"}, np.dtype("int16"))["_FillValue"].dtype
    dtype('int16')
    """
    out = dict(attributes)
    for name in ("_FillValue", "missing_value"):
        if name in out:
            value = np.asarray(out[name])
            if name == "_FillValue" and dtype.kind == "c" and value.shape == (2,):
                value = value.astype(np.float64).view(np.complex128)[0]
            elements = _elements(value, dtype, "_Unsigned" in out)
            if elements is None:
                del out[name]
            else:
                out[name] = elements[()]
    return out


def _elements(values: np.ndarray, dtype: np.dtype, said_unsigned: bool) -> np.ndarray | None:
    """Return those of the values that the dtype can hold, in it; None without any."""
    if values.dtype.kind not in "iufc" or dtype.kind not in "biufc":
        return None
    with np.errstate(all="ignore"):
        cast = values.astype(dtype)
        held = _held(values, cast, said_unsigned)
    if not held.any():
        return None
    return cast if held.all() else cast[held]


def _held(values: np.ndarray, cast: np.ndarray, said_unsigned: bool) -> np.ndarray:
    """Tell which values the dtype of `cast` can hold."""
    if cast.dtype.kind in "fc":
        real = values.dtype.kind != "c" or cast.dtype.kind == "c"
        return (np.isfinite(cast) == np.isfinite(values)) & (real or values.imag == 0)
    held = np.asarray(cast == values)
    if values.dtype.kind in "iu" and (
        cast.dtype.kind == "u" or (said_unsigned and cast.dtype.kind == "i")
    ):
        sign = "i" if cast.dtype.kind == "u" else "u"
        held |= values.astype(f"{sign}{cast.dtype.itemsize}") == values
    return held


class CoordinateVariables:
    """The coordinates of one file, or of several whose first axis is joined.

    Parameters
    ----------
    first_of
        Gives the dataset of a name in the first file.
    parts_of
        Gives the datasets of a name, one a file where it is joined; raises InvalidArgument.
    everywhere
        Gives the datasets of a name in all files.
    of_group
        Gives the attributes of a group of the first file.
    decode
        Times become dates, packed numbers are unpacked.
    """

    def __init__(
        self,
        first_of: Callable[[str], _core.FileDataset],
        parts_of: Callable[[str], Parts],
        everywhere: Callable[[str], Parts],
        of_group: Callable[[str], Mapping[str, object]],
        names: Sequence[str],
        decode: bool = True,
    ) -> None:
        self._decode = decode
        self._first_of = first_of
        self._parts_of = parts_of
        self._everywhere = everywhere
        self._of_group = of_group
        self._names = set(names)
        self._dims: dict[str, list[str]] = {}
        self._known: dict[str, xr.Variable] = {}

    def of_dim(self, dataset: str, dim: str) -> xr.Variable | None:
        """Return the coordinate variable of a dataset's dimension, all of it; None without one."""
        for found in self._called(dataset, dim):
            # What is called like the axis is its coordinate, also where nothing names its own axis.
            if self._dims_of(found) in ([dim], [""]):
                return self._read(found, dim)
        return None

    def named(self, dataset: str, name: str) -> xr.Variable | None:
        """Return a 1-D variable by its name, along whatever dimension; None without one."""
        for found in self._called(dataset, name):
            dims = self._dims_of(found)
            if len(dims) == 1 and dims[0]:
                return self._read(found, *dims)
        return None

    def auxiliary(
        self, dataset: str, attributes: Mapping[str, object], unseen: Sequence[str] = ()
    ) -> dict[str, xr.Variable]:
        """Return scalar and 1-D variables that the attribute `coordinates` names.

        Not those along the dimensions `unseen`, which are not read.
        """
        out: dict[str, xr.Variable] = {}
        named = attributes.get("coordinates", "")
        for name in named.split() if isinstance(named, str) else ():
            found = next(self._called(dataset, name), None)
            if found is None:
                continue
            dims = self._dims_of(found)
            if len(dims) > 1 or not all(dims) or set(dims) & set(unseen):
                continue
            if "complex" not in self._parts_of(found)[0].dtype:
                out[name] = self._read(found, *dims)
        return out

    def _dims_of(self, name: str) -> list[str]:
        """Return what a dataset calls its dimensions, whether it can be joined or not."""
        if name not in self._dims:
            first = self._first_of(name)
            dimensions = first.dimensions
            if not any(dimensions):
                labels = axis_labels(len(first.shape), first.attributes)
                dimensions = list(labels or [""] * len(first.shape))
            self._dims[name] = [dim.rpartition("/")[2] for dim in dimensions]
        return self._dims[name]

    def _called(self, dataset: str, name: str) -> Iterator[str]:
        """Look in the dataset's group and then outwards, as the CF conventions say.

        Not among the components of the dataset's own record: "E/x" says nothing of where "E/y" is.
        """
        own = group = dataset.rpartition("/")[0]
        while True:
            path = f"{group}/{name}" if group else name
            if path in self._names and not (
                group == own and is_record(group, self._of_group(group))
            ):
                yield path
            if not group:
                return
            group = group.rpartition("/")[0]

    def _read(self, name: str, *dims: str) -> xr.Variable:
        if name not in self._known:
            self._known[name] = self._joined(name, self._parts_of(name), dims)
        return self._known[name]

    def _joined(self, name: str, parts: Parts, dims: tuple[str, ...]) -> xr.Variable:
        def decode(part: _core.FileDataset, as_cftime: bool) -> xr.Variable:
            return _decode(part, dims, as_cftime) if self._decode else _raw(part, dims)

        if len(parts) > 1:
            return join(parts, decode, check=self._decode)
        return check_same([parts[0], *self._everywhere(name)[1:]], decode)


def are_times(labels: xr.Variable) -> bool:
    """Tell whether labels are times that can be compared: dates, or numbers that count them.

    Names, and numbers of stations or of members of an ensemble, need not ascend.

    >>> are_times(xr.Variable("time", [0.0, 1.0], {"units": "fs"}))
    True
    >>> are_times(xr.Variable("station", [7, 3])), are_times(xr.Variable("name", ["b", "a"]))
    (False, False)
    """
    if labels.dtype.kind == "O":  # dates of another calendar, if all of them are of one
        return len({type(label) for label in labels.values}) == 1 and hasattr(
            labels.values[0], "calendar"
        )
    counts = labels.dtype.kind in "iuf" and (labels.dims == ("time",) or "units" in labels.attrs)
    return labels.dtype.kind == "M" or counts


def not_in_order(
    labels: np.ndarray, lengths: Sequence[int]
) -> tuple[int, int, object, object] | None:
    """Return the first two parts of an axis of which the second begins before the first one ends.

    With the last label of the one and the first of the other. None: labels ascend, or descend, from
    part to part.

    >>> not_in_order(np.array([0, 1, 2, 2, 3]), [3, 0, 2])
    (0, 2, np.int64(2), np.int64(2))
    >>> not_in_order(np.array([3, 2, 1, 0]), [2, 2]) is None
    True
    """
    filled = [part for part, length in enumerate(lengths) if length > 0]
    ends = np.cumsum(lengths)[filled]
    firsts, lasts = labels[ends - np.array(lengths)[filled]], labels[ends - 1]
    if len(filled) < 2:
        return None
    descends = lasts[0] < firsts[0] or (lasts[0] == firsts[0] and firsts[1] < firsts[0])
    wrong = firsts[1:] >= lasts[:-1] if descends else firsts[1:] <= lasts[:-1]
    if not wrong.any():
        return None
    at = int(np.argmax(wrong))
    return filled[at], filled[at + 1], lasts[at], firsts[at + 1]


def _raw(dataset: _core.FileDataset, dims: tuple[str, ...]) -> xr.Variable:
    values = whole(dataset)
    return xr.Variable(dims, values, typed(dataset.attributes, values.dtype))


def _is_plain(attributes: Mapping[Hashable, object]) -> bool:
    """Tell whether xarray would find nothing to decode; asking it takes a while."""
    units = attributes.get("units", "")
    return _DECODED.isdisjoint(attributes) and isinstance(units, str) and units in _PLAIN_UNITS


def _decode(dataset: _core.FileDataset, dims: tuple[str, ...], as_cftime: bool) -> xr.Variable:
    """Decode as xarray does; with `as_cftime`, dates that datetime64 could hold are of cftime."""
    raw = _raw(dataset, dims)
    if _is_plain(raw.attrs):
        return raw
    name = dims[0] if dims else "scalar"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", xr.SerializationWarning)
            decode = _decoded_as_cftime if as_cftime else xr.conventions.decode_cf_variable
            decoded = decode(name, raw)
            values = decoded.values  # which are decoded not before this
    except (ValueError, OverflowError, TypeError) as error:
        warnings.warn(
            f"'{dataset.name}' is taken as plain numbers: {error}", UserWarning, stacklevel=2
        )
        return raw
    decoded = xr.Variable(dims, values, decoded.attrs)
    for key in ("units", "calendar"):
        if key in raw.attrs and key not in decoded.attrs:
            decoded.encoding[key] = raw.attrs[key]
    return decoded
