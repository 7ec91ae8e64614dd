# SPDX-License-Identifier: Apache-2.0
"""Where comparisons of datasets are true, as NumPy has it: a function of the values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..compute.arithmetic import Compared
from .either import text_of
from .predicates import Comparison


class Term(NamedTuple):
    """A comparison, or several that are joined.

    As of arrays, and unlike a condition, what is missing (NaN) is `!=` any number, and the `~` of a
    comparison that it makes false is true.
    """

    sign: str
    """"&", "|" or "~" of the terms; "": the comparison."""
    terms: tuple[Term, ...] = ()
    dataset: str = ""
    comparison: Comparison | Compared | None = None

    @property
    def datasets(self) -> tuple[str, ...]:
        """Names of the datasets, each once."""
        own = () if self.comparison is None else (self.dataset,)
        return tuple(dict.fromkeys([*own, *(n for term in self.terms for n in term.datasets)]))

    def of(self, arrays: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return where it is true, of the values of each dataset."""
        if self.comparison is not None:
            return self.comparison.as_numpy(arrays[self.dataset])
        first, *others = (term.of(arrays) for term in self.terms)
        if self.sign == "~":
            return ~first
        for other in others:
            first = first & other if self.sign == "&" else first | other
        return first

    def __str__(self) -> str:
        if isinstance(self.comparison, Comparison):
            return text_of(self.comparison)
        if self.comparison is not None:
            return f"{self.comparison.__name__} of {self.dataset}"
        if self.sign == "~":
            return f"~({self.terms[0]})"
        return f" {self.sign} ".join(f"({term})" for term in self.terms)


@dataclasses.dataclass(frozen=True)
class Truth:
    """A function of arrays, the term's datasets in their order, that is 1 where the term is true.

    Where `negated`, it is 1 where the term is false.
    """

    term: Term
    negated: bool = False

    def __call__(self, *arrays: np.ndarray) -> np.ndarray:
        """Return it as integers, which operators sum up."""
        found = self.term.of(dict(zip(self.term.datasets, arrays, strict=True)))
        return (~found if self.negated else found).astype(np.int8)

    @property
    def __name__(self) -> str:
        """By which ranks know it."""
        return f"~({self.term})" if self.negated else str(self.term)

    @property
    def version(self) -> str:
        """Two of one name are the same."""
        return "1"
