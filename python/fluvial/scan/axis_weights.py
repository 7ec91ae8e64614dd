# SPDX-License-Identifier: Apache-2.0
"""Weights along axes: the cosine of latitude, variables of the file, arrays."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping

import numpy as np
import numpy.typing as npt
import xarray as xr

from .._core import InvalidArgument
from ..base.arguments import to_weights
from ..base.messages import did_you_mean, shown
from . import positions
from .view import View

Weights = str | xr.DataArray | Mapping[str, npt.ArrayLike] | Mapping[Hashable, npt.ArrayLike]
"""As the user gives them."""
Labels = Callable[[str], xr.Variable | None]


def to_factors(weights: Weights, view: View, labels: Labels) -> dict[str, np.ndarray]:
    """Return a factor for each position of whole axes, by dimension.

    Parameters
    ----------
    weights
        ``"cos(lat)"``, the name of a 1-D variable, a DataArray over one dimension, or a mapping of
        dimensions to arrays.
    view
        Whose selection an array may have the length of.
    labels
        Gives a 1-D variable of the file by name.
    """
    if isinstance(weights, str):
        return _named(weights, view, labels)
    if isinstance(weights, xr.DataArray):
        if weights.ndim != 1:
            raise InvalidArgument(
                f"weights have {weights.ndim} dimensions: got {weights.dims}; allowed: one. "
                "Give a mapping of dimensions to 1-D arrays, whose factors multiply."
            )
        weights = {d: weights for d in weights.dims}
    if isinstance(weights, Mapping):
        found = {}
        for d, given in weights.items():
            dim = view.check(d)
            own = _aligned(given, view, dim, labels) if isinstance(given, xr.DataArray) else given
            found[str(d)] = _spread(own, view, dim)
        return found
    raise InvalidArgument(
        f"not weights: got {shown(weights)}; allowed: 'cos(NAME)', the name of a 1-D variable, a "
        "DataArray of one dimension, or a dict of dimensions to arrays"
    )


def _named(text: str, view: View, labels: Labels) -> dict[str, np.ndarray]:
    match = re.fullmatch(r"\s*(?:(cos)\s*\(\s*(\S+?)\s*\)|(\S+))\s*", text)
    name = (match[2] or match[3]) if match else text
    variable = labels(name) if match else None
    if match is None or variable is None or variable.dims[0] not in view.dims:
        raise InvalidArgument(
            f"cannot read the weights: got {shown(text)}; allowed: 'cos(NAME)' or 'NAME' of a 1-D "
            f"variable over one of {', '.join(map(repr, view.dims))}. Give an array instead: "
            f"weights={{'lat': array}}{did_you_mean(name, view.dims) or '.'}"
        )
    values = np.asarray(variable.values, dtype=np.float64)
    if np.isnan(values).any():
        raise InvalidArgument(
            f"weights are missing: got NaN in '{name}' at {int(np.argmax(np.isnan(values)))}; "
            "allowed: numbers. Give an array in which they are filled: weighted(array.fillna(0))"
        )
    if match[1]:
        radian = str(variable.attrs.get("units", "")).startswith("rad")
        values = np.cos(values if radian else np.deg2rad(values))
        values[np.abs(values) < 1e-15] = 0.0  # the poles
    return {str(variable.dims[0]): values}


def _aligned(weights: xr.DataArray, view: View, dim: str, labels: Labels) -> np.ndarray:
    """Return the weights of the selected positions, found by their labels where both have some."""
    if weights.dims != (dim,):
        raise InvalidArgument(
            f"weights of '{dim}' have other dimensions: got {weights.dims}; allowed: ('{dim}',). "
            "Rename it: weights.rename."
        )
    whole, given = labels(dim), weights.indexes.get(dim)
    values = np.asarray(weights.values)
    if whole is None or given is None:
        return values
    selected = whole.to_index()[positions.as_array(view.at(dim))]
    if given.equals(selected):
        return values
    places = given.get_indexer(selected) if given.is_unique else np.full(len(selected), -1)
    if (places < 0).any():
        without = selected[places < 0] if given.is_unique else given[given.duplicated()]
        raise InvalidArgument(
            f"the weights of '{dim}' have other coordinates: got {shown(given.tolist())}; allowed: "
            f"one weight for each that is selected, such as {shown(without[0])}. Select them alike"
        )
    return values[places]


def _spread(values: object, view: View, dim: str) -> np.ndarray:
    """Factors of the selected positions as factors of the whole axis."""
    given = to_weights(values, f"the weights of '{dim}'")
    selected = positions.as_array(view.at(dim))
    whole = view.shape[view.dims.index(dim)]
    if given.shape == (len(selected),):
        factors = np.zeros(whole)
        factors[selected] = given
        return factors
    if given.shape == (whole,):
        return given
    raise InvalidArgument(
        f"weights of '{dim}' do not fit: got shape {given.shape}; "
        f"allowed: ({len(selected)},) as selected, or ({whole},)"
    )
