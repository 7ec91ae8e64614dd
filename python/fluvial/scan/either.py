# SPDX-License-Identifier: Apache-2.0
"""Conditions on the values of one dataset, of which one must hold, or none may."""

from __future__ import annotations

import dataclasses

import numpy as np

from .array_mask import ArrayMask
from .predicates import Comparison, Function, Predicate


@dataclasses.dataclass(frozen=True)
class Either:
    """A function that tells where all conditions of one case hold, of several cases."""

    cases: tuple[tuple[Predicate, ...], ...]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return where they hold."""
        return np.any([_all_hold(case, values) for case in self.cases], axis=0)

    @property
    def __name__(self) -> str:
        return f"({' or '.join(' and '.join(map(text_of, case)) for case in self.cases)})"

    @property
    def version(self) -> str:
        """Two of one name are the same."""
        return "1"


class Neither(Either):
    """A function that tells where the conditions of no case hold; what is missing never counts."""

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return where they hold."""
        return ~super().__call__(values) & (values == values)

    @property
    def __name__(self) -> str:
        return f"not {super().__name__}"


def cases_of(predicates: tuple[Predicate, ...]) -> tuple[tuple[Predicate, ...], ...]:
    """Return the cases of what | has joined; else that all hold is one case."""
    joined = predicates[0].function if isinstance(predicates[0], Function) else None
    if len(predicates) == 1 and type(joined) is Either:
        return joined.cases
    return (predicates,)


def _all_hold(predicates: tuple[Predicate, ...], values: np.ndarray) -> np.ndarray:
    return np.all([_holds(predicate, values) for predicate in predicates], axis=0)


def _holds(predicate: Predicate, values: np.ndarray) -> np.ndarray:
    if isinstance(predicate, Comparison):
        return predicate.holds(values)
    if isinstance(predicate, ArrayMask):
        raise AssertionError("bug in Fluvial: an array among comparisons that are joined by |")
    return np.asarray(predicate.function(values))


def text_of(predicate: Predicate) -> str:
    """Return a condition as messages show it."""
    if isinstance(predicate, Comparison):
        return f"{predicate.dataset} {predicate.sign} {predicate.bound!r}"
    if isinstance(predicate, ArrayMask):
        return "an array of bool"
    return getattr(predicate.function, "__name__", "a function")
