# SPDX-License-Identifier: Apache-2.0
"""Attributes as the core takes them: plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _core

Attributes = dict[str, Any]


def plain(attrs: Mapping[str, Any] | None) -> Attributes:
    """NumPy scalars, arrays and tuples as bool, int, float, str or lists of int, float, str.

    >>> plain({"unitDimension": np.zeros(2), "unitSI": np.float32(1), "axes": ("x", "y")})
    {'unitDimension': [0.0, 0.0], 'unitSI': 1.0, 'axes': ['x', 'y']}
    """
    return {} if not attrs else {name: _plain_value(name, value) for name, value in attrs.items()}


def _plain_value(name: str, value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray | tuple | list):
        return _plain_list(name, value)
    if isinstance(value, bool | float | str):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return value
    raise _core.InvalidArgument(
        f"attribute '{name}' has an unsupported value: got {value!r}; "
        "allowed: bool, 64-bit int, float, str and lists of int, float or str"
    )


def _plain_list(name: str, value: Any) -> list[Any]:
    items = [
        _plain_value(name, item)
        for item in (value.ravel() if isinstance(value, np.ndarray) else value)
    ]
    kinds = {type(item) for item in items}
    if kinds <= {int, bool}:
        return [int(item) for item in items]
    if kinds <= {int, float, bool}:
        return [float(item) for item in items]
    if kinds == {str}:
        return items
    raise _core.InvalidArgument(
        f"attribute '{name}' mixes types: got {value!r}; allowed: lists of int, float or str"
    )
