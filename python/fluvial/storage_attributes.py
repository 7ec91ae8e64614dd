# SPDX-License-Identifier: Apache-2.0
"""Attributes that say how elements are stored in a file, not what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_OF_STORAGE = (
    *("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned", "_ChunkSizes"),
    *("valid_min", "valid_max", "valid_range", "actual_range", "coordinates", "DIMENSION_LIST"),
    *("_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "CLASS", "NAME", "REFERENCE_LIST"),
)


def plain_attributes(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes without those that say how elements are stored."""
    return {name: value for name, value in attrs.items() if name not in _OF_STORAGE}
