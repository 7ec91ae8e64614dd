# SPDX-License-Identifier: Apache-2.0
"""From what a scan has found to what the user gets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._core import InvalidArgument
from ..compute.registry import Reduced
from ..compute.required_counts import is_count, name_of_count, without_too_few
from . import labelled, positions
from .request import Request


def label(request: Request, groups: list[dict[str, dict[str, np.ndarray]]]) -> Reduced:
    """Return results in xarray's words: a DataArray of one operator, a Dataset of several."""
    found = {}
    several = isinstance(request.specs, Mapping) or len(request.operators) > 1
    for key, op in request.operators.items():
        arrays = _stack(
            request, [_propagated(request, group, key, i) for i, group in enumerate(groups)]
        )
        arrays = {
            name: array if name.startswith("edges") else _flipped(request, array)
            for name, array in arrays.items()
        }
        found[key] = labelled.to_labelled(op, arrays, request.frame)
    if several:
        return labelled.to_dataset(found, request.frame, request.attrs)
    return labelled.to_dataarray(next(iter(found.values())), request.frame.name)


def _stack(request: Request, groups: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Put the arrays of all groups into one, with an axis of the groups where the dims have it."""
    labels = request.view.groups
    if labels is None:
        return groups[0]
    axis = request.frame.dims.index(str(labels.labels.dims[0]))
    groups = groups[: labels.labels.size]
    if not groups:
        raise InvalidArgument(
            f"no group has a member: got an empty selection along '{labels.dim}'; "
            "allowed: at least one label. Select more."
        )
    return {
        name: groups[0][name]
        if name.startswith("edges")
        else np.stack([group[name] for group in groups], axis=axis)
        for name in groups[0]
    }


def _propagated(
    request: Request, results: dict[str, dict[str, np.ndarray]], key: str, group: int
) -> dict[str, np.ndarray]:
    """Where too few elements counted, there is no result: a mask without skipna, and min_count."""
    operator = request.operators[key]
    if request.required is None or is_count(operator):
        return results[key]
    view = request.view
    lengths: list[int] = [
        int(np.count_nonzero(view.groups.group == group))
        if view.groups is not None and view.dims[axis] == view.groups.dim
        else positions.length(view.axes[axis])
        for axis in request.core["over"]
    ]
    required = request.required if request.required >= 0 else int(np.prod(lengths, dtype=np.int64))
    counts = [
        results[name_of_count(number, request.required)]["value"] for number in request.inputs[key]
    ]
    return dict(without_too_few(operator, results[key], counts, required))


def _flipped(request: Request, array: np.ndarray) -> np.ndarray:
    """Turn axes around that were selected with a negative step: files are read upwards."""
    if array.ndim < len(request.frame.dims):
        return array
    back = slice(None, None, -1)
    turned = tuple(
        back if dim in request.view.kept and _is_downward(request.view.at(dim)) else slice(None)
        for dim in request.frame.dims
    )
    return array[turned]


def _is_downward(at: positions.Positions) -> bool:
    return not isinstance(at, int) and at.step < 0
