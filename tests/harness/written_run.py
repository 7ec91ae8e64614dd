# SPDX-License-Identifier: Apache-2.0
"""A series to test with: a mesh record with coordinates, integers and a number in each step."""

from __future__ import annotations

import os

import numpy as np

import fluvial as fl

MESH = {"axisLabels": ["y", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [1.0, 0.0]}


def write_run(
    name: str | os.PathLike[str],
    steps: int = 5,
    first: int = 0,
    prefix: str = "",
    **options: object,
) -> None:
    """Write one: numbers of steps begin with `first`, and `prefix` is before all names."""
    with fl.open(str(name), "w", **options) as series:
        series.attrs["author"] = "somebody"
        for index in range(first, first + steps):
            with series.step(time=index / 4, dt=0.25, attrs={"timeUnitSI": 1e-3}) as step:
                values = np.arange(24.0).reshape(4, 6) + 100 * index
                step.put(f"meshes/{prefix}E/x", values, attrs={"unitSI": 2.0, **MESH})
                step.put(f"meshes/{prefix}n", values.astype("i4"))
                step.put(f"{prefix}energy", np.float64(index))
