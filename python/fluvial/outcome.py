# SPDX-License-Identifier: Apache-2.0
"""From what a scan has found to what the user gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import labelled, ops, positions
from ._core import InvalidArgument
from .scan_work import COUNT_OF, Work


def label(work: Work, groups: list[dict[str, dict[str, np.ndarray]]]) -> Any:
    """Return results in xarray's words: a DataArray of one operator, a Dataset of several."""
    found = {}
    several = isinstance(work.specs, Mapping) or len(work.operators) > 1
    for key, op in work.operators.items():
        arrays = _stack(work, [_propagated(work, group, key, i) for i, group in enumerate(groups)])
        arrays = {
            name: array if name.startswith("edges") else _flipped(work, array)
            for name, array in arrays.items()
        }
        found[key] = labelled.to_labelled(op, arrays, work.frame)
    if several:
        return labelled.to_dataset(found, work.frame, work.attrs)
    return labelled.to_dataarray(next(iter(found.values())), work.frame.name)


def _stack(work: Work, groups: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Put the arrays of all groups into one, with an axis of the groups where the dims have it."""
    labels = work.view.groups
    if labels is None:
        return groups[0]
    axis = work.frame.dims.index(str(labels.labels.dims[0]))
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
    work: Work, results: dict[str, dict[str, np.ndarray]], key: str, group: int
) -> dict[str, np.ndarray]:
    """Where too few elements counted, there is no result: xarray's skipna=False and min_count."""
    arrays = results[key]
    counting = isinstance(labelled.innermost(work.operators[key]), ops.Count)
    if work.required is None or "value" not in arrays or (counting and work.required > 0):
        return arrays
    view = work.view
    lengths: list[int] = [
        int(np.count_nonzero(view.groups.group == group))
        if view.groups is not None and view.dims[axis] == view.groups.dim
        else positions.length(view.axes[axis])
        for axis in work.request["over"]
    ]
    counts = [results[f"{COUNT_OF}{number}"]["value"] for number in work.inputs[key]]
    least = np.prod(lengths, dtype=np.int64) if work.required < 0 else work.required
    missing = np.any([count < least for count in counts], axis=0)
    value = arrays["value"]
    if isinstance(labelled.innermost(work.operators[key]), ops.Quantile):
        missing = missing[..., np.newaxis]
        return {**arrays, "value": np.where(missing, np.nan, value)}
    if value.shape != missing.shape:
        return arrays
    out = {**arrays, "value": np.where(missing, np.nan, value)}
    if "coordinates" in arrays:
        out["coordinates"] = np.where(missing[..., np.newaxis], -1, arrays["coordinates"])
    return out


def _flipped(work: Work, array: np.ndarray) -> np.ndarray:
    """Turn axes around that were selected with a negative step: files are read upwards."""
    if array.ndim < len(work.frame.dims):
        return array
    back = slice(None, None, -1)
    turned = tuple(
        back if dim in work.view.kept and _is_downward(work.view.at(dim)) else slice(None)
        for dim in work.frame.dims
    )
    return array[turned]


def _is_downward(at: positions.Positions) -> bool:
    return not isinstance(at, int) and at.step < 0
