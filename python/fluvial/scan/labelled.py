# SPDX-License-Identifier: Apache-2.0
"""Results of scans as xarray objects: dimensions, coordinates and attributes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from .._core import InvalidArgument
from ..base.messages import shown
from ..compute.apply import Apply
from ..compute.distribution_operators import Histogram, Histogram2D, Quantile, TopK
from ..compute.registry import Reduced, Resolved, wrap
from ..compute.required_counts import innermost
from ..compute.scalar_operators import ArgMin
from ..compute.specs import Specs
from ..describe.storage_attributes import plain_attributes

Arrays = Mapping[str, np.ndarray]

_CELL_METHODS = {
    "mean": "mean",
    "sum": "sum",
    "min": "minimum",
    "max": "maximum",
    "argmin": "minimum",
    "argmax": "maximum",
    "std": "standard_deviation",
    "variance": "variance",
    "median": "median",
}
_SAME_UNITS = {*_CELL_METHODS, "norm", "quantile", "top_k"} - {"variance"}
_COUNTS = {"count", "histogram", "histogram2d"}


class Frame(NamedTuple):
    """What surrounds the numbers of a result."""

    name: str | None
    dims: tuple[str, ...]
    """Of the kept axes, the groups' one included."""
    coords: dict[str, xr.Variable]
    """Of the kept axes, and scalars."""
    reduced: tuple[str, ...]
    all_dims: tuple[str, ...]
    """Of every axis of the file's dataset, as positions count."""
    labels: dict[str, xr.Variable]
    """Coordinates of whole axes of the file, by dimension."""
    attrs: Mapping[str, object]

    def to_user(
        self, specs: Specs, operators: Mapping[str, Resolved], results: Mapping[str, Arrays]
    ) -> Reduced:
        """Return the results of one operator as a DataArray, of several as a Dataset.

        Those of a list are called after their operators.
        """
        if not isinstance(specs, Mapping):
            names = by_kind(list(operators.values()))
            results = {new: results[old] for new, old in zip(names, operators, strict=True)}
            operators = names
        several = isinstance(specs, Mapping) or len(operators) != 1
        self.check(operators, several)
        found = {name: to_labelled(op, results[name], self) for name, op in operators.items()}
        if not several:
            return to_dataarray(next(iter(found.values())), self.name)
        return to_dataset(found, self, {})

    def check(self, operators: Mapping[str, Resolved], several: bool) -> None:
        """Refuse results, and axes of their own, that are called as what is there already.

        Raises
        ------
        InvalidArgument
            A kept dimension is called as an axis of a result, or as one of several results; so is
            a coordinate.
        """
        for name, op in operators.items():
            if several and name in {*self.dims, *self.coords}:
                raise InvalidArgument(
                    f"a result is called as a dimension or coordinate: got {shown(name)}; allowed: "
                    "other names. Give the operators in a dict, by names"
                )
            for axis in own_axes(op):
                if axis in self.dims:
                    raise InvalidArgument(
                        f"a kept dimension is called as an axis of the result of {name_of(op)}: "
                        f"got {shown(axis)}; allowed: other names. Reduce over it, too"
                    )


def frame_of(array: xr.DataArray, reduced: Sequence[str]) -> Frame:
    """Return what surrounds the result of reducing an array in memory over these dimensions."""
    dims = [str(dim) for dim in array.dims]
    coords = {str(key): coord.variable for key, coord in array.coords.items()}
    return Frame(
        name=None if array.name is None else str(array.name),
        dims=tuple(dim for dim in dims if dim not in reduced),
        coords={key: v for key, v in coords.items() if not set(v.dims) & set(reduced)},
        reduced=tuple(reduced),
        all_dims=tuple(dims),
        labels={dim: coords[dim] for dim in dims if dim in coords},
        attrs=dict(array.attrs),
    )


def by_kind(operators: Sequence[Resolved]) -> dict[str, Resolved]:
    """Return operators by their names; from the second of a name on with a number behind it."""
    found: dict[str, Resolved] = {}
    for operator in operators:
        kind = name_of(operator)
        number = sum(key.rpartition("_")[0] == kind or key == kind for key in found)
        found[f"{kind}_{number + 1}" if number else kind] = operator
    return found


def name_of(op: Resolved) -> str:
    """Return what a result of this operator is called among several."""
    name = getattr(innermost(op), "name", None)
    return name if isinstance(name, str) else type(op).__name__


def result_attributes(
    attrs: Mapping[str, object], op: Resolved, reduced: Sequence[str]
) -> dict[str, object]:
    """Return the attributes of a result: units where they hold, and CF's cell_methods.

    >>> from fluvial.ops import Max
    >>> result_attributes({"units": "K", "cell_methods": "time: mean"}, Max(), ["lat", "lon"])
    {'units': 'K', 'cell_methods': 'time: mean lat: lon: maximum'}
    """
    kind = name_of(op)
    out: dict[str, object] = {} if isinstance(op, Apply) else plain_attributes(attrs)
    if kind not in _SAME_UNITS:
        units = out.pop("units", None)
        out.pop("standard_name", None)
        if kind == "variance" and units:
            out["units"] = f"({units})2" if not str(units).isalpha() else f"{units}2"
    if kind in _COUNTS:
        out = {key: value for key, value in out.items() if key == "long_name"} | {"units": "1"}
    named = [dim for dim in reduced if not re.fullmatch(r"dim_\d+", dim)]
    if kind in _CELL_METHODS and named:
        method = f"{' '.join(f'{dim}:' for dim in named)} {_CELL_METHODS[kind]}"
        out["cell_methods"] = f"{out.get('cell_methods', '')} {method}".strip()
    return out


