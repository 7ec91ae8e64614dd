# SPDX-License-Identifier: Apache-2.0
"""Steps as records along an axis of time: what is in each of them, and what is there once.

Formats of labelled arrays (netCDF, Zarr) have it so: a dataset gets an axis of time in front, and
the coordinates of its other axes are variables of their own, which do not change.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from .._core import InvalidArgument
from ..base.messages import listed, shown
from ..describe.axis_labels import axis_labels
from ..describe.dates import OF_TIME, TIME, coordinate_attributes
from . import grid_coordinates
from .step_contents import Coordinate, Extent, StepContents
from .value_attributes import in_dtype

STEP_ATTRIBUTE = "step_attribute"
"""Attribute of a variable of one number a step, which is an attribute of the step."""


_OF_OPENPMD = {
    "openPMD",
    "openPMDextension",
    "basePath",
    "meshesPath",
    "particlesPath",
    "iterationEncoding",
    "iterationFormat",
}


def series_attributes(said: Mapping[str, object]) -> dict[str, object]:
    """Return attributes of a series, but for those that say where openPMD has its iterations.

    A series of openPMD that is put into records brings them along; readers would look for
    iterations that are not there. `software` tells those that follow the file whose it is.
    """
    kept = {name: value for name, value in said.items() if name not in _OF_OPENPMD}
    return {"software": "Fluvial", **kept}


class RecordVariable(NamedTuple):
    """A variable of a file whose steps are records."""

    dtype: str
    dims: tuple[str, ...]
    """Those of one record, without the axis of time."""
    shape: tuple[int, ...]
    attrs: Mapping[str, object]
    by_record: bool
    """Whether it has the axis of time; else it is there once."""
    values: np.ndarray | None
    """Of what the first rank writes: coordinates, and numbers of a step. None: datasets."""

    @property
    def bytes(self) -> int:
        """All of its bytes, or those of one record."""
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize

    @property
    def said(self) -> tuple[object, ...]:
        """What may not change from step to step."""
        return self.dtype, self.shape, self.dims, self.by_record


class RecordLayout(NamedTuple):
    """Dimensions and variables by name."""

    dims: dict[str, int]
    """Without the axis of time."""
    variables: dict[str, RecordVariable]


def record_layout(step: StepContents) -> RecordLayout:
    """Return what a file needs to hold a step.

    A dataset of one axis that is called like an axis is its coordinate. Where no coordinates came
    along, those of a regular grid of openPMD are used.

    Raises
    ------
    InvalidArgument
        An axis has two lengths, or is called "time"; coordinates do not fit.
    """
    labelled = {name: _dims_of(name, extent) for name, extent in step.extents.items()}
    layout = RecordLayout({}, {})
    for name, extent in step.extents.items():
        for dim, length in zip(labelled[name], extent.shape, strict=True):
            _add_dim(layout.dims, dim, length, name)
    for dim, coordinate in {**_of_grids(step, labelled), **step.coordinates}.items():
        if dim != TIME and dim not in step.extents:
            layout.variables[dim] = _coordinate(dim, coordinate, layout.dims)
    for name, extent in step.extents.items():
        attrs = in_dtype(extent.attrs, extent.dtype, name)
        attrs.pop("axisLabels", None)
        is_coordinate = labelled[name] == (name,)
        layout.variables[name] = RecordVariable(
            extent.dtype, labelled[name], extent.shape, attrs, not is_coordinate, None
        )
    _add_numbers(layout, step)
    return layout


def check_same(known: RecordLayout, step: RecordLayout, index: int) -> None:
    """Refuse a step that has not what the first one had.

    Raises
    ------
    InvalidArgument
        With the name of what is missing, new or different.
    """
    once = {name for name, variable in known.variables.items() if not variable.by_record}
    missing = [name for name in known.variables if name not in step.variables and name not in once]
    new = [name for name in step.variables if name not in known.variables]
    if missing or new:
        what = "is missing in" if missing else "is new in"
        raise InvalidArgument(
            f"{shown((missing or new)[0])} {what} step {index}: got {listed(step.variables)}; "
            f"allowed: {listed(known.variables)}, as in the first step, because records are alike. "
            "Put the same in each step, or write files of one step each, 'data%T'"
        )
    for name, variable in step.variables.items():
        first = known.variables[name]
        if variable.said != first.said:
            raise InvalidArgument(
                f"'{name}' changes in step {index}: got {variable.dtype} {shown(variable.shape)} "
                f"along {listed(variable.dims)}; allowed: {first.dtype} {shown(first.shape)} along "
                f"{listed(first.dims)}, as in the first step, because records are alike"
            )
        if not _alike(variable.attrs, first.attrs):
            raise InvalidArgument(
                f"attributes of '{name}' change in step {index}: got {shown(variable.attrs)}; "
                f"allowed: {shown(first.attrs)}, as in the first step: a file has them once"
            )
        if not first.by_record and not _same_values(variable.values, first.values):
            raise InvalidArgument(
                f"the coordinate '{name}' changes in step {index}: got {shown(variable.values)}; "
                "allowed: what it was in the first step: a file has coordinates once"
            )


def _alike(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    return one.keys() == other.keys() and all(
        np.array_equal(np.asarray(one[key]), np.asarray(other[key]))
        or (_is_nan(one[key]) and _is_nan(other[key]))
        for key in one
    )


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _same_values(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return True  # a dataset, whose elements are compared where they lie
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _dims_of(name: str, extent: Extent) -> tuple[str, ...]:
    labels = axis_labels(len(extent.shape), extent.attrs)
    if labels is None:
        # With its path: datasets of one name in several groups have lengths of their own.
        path = name.replace("/", "_")
        return tuple(f"{path}_dim_{axis}" for axis in range(len(extent.shape)))
    if TIME in labels:
        raise InvalidArgument(
            f"'{name}' has an axis that is called 'time': got axes {listed(labels)}; allowed: "
            "other names: time is the axis of the steps. Put one record, array.isel(time=0), or "
            "call the axis something else"
        )
    return labels


def _add_dim(dims: dict[str, int], dim: str, length: int, name: str) -> None:
    if dims.setdefault(dim, length) != length:
        raise InvalidArgument(
            f"the axis '{dim}' has two lengths: got {length} in '{name}'; allowed: {dims[dim]}, as "
            "in the dataset before it. Call one of the axes something else"
        )


def _of_grids(step: StepContents, labelled: Mapping[str, tuple[str, ...]]) -> dict[str, Coordinate]:
    """Return the coordinates of regular grids, as attributes of openPMD say."""
    found: dict[str, Coordinate] = {}
    for name, extent in step.extents.items():
        dims = labelled[name]
        for axis, dim in enumerate(dims):
            variable = grid_coordinates.along(axis, dims, extent.shape, extent.attrs)
            if variable is not None and dim not in step.extents:
                found.setdefault(dim, Coordinate(variable.values, dict(variable.attrs)))
    return found


def _coordinate(dim: str, coordinate: Coordinate, dims: Mapping[str, int]) -> RecordVariable:
    values, attrs = coordinate
    if dim not in dims or values.shape != (dims[dim],):
        raise InvalidArgument(
            f"the coordinate '{dim}' has another length: got {shown(values.shape)}; allowed: "
            f"{dims.get(dim, 'none')}, the length of the axis"
        )
    attrs = in_dtype(attrs, values.dtype.name, dim)
    return RecordVariable(values.dtype.name, (dim,), values.shape, attrs, False, values)


def _add_numbers(layout: RecordLayout, step: StepContents) -> None:
    """Add the time of a step, with its units, and its other attributes, each a number."""
    units = coordinate_attributes(step.said.attrs)
    numbers = {
        key: Coordinate(np.asarray(value), units if key == TIME else {})
        for key, value in step.said.attrs.items()
        if not units or key not in OF_TIME
    }
    if TIME in step.coordinates:
        numbers[TIME] = step.coordinates[TIME]
    for name, (values, attrs) in numbers.items():
        if name in step.extents:
            raise InvalidArgument(
                f"a dataset is called like an attribute of the step: got '{name}'; allowed: "
                "another name for one of them"
            )
        if name in step.said.attrs and (values.dtype.kind not in "bif" or values.ndim):
            raise InvalidArgument(
                f"attribute '{name}' of step {step.number} is no number: got "
                f"{shown(step.said.attrs[name])}; allowed: int, float or bool: a record has "
                "numbers alone. Set it for the whole series, series.attrs"
            )
        kept = values.astype("int8") if values.dtype.kind == "b" else values
        said = attrs if name == TIME else {**attrs, STEP_ATTRIBUTE: 1}
        layout.variables[name] = RecordVariable(kept.dtype.name, (), (), said, True, kept)
