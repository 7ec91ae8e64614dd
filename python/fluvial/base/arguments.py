# SPDX-License-Identifier: Apache-2.0
"""What the caller passed, as the type that a call needs; or an error that names the argument."""

from __future__ import annotations

import numbers
import operator
import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import SupportsIndex, TypeVar, cast

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument, OutOfBounds, UnknownName, WrongType
from .messages import did_you_mean, listed, shown, shown_text

Choice = TypeVar("Choice")
Key = TypeVar("Key")
Value = TypeVar("Value")

ndim_max = 16
"""Dimensions that an array has at most."""


def wrong_type(what: str, value: object, allowed: str, remedy: str = "") -> WrongType:
    """Return the error for a value of a type that cannot be used."""
    behind = f". {remedy}" if remedy else ""
    return WrongType(
        f"{what} has a type that cannot be used: got {shown(value)}; allowed: {allowed}{behind}"
    )


def to_text(value: object, what: str) -> str:
    """Return a str that UTF-8 can hold."""
    if not isinstance(value, str):
        raise wrong_type(what, value, "a str")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidArgument(
            f"{what} is no text: got {shown(value)}; allowed: what UTF-8 can hold"
        ) from None
    return value


def said_by(error: Exception) -> str:
    """Return what another library says of a value: one line, not long.

    >>> said_by(OSError(28, "No space left on device")), said_by(KeyError("no such label"))
    ('No space left on device', 'no such label')
    """
    if isinstance(error, OSError) and error.strerror:  # its first argument is a number
        return shown_text(error.strerror)
    return shown_text(str(error.args[0] if error.args else error))


def to_index(value: object, what: str, allowed: str = "an int") -> int:
    """Return an int from what acts as one, but not a bool, which NumPy takes for a mask.

    >>> to_index(np.int8(3), "k")
    3
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(cast(SupportsIndex, value))
    except TypeError:
        raise wrong_type(what, value, allowed) from None


def to_int(value: object, what: str, least: int = -(2**63), most: int = 2**63 - 1) -> int:
    """Return an int within bounds, both included."""
    number = to_index(value, what)
    if not least <= number <= most:
        raise InvalidArgument(
            f"{what} is out of range: got {shown(value)}; allowed: {least} to {most}"
        )
    return number


def to_rank(value: object, what: str) -> int:
    """Return the number of a rank that an MPI job may have; `what` says what is wrong."""
    rank = to_index(value, "rank")
    if not 0 <= rank < 2**31:
        raise OutOfBounds(f"{what}: got {shown(value)}; allowed: 0 and above, to the last rank")
    return rank


def to_float(value: object, what: str) -> float:
    """Return a float from any real number that is no bool."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    no_number = isinstance(value, bool | np.timedelta64)  # which is an integer to NumPy
    if isinstance(value, numbers.Real | np.floating | np.integer) and not no_number:
        try:
            return float(value)
        except OverflowError:
            raise InvalidArgument(
                f"{what} is out of range: got {shown(value)}; allowed: a number that float64 holds"
            ) from None
    raise wrong_type(what, value, "a number")


def to_bool(value: object, what: str) -> bool:
    """Return True or False, also of NumPy, and nothing that merely acts as one."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise wrong_type(what, value, "True or False")


def to_seconds(value: object, what: str) -> float:
    """Return a time of 0 or more, infinity included."""
    seconds = to_float(value, what)
    if not seconds >= 0:
        raise InvalidArgument(
            f"{what} is out of range: got {shown(value)}; allowed: 0 s or more, or None"
        )
    return seconds


def to_wait(value: object, what: str) -> float | None:
    """Return how long to wait, as Python's own calls take it; None is without a limit."""
    seconds = None if value is None else to_seconds(value, what)
    return None if seconds is None or seconds > threading.TIMEOUT_MAX else seconds


def to_ints(value: object, what: str) -> tuple[int, ...]:
    """Return a tuple of ints from a sequence of them; one int stands for one.

    >>> to_ints(8, "shape"), to_ints([2, 3], "shape")
    ((8,), (2, 3))
    """
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes | bytearray):
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = [value[()]]
        return tuple(to_index(n, f"an entry of {what}") for n in value)
    return (to_index(value, what, "an int or a sequence of them"),)


def to_dtype(value: npt.DTypeLike | None, what: str = "dtype") -> np.dtype:
    """Return NumPy's dtype."""
    try:
        if value is None or isinstance(value, dict):  # NumPy takes these for something else
            raise TypeError
        return np.dtype(value)
    except (TypeError, ValueError, SyntaxError):
        raise wrong_type(what, value, "what numpy.dtype takes, such as 'float64'") from None