def own_axes(op: Resolved) -> tuple[str, ...]:
    """Return the names of the axes that the results of an operator have beside the kept ones."""
    inner = innermost(op)
    if isinstance(inner, TopK):
        return ("rank",)
    if isinstance(inner, Histogram):
        return ("bin",)
    if isinstance(inner, Histogram2D):
        return ("bin_x", "bin_y")
    if isinstance(inner, Quantile) and not inner.one:
        return ("quantile",)
    return ()


class Labelled(NamedTuple):
    """A result as xarray takes it."""

    variable: xr.Variable
    coords: dict[str, object]
    """Of the frame, and the operator's own."""


def to_labelled(op: Resolved, arrays: Arrays, frame: Frame) -> Labelled | Reduced:
    """Return the named arrays of a finished reduction as one variable with coordinates.

    What an operator found beside its values (where an extremum lies, edges of bins) are
    coordinates. Operators with a result of their own kind give that instead.
    """
    inner = innermost(op)
    coords: dict[str, object] = dict(frame.coords)
    dims = (*frame.dims, *own_axes(op))
    value: np.ndarray | np.number | None = arrays.get("value")
    if isinstance(inner, ArgMin):
        coords |= _located(arrays["coordinates"], dims, frame)
    elif isinstance(inner, TopK):
        count = arrays["count"]
        if count.ndim == 0:
            value = arrays["value"][: int(count)]
            arrays = {**arrays, "coordinates": arrays["coordinates"][: int(count)]}
        coords |= _located(arrays["coordinates"], dims, frame)
        coords["rank"] = ("rank", np.arange(value.shape[-1] if value is not None else 0))
        coords["count"] = (frame.dims, count)
    elif isinstance(inner, Histogram):
        coords |= _bins("bin", arrays["edges"])
        coords |= {key: (frame.dims, arrays[key]) for key in ("underflow", "overflow", "nan")}
    elif isinstance(inner, Histogram2D):
        coords |= _bins("bin_x", arrays["edges_x"]) | _bins("bin_y", arrays["edges_y"])
        coords |= {key: (frame.dims, arrays[key]) for key in ("outside", "nan")}
    elif isinstance(inner, Quantile):
        value, error = inner.wrap(arrays)
        if inner.one:
            coords["quantile"] = inner.q[0]
        else:
            coords["quantile"] = ("quantile", np.asarray(inner.q))
        units = result_attributes(frame.attrs, op, frame.reduced).get("units")
        told = {"long_name": "largest possible error"} | ({"units": units} if units else {})
        coords["error"] = (dims, error, told)
    elif set(arrays) != {"value"} or value is None or value.ndim < len(dims):
        return wrap(op, arrays)
    if value is None:
        raise AssertionError("bug in Fluvial: a result without a value")
    dims = (*dims, *(f"dim_{i}" for i in range(value.ndim - len(dims))))
    attrs = result_attributes(frame.attrs, op, frame.reduced)
    return Labelled(xr.Variable(dims, value, attrs), coords)


def to_dataarray(result: Labelled | Reduced, name: str | None) -> Reduced:
    """Return the DataArray of this name; results of another kind as they are."""
    if not isinstance(result, Labelled):
        return result
    return xr.DataArray(result.variable, coords=result.coords, name=name)


def to_dataset(
    found: Mapping[str, Labelled | Reduced], frame: Frame, attrs: Mapping[str, object]
) -> xr.Dataset | dict[str, Reduced]:
    """Return several results as one Dataset; what belongs to one of them has its name in front.

    Results of another kind make it a dict of these and DataArrays.
    """
    if not all(isinstance(result, Labelled) for result in found.values()):
        return {name: to_dataarray(result, name) for name, result in found.items()}
    shared = {*frame.dims, *frame.coords}
    named: dict[str, xr.DataArray | xr.Variable] = {}
    for name, (variable, coords) in found.items():
        if coords.keys() <= shared and set(variable.dims) <= shared:
            named[name] = variable
            continue
        array = xr.DataArray(variable, coords=coords)
        array = array.drop_vars([c for c in array.coords if c == "quantile" and not array[c].ndim])
        own = {str(key): f"{name}_{key}" for key in (*array.coords, *array.dims)}
        own = {key: new for key, new in own.items() if key not in shared}
        named[name] = array.rename(own) if own else array.variable
    return xr.Dataset(named, coords=frame.coords, attrs=plain_attributes(attrs))


def _bins(dim: str, edges: np.ndarray) -> dict[str, object]:
    return {
        dim: (dim, (edges[:-1] + edges[1:]) / 2),
        f"{dim}_lower": (dim, edges[:-1]),
        f"{dim}_upper": (dim, edges[1:]),
    }


def _located(coordinates: np.ndarray, dims: tuple[str, ...], frame: Frame) -> dict[str, object]:
    """Where each value lies: its label along each reduced axis, and its position in the file."""
    out: dict[str, object] = {}
    for axis, dim in enumerate(frame.all_dims):
        if dim not in frame.reduced:
            continue
        position = coordinates[..., axis]
        out[f"{dim}_index"] = (dims, position)
        if dim in frame.labels and dim not in dims:
            labels = frame.labels[dim]
            values = (
                labels.values[np.maximum(position, 0)]
                if labels.size
                else np.full(position.shape, np.nan)
            )
            values = np.asarray(values)
            if np.any(position < 0):
                values = np.where(position < 0, _nothing(values.dtype), values)
            out[dim] = xr.Variable(dims, values, labels.attrs, labels.encoding)
    return out


def _nothing(dtype: np.dtype) -> np.ndarray | float:
    return np.array("NaT", dtype) if dtype.kind in "mM" else np.nan
