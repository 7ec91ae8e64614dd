# SPDX-License-Identifier: Apache-2.0
"""Comparisons of datasets, joined by &, | and ~, and the two functions of values that they are.

=================  =======================================  ====================================
What is missing    as a condition (`TermCondition`)         counted (`TermCount`), as of arrays
=================  =======================================  ====================================
t > 0, t == 0      does not count                           false
t != 0             does not count                           true: NaN is unequal to any number
~(t > 0)           does not count                           true
t.where(u) > 0     where u is false, this is false          what u leaves out is NaN
=================  =======================================  ====================================
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from ..compute.arithmetic import Compared
from .predicates import Comparison, Function, Predicate, holds, text_of

_SIGNS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "&": operator.and_,
    "|": operator.or_,
}


class Term(NamedTuple):
    """A comparison of a dataset with a number, or several that are joined."""

    sign: str
    """"&", "|" or "~" of the terms; "": the comparison."""
    terms: tuple[Term, ...] = ()
    dataset: str = ""
    comparison: Comparison | Compared | None = None
    where: tuple[Predicate, ...] = ()
    """Conditions of the dataset that is compared; a count leaves them to the scan."""

    @classmethod
    def joined(cls, sign: str, terms: Iterable[Term]) -> Term:
        """Return terms joined by & or |; what was joined by the same sign stays one list."""
        flat = (one.terms if one.sign == sign else (one,) for one in terms)
        return cls(sign, tuple(term for some in flat for term in some))

    @property
    def comparisons(self) -> tuple[Term, ...]:
        """The terms that are one comparison each."""
        if self.comparison is not None:
            return (self,)
        return tuple(one for term in self.terms for one in term.comparisons)

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets, each once."""
        return tuple(dict.fromkeys(one.dataset for one in self.comparisons))

    @property
    def predicates(self) -> tuple[Predicate, ...]:
        """The condition: all of them must hold."""
        if isinstance(self.comparison, Comparison):
            return (*self.where, self.comparison)
        if self.comparison is not None:
            return (*self.where, Function(self.comparison, 1))
        if self.sign == "&":
            return tuple(predicate for term in self.terms for predicate in term.predicates)
        return (Function(TermCondition(self), 1),)

    @property
    def own(self) -> frozenset[str]:
        """The dataset for which alone it can be a condition, as functions get its values; or none.

        There are several where functions of several are joined, which is refused.
        """
        if self.sign == "&":
            return frozenset().union(*(term.own for term in self.terms))
        of_functions = any(isinstance(predicate, Function) for predicate in self.predicates)
        return frozenset(self.datasets if of_functions else ())

    def of(self, is_true: Callable[[Term], np.ndarray]) -> np.ndarray:
        """Return where it is true; `is_true` says so of each comparison."""
        if self.comparison is not None:
            return is_true(self)
        found = (term.of(is_true) for term in self.terms)
        return ~next(found) if self.sign == "~" else functools.reduce(_SIGNS[self.sign], found)

    def __str__(self) -> str:
        if self.comparison is not None:
            return " and ".join(map(text_of, self.predicates))
        texts = [str(term) for term in self.terms]
        if self.sign == "~":
            return f"not {texts[0]}" if self.terms[0].sign == "|" else f"not ({texts[0]})"
        return " and ".join(texts) if self.sign == "&" else f"({' or '.join(texts)})"


@dataclasses.dataclass(frozen=True)
class TermCondition:
    """A function of the values of the only dataset that a term compares: which elements count."""

    term: Term

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return where it is true; what is missing never counts."""

        def is_true(one: Term) -> np.ndarray:
            return functools.reduce(operator.and_, (holds(p, values) for p in one.predicates))

        return self.term.of(is_true) & (values == values)

    @property
    def __name__(self) -> str:
        return str(self.term)

    @property
    def version(self) -> str:
        """Two of one name are the same."""
        return "1"


@dataclasses.dataclass(frozen=True)
class TermCount:
    """A function of arrays, the term's datasets in their order, that is 1 where it is true."""

    term: Term

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        """Return it as integers, which operators sum up."""
        values = dict(zip(self.term.datasets, arrays, strict=True))

        def is_true(one: Term) -> np.ndarray:
            assert one.comparison is not None
            return one.comparison.as_numpy(values[one.dataset])

        return self.term.of(is_true).astype(np.int8)

    @property
    def __name__(self) -> str:
        """By which ranks know it: a comparison of what was computed does not name its dataset."""
        return f"{self.term} of {', '.join(one.dataset for one in self.term.comparisons)}"

    @property
    def version(self) -> str:
        """Two of one name are the same."""
        return "1"
