# SPDX-License-Identifier: Apache-2.0
"""Positions along an axis: what xarray's indexing selects, as start, count and step.

A selected axis is a `range` of positions, or an int for an axis that was selected away.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from .._core import InvalidArgument, OutOfBounds, UnknownName
from ..base.arguments import said_by, to_choice
from ..base.messages import shown
from ..describe.selection import Hyperslab

_UNKNOWN_LABEL = (KeyError, TypeError, ValueError, IndexError, NotImplementedError)

_METHODS = (None, "nearest", "pad", "ffill", "backfill", "bfill")
"""Of xarray's `sel`."""

Positions = range | int


def to_positions(chosen: object, what: str) -> Positions:
    """Return positions as a range; those of no arithmetic progression are refused.

    >>> to_positions([8, 6, 4], "x")
    range(8, 3, -2)
    """
    found = np.asarray(chosen)
    if found.ndim == 0:
        return int(found)
    if found.ndim > 1:
        raise InvalidArgument(
            f"cannot select along '{what}': got an array of {found.ndim} dimensions; "
            "allowed: one number, slice or 1-D array an axis. Select each axis by itself."
        )
    positions = [int(position) for position in found]
    if len(positions) < 2:
        return range(positions[0], positions[0] + 1) if positions else range(0)
    step = positions[1] - positions[0]
    if step:
        regular = range(positions[0], positions[-1] + (1 if step > 0 else -1), step)
        if list(regular) == positions:
            return regular
    raise InvalidArgument(
        f"the selection along '{what}' is not regular: got positions {_shown(positions)}; "
        "allowed: equal steps from each to the next. Reduce the parts one by one, or mask the "
        "others with weights of 0: .weighted({...})."
    )


def by_index(positions: Positions, indexer: object, dim: str) -> Positions:
    """Select among the positions of an axis by number, as xarray's `isel` does."""
    axis = axis_of(positions, dim)
    if isinstance(indexer, slice):
        if indexer.step == 0:
            raise InvalidArgument(f"cannot select along '{dim}': got step 0; allowed: any other")
        return axis[_plain(indexer, dim)]
    if isinstance(indexer, xr.DataArray | xr.Variable):
        indexer = indexer.values
    found = np.asarray(indexer)
    if found.dtype == bool:
        if found.shape != (len(axis),):
            raise InvalidArgument(
                f"the mask of '{dim}' does not fit: got shape {found.shape}; "
                f"allowed: ({len(axis)},)"
            )
        found = np.flatnonzero(found)
    if found.size and not np.issubdtype(found.dtype, np.integer):
        raise InvalidArgument(
            f"cannot select along '{dim}': got {shown(indexer)}; allowed: an int, a slice, or an "
            "array of int or bool. Labels go to sel()."
        )
    wrong = found[(found < -len(axis)) | (found >= len(axis))] if found.size else found
    if wrong.size:
        raise OutOfBounds(
            f"index out of range along '{dim}': got {int(wrong.ravel()[0])}; "
            f"allowed: {-len(axis)} to {len(axis) - 1}"
        )
    if found.ndim == 0:
        return axis[int(found)]
    return (
        to_positions([axis[int(i)] for i in found.ravel()], dim)
        if found.ndim == 1
        else (to_positions(found, dim))
    )


def by_label(
    positions: Positions,
    label: object,
    dim: str,
    labels: xr.Variable,
    method: str | None,
    tolerance: object,
) -> Positions:
    """Select among the positions of an axis by coordinate, as xarray's `sel` does."""
    method = to_choice(method, "method of sel()", _METHODS)
    if isinstance(label, slice) and labels.dtype.kind in "iuf":
        _refuse_text_ends(label, dim)
    axis = axis_of(positions, dim)
    at = xr.DataArray(
        np.arange(len(axis)), dims=dim, coords={dim: labels[np.asarray(axis, dtype=np.intp)]}
    )
    try:
        chosen = at.sel({dim: label}, method=method, tolerance=tolerance)
    except (*_UNKNOWN_LABEL, pd.errors.InvalidIndexError) as error:
        instead = ", or have the nearest one (method='nearest')" if method is None else ""
        instead = " without method" if isinstance(label, slice) and method else instead
        ends = f"{labels.values[0]} to {labels.values[-1]}" if labels.size else "none"
        kind = UnknownName if isinstance(error, KeyError) else InvalidArgument
        no_number = isinstance(label, str) and labels.dtype.kind in "iuf"
        why = "" if kind is UnknownName or no_number else f" ({said_by(error)})"
        raise kind(
            f"no such label along '{dim}': got {shown(label)}{why}; allowed: "
            f"{'one of the numbers ' if no_number else ''}{ends}. Give an interval (a slice)"
            f"{instead}."
        ) from None
    if isinstance(label, slice) and at.size and not chosen.size:
        _warn_of_nothing(label, dim, at.indexes[dim])
    return by_index(positions, chosen.values, dim)


