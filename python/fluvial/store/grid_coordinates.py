# SPDX-License-Identifier: Apache-2.0
"""Coordinates of a regular grid, as openPMD's attributes of a mesh say."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from ..describe.regular_grid import numbers_of, positions_along


def along(
    axis: int, dims: tuple[str, ...], shape: tuple[int, ...], *attributes: Mapping[str, object]
) -> xr.Variable | None:
    """Return the coordinates along an axis; None where no attributes have a spacing of each axis.

    They are those of `positions_along`, in the unit of the grid, whose length in metres
    (gridUnitSI) is the coordinate's attribute ``unitSI``.

    >>> along(0, ("x",), (3,), {"gridSpacing": 0.5, "gridGlobalOffset": [1.0]}).values
    array([1. , 1.5, 2. ])
    """
    found = positions_along(axis, len(shape), shape[axis], *attributes)
    if found is None:
        return None
    unit = numbers_of("gridUnitSI", 1, attributes)
    return xr.Variable((dims[axis],), found, {} if unit is None else {"unitSI": float(unit[0])})
