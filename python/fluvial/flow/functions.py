# SPDX-License-Identifier: Apache-2.0
"""Functions as they are named and sent."""

from __future__ import annotations

import functools
import pickle
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TypeGuard

from .. import _core
from ..base.messages import shown
from .parallel import PARALLEL


def name_of(function: Callable[..., object]) -> str:
    """Return what messages call it, and tasks of the same kind have in common."""
    while isinstance(function, functools.partial):
        function = function.func
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


def is_function(thing: object) -> TypeGuard[FunctionType | BuiltinFunctionType | type]:
    """Tell whether it is a function or a class; other callables are objects that may change."""
    if type(thing) is BuiltinFunctionType:  # or a method of an object
        return thing.__self__ is None or isinstance(thing.__self__, ModuleType)
    return type(thing) in (FunctionType, type)


def _is_always_the_same(function: object) -> bool:
    """Tell whether what is sent of a function is the same whenever it is sent."""
    if not is_function(function):
        return False
    if function.__module__ != "__main__" and "<" not in function.__qualname__:
        return True  # it is sent by its name
    if not isinstance(function, FunctionType) or not function.__dict__.keys() <= {PARALLEL}:
        return False
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        return False
    known = function.__globals__
    names = (name for name in _names_in(function.__code__) if name in known)
    return all(isinstance(known[name], ModuleType) for name in names)


@functools.lru_cache(1024)
def _names_in(code: CodeType) -> frozenset[str]:
    inner = (_names_in(one) for one in code.co_consts if isinstance(one, CodeType))
    return frozenset(code.co_names).union(*inner)


class ShippedFunctions:
    """Functions as a pool sends them: written once where they cannot change, else at each call."""

    def __init__(self) -> None:
        self._bytes: weakref.WeakKeyDictionary[Callable[..., object], bytes]
        self._bytes = weakref.WeakKeyDictionary()

    def bytes_of(self, function: Callable[..., object]) -> bytes:
        """Return the function by name, or by value where it has none that others know."""
        if not _is_always_the_same(function):
            return function_bytes(function)
        known = self._bytes.get(function)
        if known is None:
            known = self._bytes[function] = function_bytes(function)
        return known