def refuse_text(label: object, dim: str, dataset: str, left_out: Mapping[str, str]) -> None:
    """Refuse labels along an axis whose coordinate is text: a number would be a position."""
    near = f"{dataset.rpartition('/')[0]}/{dim}".strip("/")
    why = left_out.get(near, left_out.get(dim))
    if why is not None or isinstance(label, str):
        raise InvalidArgument(
            f"no labels along '{dim}' are read ({why or 'the file has none'}): got {shown(label)}; "
            f"allowed: positions, by isel({dim}=…)"
        )


def _refuse_text_ends(label: slice, dim: str) -> None:
    """Refuse text as an end of an interval of numbers: pandas compares it with each, somehow."""
    for end in (label.start, label.stop):
        if isinstance(end, str):
            raise InvalidArgument(
                f"an interval along '{dim}' ends in text: got {shown(end)}; allowed: numbers"
            )


def _warn_of_nothing(label: slice, dim: str, index: pd.Index) -> None:
    """Say that a slice selects nothing, and what there is; the other way round is told apart."""
    ends = f"{index[0]} to {index[-1]}"
    said = f"slice({label.start}, {label.stop}) has none of the labels of '{dim}', which are {ends}"
    numbers = [end for end in (label.start, label.stop) if isinstance(end, int | float)]
    if len(numbers) == 2 and index.size > 1:
        rises = numbers[0] > numbers[1] and index.is_monotonic_increasing
        if rises or (numbers[0] < numbers[1] and index.is_monotonic_decreasing):
            way = "increases" if rises else "decreases"
            said = f"'{dim}' {way}, from {ends}; select slice({label.stop}, {label.start})"
    warnings.warn(f"nothing is selected: {said}", UserWarning, stacklevel=4)


def length(positions: Positions) -> int:
    """Return the number of positions; an axis that was selected away has one."""
    return 1 if isinstance(positions, int) else len(positions)


def as_array(positions: Positions) -> np.ndarray:
    """Return the positions themselves."""
    return (
        np.arange(positions, positions + 1)
        if isinstance(positions, int)
        else np.asarray(positions, dtype=np.int64)
    )


def ascending(positions: Positions) -> range:
    """Return the same positions in the order of the file.

    >>> ascending(range(8, 2, -2))
    range(4, 10, 2)
    """
    if isinstance(positions, int):
        return range(positions, positions + 1)
    return positions if positions.step > 0 else positions[::-1]


def to_hyperslab(axes: tuple[Positions, ...]) -> Hyperslab:
    """Return start, count and stride of what is selected, as files are read.

    >>> to_hyperslab((range(8, 2, -2), 5))
    ((4, 5), (3, 1), (2, 1))
    """
    regular = [ascending(positions) for positions in axes]
    return (
        tuple(axis.start if len(axis) else 0 for axis in regular),
        tuple(len(axis) for axis in regular),
        tuple(axis.step if len(axis) > 1 else 1 for axis in regular),
    )


def axis_of(positions: Positions, dim: str) -> range:
    """Return the positions of an axis that was not selected away."""
    if isinstance(positions, int):
        raise InvalidArgument(
            f"'{dim}' is selected already: got a second selection; "
            f"allowed: one number, here position {positions}"
        )
    return positions


def _plain(indexer: slice, dim: str) -> slice:
    try:
        return slice(
            *(
                None if at is None else operator.index(at)
                for at in (indexer.start, indexer.stop, indexer.step)
            )
        )
    except TypeError:
        raise InvalidArgument(
            f"cannot select along '{dim}': got {shown(indexer)}; allowed: a slice of int. "
            "Labels go to sel()."
        ) from None


def _shown(positions: list[int]) -> str:
    return str(positions) if len(positions) < 8 else f"{str(positions[:6])[:-1]}, …]"
