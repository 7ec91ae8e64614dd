# SPDX-License-Identifier: Apache-2.0
"""Arrays that go with others: weights, masks, further inputs; labelled ones fit by their labels."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from ..base.arguments import to_array, to_weights
from ..base.messages import shown

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Labels(NamedTuple):
    """Names and coordinates of the axes of what is reduced."""

    dims: tuple[Hashable, ...]
    indexes: Mapping[Hashable, pd.Index]
    """Coordinates by dimension, for those that have some."""

    @classmethod
    def of(cls, array: object) -> Labels | None:
        """Return those of a DataArray; None for anything else."""
        labelled = _as_labelled(array)
        return None if labelled is None else cls(labelled.dims, labelled.indexes)


class Companions(NamedTuple):
    """Weights and a mask, of the shape of what they go with."""

    weights: np.ndarray | None
    mask: np.ndarray | None


def companions(
    weights: npt.ArrayLike | None,
    mask: npt.ArrayLike | None,
    shape: tuple[int, ...],
    labels: Labels | None = None,
) -> Companions:
    """Return weights and a mask spread over `shape`; where they are masked nothing counts.

    Raises
    ------
    InvalidArgument
        One does not broadcast, or has other dimensions or coordinates than the labels.
    """
    counts = None if mask is None else spread(_true(mask), shape, "mask", labels, mask)
    factors = None
    if weights is not None:
        given = to_weights(_plain(weights), "weights")
        factors = spread(given, shape, "weights", labels, weights)
        if isinstance(weights, np.ma.MaskedArray) and np.ma.is_masked(weights):
            seen = spread(~np.ma.getmaskarray(weights), shape, "weights")
            counts = seen if counts is None else counts & seen
    return Companions(factors, counts)


def spread(
    values: np.ndarray,
    shape: tuple[int, ...],
    what: str,
    labels: Labels | None = None,
    given: object = None,
) -> np.ndarray:
    """Broadcast an array to a shape: by position, or by names of dimensions.

    By names where `given`, of which the array was made, and what it goes with have them.
    """
    labelled = _as_labelled(given)
    if labels is not None and labelled is not None:
        values = in_axes_of(values, labelled, what, labels)
    try:
        return np.broadcast_to(values, shape)
    except ValueError:
        raise InvalidArgument(
            f"the shape of {what} does not fit the arrays: got {values.shape}; allowed: what "
            f"broadcasts to {shape}. Add axes with numpy.newaxis."
        ) from None


def in_order_of(first: Labels | None, values: np.ndarray, given: object) -> np.ndarray:
    """Return a further input with its axes in the order of the first one's."""
    labelled = _as_labelled(given)
    if first is None or labelled is None or labelled.dims == first.dims:
        if first is not None and labelled is not None:
            _check_coordinates(labelled, "a further array", first)
        return values
    if set(labelled.dims) != set(first.dims):
        raise InvalidArgument(
            f"the arrays differ in dimensions: got {_names(labelled.dims)}; allowed: "
            f"{_names(first.dims)} as the first, in any order. Broadcast them with "
            "xarray.broadcast."
        )
    return in_axes_of(values, labelled, "a further array", first)


def in_axes_of(values: np.ndarray, labelled: xr.DataArray, what: str, labels: Labels) -> np.ndarray:
    """Return values with an axis for each dimension of the labels, some of length 1."""
    unknown = [dim for dim in labelled.dims if dim not in labels.dims]
    if unknown:
        raise InvalidArgument(
            f"no such dimension beside {what}: got {_names(unknown)}; allowed: "
            f"{_names(labels.dims)}. Select or reduce it first."
        )
    _check_coordinates(labelled, what, labels)
    order = [labelled.dims.index(dim) for dim in labels.dims if dim in labelled.dims]
    missing = tuple(i for i, dim in enumerate(labels.dims) if dim not in labelled.dims)
    return np.expand_dims(values.transpose(order), missing)


def _check_coordinates(labelled: xr.DataArray, what: str, labels: Labels) -> None:
    for dim, index in labelled.indexes.items():
        own = labels.indexes.get(dim)
        if own is not None and not own.equals(index):
            raise InvalidArgument(
                f"other coordinates along '{dim}' in {what}: got {shown(index.tolist())}; "
                f"allowed: {shown(own.tolist())}. Align them first: xarray.align."
            )


def _as_labelled(array: object) -> xr.DataArray | None:
    xarray = sys.modules.get("xarray")
    return array if xarray is not None and isinstance(array, xarray.DataArray) else None


def _plain(array: object) -> object:
    """Return the elements, those that are masked among them."""
    return array.data if isinstance(array, np.ma.MaskedArray) else array


def _true(mask: npt.ArrayLike) -> np.ndarray:
    """Return where a mask is True; where it is masked itself it is not."""
    if isinstance(mask, np.ma.MaskedArray):
        return np.ma.filled(mask.astype(bool), False)
    return to_array(mask, "mask").astype(bool)


def _names(dims: Sequence[Hashable]) -> str:
    return ", ".join(f"'{dim}'" for dim in dims) or "none"
