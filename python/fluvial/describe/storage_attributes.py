# SPDX-License-Identifier: Apache-2.0
"""Attributes that say how elements are stored in a file, not what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Value = TypeVar("Value")

DECODING = (
    *("_FillValue", "missing_value", "valid_min", "valid_max", "valid_range"),
    *("scale_factor", "add_offset", "_Unsigned"),
)
"""What turns stored elements into values, or says which of them are none."""

DECODED_BY_XARRAY = ("_FillValue", "missing_value", "scale_factor", "add_offset", "_Unsigned")
"""Those that xarray decodes by; where an array of its has one it was not decoded."""

OF_DIMENSIONS = (
    *("DIMENSION_LIST", "CLASS", "NAME", "REFERENCE_LIST"),
    *("_Netcdf4Dimid", "_Netcdf4Coordinates"),
)
"""What says in netCDF-4 which dimensions a dataset has."""

_OF_FORMAT = (*OF_DIMENSIONS, "_ChunkSizes", "_NCProperties")
_OF_STORAGE = (*DECODING, *_OF_FORMAT, "actual_range", "coordinates")


def says_decoding(attrs: Mapping[str, object]) -> bool:
    """Tell whether attributes declare missing or packed values.

    >>> says_decoding({"_FillValue": -1}), says_decoding({"units": "K"})
    (True, False)
    """
    return any(name in attrs for name in DECODING)


def carried_attributes(attrs: Mapping[str, Value]) -> dict[str, Value]:
    """Return the attributes that go along with elements as they are stored."""
    return {name: value for name, value in attrs.items() if name not in _OF_FORMAT}


def plain_attributes(attrs: Mapping[str, Value]) -> dict[str, Value]:
    """Return the attributes without those that say how elements are stored."""
    return {name: value for name, value in attrs.items() if name not in _OF_STORAGE}
