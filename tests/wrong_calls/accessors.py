# SPDX-License-Identifier: Apache-2.0
"""Calls of what xarray's objects have as `.fluvial`, with right arguments."""

from __future__ import annotations

from typing import Any

import xarray as xr
from wrong_calls.table import Call, reductions_of, ways_to_name_axes


def accessors(opened: xr.Dataset) -> list[Call]:
    """Return those of a dataset that xarray has opened, and of its variable t."""
    return [
        *of_one("DataArray.fluvial", opened["t"].fluvial),
        *of_one("Dataset.fluvial", opened.fluvial),
        Call("DataArray.fluvial.where", opened["t"].fluvial.where, {"condition": "t > 0"}),
    ]


def of_one(name: str, accessor: Any) -> list[Call]:
    """Return the calls that both accessors have."""
    right = {"op": "mean", "dim": "lat", "skipna": True, "keep_attrs": True}
    return [
        Call(f"{name}.reduce", accessor.reduce, right),
        *ways_to_name_axes(f"{name}.reduce", accessor.reduce, {}),
        Call(f"{name}.reduce", accessor.reduce, {"op": "mean", "over": ["lat", "lon"]}),
        Call(f"{name}.groupby", accessor.groupby, {"key": "time.month"}),
        Call(f"{name}.resample", lambda time: accessor.resample(time=time), {"time": "MS"}),
        Call(f"{name}.weighted", accessor.weighted, {"weights": "cos(lat)"}),
        *reductions_of(name, accessor, "lat"),
    ]
