# SPDX-License-Identifier: Apache-2.0
"""Functions as they are named and sent."""

from __future__ import annotations

import pickle
import weakref
from collections.abc import Callable

from .. import _core
from ..base.messages import shown


def name_of(function: Callable[..., object]) -> str:
    """Return what messages call it, and tasks of the same kind have in common."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def function_bytes(function: object) -> bytes:
    """Return it by name, or by value where it has none that other ranks can import.

    Raises
    ------
    InvalidArgument
        When that needs cloudpickle, which is not installed.
    """
    try:
        by_name = pickle.dumps(function)
        if b"__main__" not in by_name:
            return by_name
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    try:
        import cloudpickle
    except ImportError:
        raise _core.InvalidArgument(
            f"cannot send a function to other ranks: got {shown(function)}; allowed: one of a "
            "module that they can import, or, with cloudpickle (`pip install cloudpickle`), any"
        ) from None
    by_value: bytes = cloudpickle.dumps(function)
    return by_value


class ShippedFunctions:
    """Functions as a pool sends them, each written once."""

    def __init__(self) -> None:
        self._bytes: weakref.WeakKeyDictionary[Callable[..., object], bytes]
        self._bytes = weakref.WeakKeyDictionary()

    def bytes_of(self, function: Callable[..., object]) -> bytes:
        """Return the function by name, or by value where it has none that others know."""
        try:
            known = self._bytes.get(function)
        except TypeError:  # cannot be referred to weakly, or has no hash
            return function_bytes(function)
        if known is None:
            known = self._bytes[function] = function_bytes(function)
        return known
