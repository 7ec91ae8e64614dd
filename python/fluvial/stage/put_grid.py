# SPDX-License-Identifier: Apache-2.0
"""The grid of a labelled array that is put: openPMD's attributes of a mesh, from its coordinates.

What was selected, transposed or reduced still has the attributes of the whole mesh.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..describe.regular_grid import positions_along

if TYPE_CHECKING:
    import xarray as xr

_GRID = ("gridSpacing", "gridGlobalOffset", "position")


def with_own_grid(
    attrs: Mapping[str, object],
    dims: Sequence[str],
    shape: tuple[int, ...],
    coords: Mapping[Hashable, xr.DataArray],
) -> dict[str, object]:
    """Return attributes with the grid that the coordinates of an array are; none, where not.

    Parameters
    ----------
    attrs
        Those of the array.
    dims, shape
        Its axes.
    coords
        Coordinates by name, as xarray's.
    """
    own = dict(attrs)
    if "gridSpacing" not in own:
        return own
    labels = [_numbers(coords, dim) for dim in dims]
    stated = [positions_along(axis, len(dims), n, own) for axis, n in enumerate(shape)]
    if own.get("axisLabels", list(dims)) in (list(dims), list(dims)[::-1]) and all(
        a is not None and b is not None and np.array_equal(a, b)
        for a, b in zip(stated, labels, strict=True)
    ):
        return own  # the whole mesh
    spacing = [_spacing(label, dim, own) for dim, label in zip(dims, labels, strict=True)]
    found: dict[str, object] = {k: v for k, v in own.items() if k not in _GRID}
    if dims and all(step is not None for step in spacing):
        steps = [step for step in spacing if step is not None]
        shifts = [_shift(own, dim, step) for dim, step in zip(dims, steps, strict=True)]
        begins = [float(label[0]) for label in labels if label is not None]
        found |= {
            "gridSpacing": steps,
            "gridGlobalOffset": [at - shift for at, shift in zip(begins, shifts, strict=True)],
            "position": [shift / step for shift, step in zip(shifts, steps, strict=True)],
        }
        if "dataOrder" in found:
            found["dataOrder"] = "C"  # in which they are stated here
    return found


def _numbers(coords: Mapping[Hashable, xr.DataArray], dim: str) -> np.ndarray | None:
    """Return the coordinates along a dimension; None where there are none, or no numbers."""
    found = np.asarray(coords[dim].values) if dim in coords else None
    return found if found is not None and found.ndim == 1 and found.dtype.kind in "iuf" else None


def _shift(attrs: Mapping[str, object], dim: str, step: float) -> float:
    """Return how far behind the begin of their cells elements lie, which components share.

    0 where they run backwards: an element lies within the cell that begins with it.
    """
    said = [attrs.get(name) for name in ("axisLabels", "gridSpacing", "position")]
    names, spacing, position = (one if isinstance(one, list) else [] for one in said)
    if not len(names) == len(spacing) == len(position) or dim not in names:
        return 0.0
    shift = float(position[names.index(dim)] * spacing[names.index(dim)])
    return shift if 0 <= shift / step < 1 else 0.0


def _spacing(labels: np.ndarray | None, dim: str, attrs: Mapping[str, object]) -> float | None:
    """Return the distance of coordinates, which is the same everywhere; None where it is not."""
    if labels is None or not labels.size:
        return None
    if labels.size == 1:
        names, stated = attrs.get("axisLabels"), attrs.get("gridSpacing")
        if isinstance(names, list) and isinstance(stated, list) and len(names) == len(stated):
            known = dict(zip(names, stated, strict=True))
            return float(known.get(dim, 1.0)) if attrs.get("dataOrder") != "F" else 1.0
        return 1.0
    step = float(labels[-1] - labels[0]) / (labels.size - 1)
    regular = np.allclose(np.diff(labels), step, rtol=1e-9, atol=0)
    return step if regular and step else None
