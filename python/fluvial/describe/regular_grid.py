# SPDX-License-Identifier: Apache-2.0
"""Positions on a regular grid, as openPMD's attributes of a mesh say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np


def positions_along(
    axis: int, ndim: int, length: int, *attributes: Mapping[str, object]
) -> np.ndarray | None:
    """Return the positions along an axis; None where no attributes have a spacing of each axis.

    They are gridGlobalOffset + (index + position) * gridSpacing, in the unit of the grid.
    `attributes` are those of the dataset and of what it is in; the first that has one counts. Where
    they say the data is in Fortran's order, they count axes from the last.

    >>> positions_along(0, 1, 3, {"gridSpacing": 0.5, "gridGlobalOffset": [1.0]})
    array([1. , 1.5, 2. ])
    """
    spacing = numbers_of("gridSpacing", ndim, attributes)
    if spacing is None:
        return None
    offset = numbers_of("gridGlobalOffset", ndim, attributes)
    position = numbers_of("position", ndim, attributes)
    stated = ndim - 1 - axis if any(s.get("dataOrder") == "F" for s in attributes) else axis
    begin = 0.0 if offset is None else offset[stated]
    within = 0.0 if position is None else position[stated]
    return np.asarray(begin + (np.arange(length) + within) * spacing[stated])


def numbers_of(
    name: str, count: int, attributes: tuple[Mapping[str, object], ...]
) -> np.ndarray | None:
    """Return as many finite numbers as the first of some attributes has that has them."""
    for said in attributes:
        value = np.asarray(said.get(name, ()))
        value = value.reshape(1) if value.ndim == 0 else value
        if value.shape == (count,) and value.dtype.kind in "iuf" and np.isfinite(value).all():
            return value.astype(np.float64)
    return None
