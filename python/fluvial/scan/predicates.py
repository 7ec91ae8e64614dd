# SPDX-License-Identifier: Apache-2.0
"""Which elements count: comparisons written as text, and functions of NumPy arrays."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xarray as xr

from .._core import InvalidArgument
from ..base.messages import shown
from ..compute.apply import parameters_of
from ..compute.arithmetic import SIGNS
from .array_mask import ArrayMask

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


class Comparison(NamedTuple):
    """A dataset against a number."""

    dataset: str
    sign: str
    bound: float

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Return where it is true; NaN compares false.

        As operators compare: 0.1 is not rounded to a `float32` first.
        """
        return self.as_numpy(values) & (values == values)

    def as_numpy(self, values: np.ndarray) -> np.ndarray:
        """Return the same, but that NaN is unequal to any number."""
        self.check_exact(values.dtype)
        if values.dtype.kind == "f":
            values = values.astype(np.float64, copy=False)
        return np.asarray(SIGNS[self.sign](values, self.bound))

    def check_exact(self, dtype: np.dtype) -> None:
        """Refuse what float64 cannot tell apart: bounds from 2^53 on against 64-bit integers."""
        if dtype.kind in "iu" and dtype.itemsize == 8 and 2.0**53 <= abs(self.bound) <= 2.0**64:
            raise InvalidArgument(
                f"'{self.dataset}' of {dtype} cannot be compared exactly: got {self.bound!r}; "
                "allowed: bounds below 2**53. Read it, and compare the array"
            )


class Function(NamedTuple):
    """A function of as many arrays as it has parameters, the first inputs of the reduction."""

    function: Callable[..., npt.ArrayLike]
    inputs: int


class OfLargeIntegers:
    """A function of arrays of which some are 64-bit integers, which a scan gives as float64."""

    def __init__(self, function: Callable[..., npt.ArrayLike], inputs: Sequence[int]) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._inputs = inputs

    def __call__(self, *arrays: np.ndarray) -> npt.ArrayLike:
        """Refuse numbers that float64 cannot tell apart; else call the function."""
        for number in self._inputs:
            values = arrays[number]
            if (large := values[np.abs(values) >= 2.0**53]).size:
                raise InvalidArgument(
                    f"a condition on 64-bit integers cannot be exact: got {large[0]:.0f}; allowed: "
                    "below 2**53 where it is a function. Read the dataset, and select in the array"
                )
        return self._function(*arrays)


Predicate = Comparison | Function | ArrayMask
Condition = str | Callable[..., npt.ArrayLike] | np.ndarray | np.bool_ | xr.DataArray
"""As the user gives it."""


def holds(predicate: Predicate, values: np.ndarray) -> np.ndarray:
    """Return where a comparison of one dataset, or a function of it, is true of its values."""
    if isinstance(predicate, Comparison):
        return predicate.holds(values)
    if isinstance(predicate, ArrayMask):
        raise AssertionError("bug in Fluvial: an array among comparisons that are joined by |")
    return np.asarray(predicate.function(values), dtype=bool)


def text_of(predicate: Predicate) -> str:
    """Return a predicate as messages show it."""
    if isinstance(predicate, Comparison):
        return f"{predicate.dataset} {predicate.sign} {predicate.bound!r}"
    if isinstance(predicate, ArrayMask):
        return "an array of bool"
    return getattr(predicate.function, "__name__", "a function")


def parse(condition: str | Callable[..., npt.ArrayLike]) -> list[Predicate]:
    """Return the predicates of a condition, all of which must hold.

    >>> parse("0 <= t < 100 and data/0/E/x != 7")
    ... # doctest: +NORMALIZE_WHITESPACE
    [Comparison(dataset='t', sign='>=', bound=0.0), Comparison(dataset='t', sign='<', bound=100.0),
     Comparison(dataset='data/0/E/x', sign='!=', bound=7.0)]

    Raises InvalidArgument for text that is no comparison, and for anything else but a function.
    """
    if callable(condition):
        return [Function(condition, parameters_of(condition))]
    if not isinstance(condition, str):
        raise InvalidArgument(
            f"not a condition: got {shown(condition)}; allowed: a comparison such as "
            "'temperature > 273.15', a function of NumPy arrays, or an array of bool, of NumPy or "
            "xarray. Make one of a list: numpy.array(…)."
        )
    return [
        predicate
        for clause in re.split(r"\band\b|&&?", condition)
        for predicate in _clause(clause, condition)
    ]


def _clause(clause: str, condition: str) -> list[Predicate]:
    words = [word.strip().strip("()").strip() for word in re.split(r"(<=|>=|==|!=|<|>)", clause)]
    found: list[Predicate] = []
    for left, sign, right in zip(words[:-2:2], words[1:-1:2], words[2::2], strict=True):
        if (bound := _number(right)) is not None and left and _number(left) is None:
            found.append(Comparison(left, sign, bound))
        elif (bound := _number(left)) is not None and right and _number(right) is None:
            found.append(Comparison(right, _MIRRORED[sign], bound))
        else:
            found = []
            break
    if not found:
        raise InvalidArgument(
            f"cannot read the condition: got {shown(condition)}; allowed: NAME > NUMBER with one "
            f"of {', '.join(SIGNS)}, several joined by 'and', or NUMBER < NAME < NUMBER. "
            "For anything else give a function of NumPy arrays."
        )
    return found


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None