def to_array(value: object, what: str, of_text: str = "") -> np.ndarray:
    """Return an array of numbers, without a copy where it is one; `of_text` helps with text.

    Masked elements are NaN.
    """
    if isinstance(value, np.ma.MaskedArray):
        return without_mask(value)
    try:
        array = np.asarray(value)
    except InvalidArgument:
        raise
    except (TypeError, ValueError) as error:
        raise WrongType(
            f"{what} is no array: got {shown(value)} ({said_by(error)}); "
            "allowed: what numpy.asarray takes"
        ) from None
    if array.dtype.kind not in "OUST" or isinstance(value, np.ndarray):
        return array
    raise wrong_type(
        what,
        value,
        "an array of numbers, or what NumPy makes one of",
        of_text if array.dtype.kind in "UST" else "",
    )


def to_weights(value: object, what: str = "weights") -> np.ndarray:
    """Return weights as float64; complex ones, times and texts are refused."""
    given = to_array(value, what)
    if given.dtype.kind not in "biuf":
        raise wrong_type(what, value, "real numbers")
    return given.astype(np.float64, copy=False)


def as_array(array: np.ndarray, dtype: npt.DTypeLike | None, copy: bool | None) -> np.ndarray:
    """Return what `__array__` is to return of an array that was just read.

    `copy` as in NumPy 2: None: where one is needed; True: always, unless the array is of this
    call alone; False: never, an InvalidArgument (which is a ValueError) where one would be needed.
    """
    own = array.flags.writeable  # gathered for this call; a view of the writer's memory is not
    converted = array if dtype is None else array.astype(to_dtype(dtype), copy=False)
    if copy is False and (own or converted is not array):
        raise InvalidArgument(
            "a copy is needed: got copy=False; allowed: None or True. The elements are in one "
            "piece in memory, in the dtype asked for, only where one chunk of a stream holds them."
        )
    return converted.copy() if copy and converted is array and not own else converted


def without_mask(array: np.ma.MaskedArray) -> np.ndarray:
    """Return the elements, NaN for masked ones.

    Records, of which each field has its mask, stay as they are: none is taken anywhere.
    """
    if array.dtype.names is not None or not np.ma.is_masked(array):
        return array.data
    if array.dtype.kind in "fc":
        return array.filled(np.nan)
    raise WrongType(
        f"masked elements of {array.dtype} have no value: got {np.ma.count_masked(array)} of "
        f"{array.size}; allowed: a masked array of floats, whose masked elements become NaN. Pass "
        "array.astype('float64'), or array.filled(VALUE) and say in an attribute which value it is."
    )


def to_numbers(values: object, what: str) -> list[float]:
    """Return a flat list of floats."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":
            raise TypeError
        return array.astype(np.float64).ravel().tolist()
    except (TypeError, ValueError):
        raise wrong_type(what, values, "numbers") from None


def to_path(value: object, what: str) -> str:
    """Return a path as a str."""
    try:
        path = os.fsdecode(cast(str, value))
    except TypeError:
        raise wrong_type(what, value, "a path: a str or an os.PathLike") from None
    if "\0" in path:
        raise InvalidArgument(f"{what} cannot be used: got {shown(value)}; allowed: no NUL in it")
    return to_text(path, what)


def to_mapping(
    value: Mapping[Key, Value] | None, what: str, allowed: str = "a dict"
) -> Mapping[Key, Value]:
    """Return a mapping; None is an empty one."""
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise wrong_type(what, value, allowed)


def to_names(names: object, known: Iterable[str], remedy: str = "") -> list[str]:
    """Return a list of names of datasets from an iterable of them; None: those that are known."""
    if names is None:
        return list(known)
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise wrong_type("names", names, "a list of names of datasets, or None for all", remedy)
    return [to_text(name, "a name") for name in names]


def to_choice(value: object, what: str, choices: Sequence[Choice]) -> Choice:
    """Return one of the choices."""
    for choice in choices:
        if type(value) is type(choice) and value == choice:
            return choice
    raise InvalidArgument(
        f"unknown {what}: got {shown(value)}; "
        f"allowed: {listed(choices)}{did_you_mean(value, choices)}"
    )


def check_options(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Raise UnknownName for the first option that is not known, with the one that was meant."""
    known = sorted(known)
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise UnknownName(
            f"unknown option {of}: got {shown_text(', '.join(unknown))}; "
            f"allowed: {', '.join(known)}{did_you_mean(unknown[0], known)}"
        )


def unknown_name(what: str, seen: object, known: Iterable[object], remedy: str = "") -> UnknownName:
    """Return the error for a name that is none of those that exist; `what` says what is wrong."""
    known = list(known)
    meant = did_you_mean(seen, known)
    behind = meant or (f". {remedy}" if remedy else "")
    return UnknownName(f"{what}: got {shown(seen)}; allowed: {listed(known)}{behind}")
