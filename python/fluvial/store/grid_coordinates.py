# SPDX-License-Identifier: Apache-2.0
"""Coordinates of a regular grid, as openPMD's attributes of a mesh say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr


def along(
    axis: int, dims: tuple[str, ...], shape: tuple[int, ...], *attributes: Mapping[str, object]
) -> xr.Variable | None:
    """Return the coordinates along an axis; None where no attributes have a spacing of each axis.

    They are gridGlobalOffset + (index + position) * gridSpacing, in the unit of the grid, whose
    length in metres (gridUnitSI) is the coordinate's attribute ``unitSI``. `attributes` are those
    of the dataset and of what it is in; the first that has one counts. Where they say the data is
    in Fortran's order, they count axes from the last.

    >>> along(0, ("x",), (3,), {"gridSpacing": 0.5, "gridGlobalOffset": [1.0]}).values
    array([1. , 1.5, 2. ])
    """
    ndim = len(shape)
    spacing = _numbers("gridSpacing", ndim, attributes)
    if spacing is None:
        return None
    offset = _numbers("gridGlobalOffset", ndim, attributes)
    position = _numbers("position", ndim, attributes)
    stated = ndim - 1 - axis if any(s.get("dataOrder") == "F" for s in attributes) else axis
    begin = 0.0 if offset is None else offset[stated]
    within = 0.0 if position is None else position[stated]
    unit = _numbers("gridUnitSI", 1, attributes)
    return xr.Variable(
        (dims[axis],),
        begin + (np.arange(shape[axis]) + within) * spacing[stated],
        {} if unit is None else {"unitSI": float(unit[0])},
    )


def _numbers(name: str, count: int, attributes: tuple[Mapping[str, Any], ...]) -> np.ndarray | None:
    for said in attributes:
        value = np.atleast_1d(said.get(name, ()))
        if value.shape == (count,) and value.dtype.kind in "iuf" and np.isfinite(value).all():
            return value.astype(np.float64)
    return None
