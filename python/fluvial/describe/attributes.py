# SPDX-License-Identifier: Apache-2.0
"""Attributes as the core takes them: plain Python values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from .. import _core
from ..base.arguments import to_mapping, to_text, unknown_name, wrong_type
from ..base.messages import shown

AttributeValue = bool | int | float | str | list[int] | list[float] | list[str]
"""What the core takes and gives."""


class Attributes(dict[str, Any]):
    """Attributes by name; a missing one is a KeyError that names those that are there.

    >>> Attributes(units="K")["unit"]
    Traceback (most recent call last):
    fluvial.UnknownName: no such attribute: got 'unit'; allowed: 'units'. Did you mean 'units'?
    """

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __missing__(self, name: object) -> NoReturn:
        raise unknown_name("no such attribute", name, self)


def plain(attrs: Mapping[str, object] | None) -> dict[str, AttributeValue]:
    """NumPy scalars, arrays and tuples as bool, int, float, str or lists of int, float, str.

    >>> plain({"unitDimension": np.zeros(2), "unitSI": np.float32(1), "axes": ("x", "y")})
    {'unitDimension': [0.0, 0.0], 'unitSI': 1.0, 'axes': ['x', 'y']}
    >>> plain({"_FillValue": -9 + 1j})
    {'_FillValue': [-9.0, 1.0]}
    >>> plain({"units": np.array("K"), "limit": np.array(1.5)})
    {'units': 'K', 'limit': 1.5}
    """
    if attrs is None:
        return {}
    return Attributes(
        (_name(name), _plain_value(name, value))
        for name, value in to_mapping(attrs, "attrs", "a dict of names to values").items()
    )


def array_of(value: object) -> np.ndarray:
    """Return an attribute as an array, integers that int64 does not hold as uint64.

    NumPy makes floats of small and large ones together.

    >>> array_of([1, 2**63]).dtype
    dtype('uint64')
    """
    if isinstance(value, list | tuple) and any(
        type(item) is int and item >= 2**63 for item in value
    ):
        return np.array(value, np.uint64)
    return np.asarray(value)


def _name(name: object) -> str:
    if not isinstance(name, str):
        raise wrong_type("the name of an attribute", name, "a str")
    return to_text(name, "the name of an attribute")


def _plain_value(name: str, value: object) -> AttributeValue:
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, complex) and name == "_FillValue":
        return [value.real, value.imag]
    if isinstance(value, np.ndarray | tuple | list):
        return _plain_list(name, value)
    if isinstance(value, str):
        return to_text(value, f"attribute {shown(name)}")
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int) and -(2**63) <= value < 2**64:
        return value
    raise _core.WrongType(
        f"attribute {shown(name)} has an unsupported value: got {shown(value)}; "
        "allowed: bool, 64-bit int, float, str and lists of int, float or str"
    )


def _plain_list(
    name: str, value: np.ndarray | tuple[object, ...] | list[object]
) -> list[int] | list[float] | list[str]:
    items = [
        _plain_value(name, item)
        for item in (value.ravel() if isinstance(value, np.ndarray) else value)
    ]
    kinds = {type(item) for item in items}
    if kinds <= {int, bool}:
        whole = [int(item) for item in items if isinstance(item, int)]
        if whole and min(whole) < 0 and max(whole) >= 2**63:
            raise _core.WrongType(
                f"attribute {shown(name)} is beyond 64-bit integers: got {shown(value)}; "
                "allowed: integers from -2**63 to 2**63 - 1, or from 0 to 2**64 - 1"
            )
        return whole
    if kinds <= {int, float, bool}:
        return [float(item) for item in items if isinstance(item, int | float)]
    if kinds == {str}:
        return [item for item in items if isinstance(item, str)]
    raise _core.WrongType(
        f"attribute {shown(name)} mixes types: got {shown(value)}; "
        "allowed: lists of int, float or str"
    )
