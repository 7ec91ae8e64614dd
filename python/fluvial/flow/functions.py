# SPDX-License-Identifier: Apache-2.0
"""Functions as they are named and sent."""

from __future__ import annotations

import dis
import functools
import pickle
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import TypeGuard, TypeVar, cast

from .. import _core
from ..base.arguments import wrong_type
from ..base.messages import shown
from .parallel import PARALLEL
from .payload import pickled_by_value

R = TypeVar("R")


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
    return _by_name(function) or _by_value(function)


def _by_name(function: object) -> bytes | None:
    """Return it as pickle writes it: functions by their names, objects of importable classes."""
    try:
        written = pickle.dumps(function)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return None if b"__main__" in written else written


def _by_value(function: object) -> bytes:
    by_value = pickled_by_value(function)
    if by_value is None:
        raise _core.InvalidArgument(
            f"cannot send a function to other ranks: got {shown(function)}; allowed: one of a "
            "module that they can import, or, with cloudpickle (`pip install cloudpickle`), any"
        )
    return by_value


def is_function(thing: object) -> TypeGuard[FunctionType | BuiltinFunctionType | type]:
    """Tell whether it is a function or a class; other callables are objects that may change."""
    if type(thing) is BuiltinFunctionType:  # or a method of an object
        return thing.__self__ is None or isinstance(thing.__self__, ModuleType)
    return type(thing) in (FunctionType, type)


def never_changes(function: object) -> bool:
    """Tell whether a call cannot change what a later call of a function that was sent meets."""
    return is_function(function) and (depends_on_nothing(function) or bool(_by_name(function)))


def depends_on_nothing(function: object) -> bool:
    """Tell whether what is sent of a function by value is the same whenever it is sent."""
    if not isinstance(function, FunctionType) or not function.__dict__.keys() <= {PARALLEL}:
        return False
    if function.__closure__ or function.__defaults__ or function.__kwdefaults__:
        return False
    if _sets_names(function.__code__):
        return False
    known = function.__globals__
    names = (name for name in _names_in(function.__code__) if name in known)
    return all(isinstance(known[name], ModuleType) for name in names)


@functools.lru_cache(1024)
def _names_in(code: CodeType) -> frozenset[str]:
    inner = (_names_in(one) for one in code.co_consts if isinstance(one, CodeType))
    return frozenset(code.co_names).union(*inner)


@functools.lru_cache(1024)
def _sets_names(code: CodeType) -> bool:
    """Tell whether it has names of its module that it sets: the next call would see them."""
    sets = any(one.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for one in dis.Bytecode(code))
    return sets or any(_sets_names(one) for one in code.co_consts if isinstance(one, CodeType))


class AsWritten:
    """A function as it was when this was made: written once, and sent so by each of many calls."""

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self.written = function_bytes(function)
        functools.update_wrapper(self, function)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call it as it is now."""
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[object, ...]:
        return pickle.loads, (self.written,)


def checked_function(function: object) -> Callable[..., object]:
    """Return it; raise WrongType for what is no function of a task."""
    if not callable(function):
        raise wrong_type("a task's function", function, "a callable")
    return function


def for_many_calls(function: Callable[..., R]) -> Callable[..., R]:
    """Return what stands for a function in many calls, all of which are of this moment.

    That is the function itself, where it has a name that others can import, and where it cannot be
    written: each call says so then.

    Raises
    ------
    WrongType
        When it is no function.
    """
    checked_function(function)
    if is_function(function) and _by_name(function) is not None:
        return function
    try:
        return cast("Callable[..., R]", AsWritten(function))
    except Exception:
        return function


class ShippedFunctions:
    """Functions as a pool sends them: written once where they cannot change, else at each call."""

    def __init__(self) -> None:
        self._named: weakref.WeakKeyDictionary[Callable[..., object], bytes]
        self._named = weakref.WeakKeyDictionary()
        self._whole: weakref.WeakKeyDictionary[Callable[..., object], bytes]
        self._whole = weakref.WeakKeyDictionary()

    def bytes_of(self, function: Callable[..., object]) -> bytes:
        """Return the function by name, or by value where it has none that others know."""
        if isinstance(function, AsWritten):
            return function.written
        if not is_function(function):
            return function_bytes(function)
        known = self._named.get(function)
        if known is None and (known := _by_name(function)) is not None:
            self._named[function] = known
        if known is not None:
            return known
        if not depends_on_nothing(function):
            return _by_value(function)
        known = self._whole.get(function)
        if known is None:
            known = self._whole[function] = _by_value(function)
        return known
