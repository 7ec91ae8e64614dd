# SPDX-License-Identifier: Apache-2.0
"""Groups along one axis: by a coordinate, a component of a time, or periods of time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping

import numpy as np
import xarray as xr

from .._core import InvalidArgument, UnknownName
from ..base.arguments import said_by, to_text
from ..base.messages import did_you_mean, listed, shown
from . import positions
from .view import Groups, View

Labels = Callable[[str], xr.Variable | None]


def by_coordinate(key: str, view: View, labels: Labels) -> Groups:
    """Return groups of equal values of ``"time.month"``, ``"time.season"``, ``"lat"`` …."""
    name, _, component = to_text(key, "the key of groups").partition(".")
    selected = _selected(name, view, labels)
    values = _component(key, component, selected) if component else selected.values
    return _groups(
        str(selected.dims[0]), component or name, values, {} if component else selected.attrs
    )


def by_period(dim: str, period: str, view: View, labels: Labels) -> Groups:
    """Return groups of periods of time: xarray's `resample`, with its words for periods."""
    selected = _selected(view.check(dim), view, labels)
    at = xr.DataArray(np.ones(selected.size), dims=dim, coords={dim: selected.variable})
    try:
        counts = at.resample({dim: period}).count()
    except (ValueError, TypeError, ArithmeticError) as error:
        raise InvalidArgument(
            f"cannot group '{dim}' by periods: got {shown(period)} ({said_by(error)}); "
            "allowed: a period of pandas such as 'MS' (months), 'YS' (years), '7D', along "
            "increasing times"
        ) from None
    members = np.repeat(np.arange(counts.size), np.nan_to_num(counts.values).astype(np.int64))
    return Groups(dim, counts[dim].variable.to_base_variable(), members.astype(np.int32))


def _component(key: str, component: str, coordinate: xr.DataArray) -> np.ndarray:
    """Return the month, the season and the like of each time."""
    allowed = "components of times, such as month, season, year, day, dayofyear, hour"
    try:
        times = coordinate.dt
    except (AttributeError, TypeError):
        raise InvalidArgument(
            f"cannot group by {shown(key)}: got component {shown(component)} of a coordinate "
            f"of {coordinate.dtype}; allowed: {allowed}"
        ) from None
    kind = type(times)
    known = [name for name in dir(kind) if isinstance(getattr(kind, name, None), property)]
    found = getattr(times, component) if component in known else None
    if not isinstance(found, xr.DataArray):
        raise UnknownName(
            f"cannot group by {shown(key)}: got component {shown(component)}; allowed: {allowed}"
            f"{did_you_mean(component, known)}"
        )
    return found.values


def _selected(name: str, view: View, labels: Labels) -> xr.DataArray:
    """Return the coordinate at the selected positions, in the order of the file."""
    variable = labels(name)
    if variable is None:
        known = [dim for dim in view.kept if labels(dim) is not None]
        raise UnknownName(
            f"cannot group by {shown(name)}: got no 1-D coordinate of this name; allowed: "
            f"{listed(known)}{did_you_mean(name, known)}"
        )
    if not variable.dims or variable.dims[0] not in view.kept:
        raise InvalidArgument(
            f"cannot group by {shown(name)}: got a coordinate along no dimension that is left; "
            f"allowed: coordinates along {', '.join(map(repr, view.kept)) or 'no dimension'}"
        )
    at = positions.as_array(positions.ascending(view.at(str(variable.dims[0]))))
    return xr.DataArray(variable[at])


def _groups(dim: str, name: str, values: np.ndarray, attrs: Mapping[Hashable, object]) -> Groups:
    known = ~np.asarray(xr.DataArray(values).isnull())
    distinct, inverse = np.unique(values[known], return_inverse=True)
    group = np.full(values.shape, -1, dtype=np.int32)
    group[known] = inverse
    return Groups(dim, xr.Variable((name,), distinct, attrs), group)
