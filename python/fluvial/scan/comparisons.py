# SPDX-License-Identifier: Apache-2.0
"""What a comparison of a dataset gives, before anything is read, and how it becomes a condition."""

from __future__ import annotations

import dataclasses

import numpy as np

from .._core import InvalidArgument
from ..base.messages import shown
from ..compute.arithmetic import Compared
from ..store.joined_files import JoinedFiles
from .array_mask import ArrayMask
from .positions import Positions
from .predicates import Comparison, Function, Predicate
from .view import View


@dataclasses.dataclass(frozen=True, eq=False)
class Comparisons:
    """What a comparison of a dataset gives, for `FileDataset.where`; &, | and ~ join several.

    Those of several datasets are joined by & alone.
    """

    predicates: tuple[Predicate, ...]
    files: JoinedFiles
    axes: tuple[Positions, ...]
    """What was selected of the dataset that was compared."""
    own: str | None = None
    """The only dataset for which it can be a condition; None: any of this shape."""

    def __and__(self, other: object) -> Comparisons:
        if not isinstance(other, Comparisons):
            return NotImplemented
        self._check_together(other)
        both = (*self.predicates, *other.predicates)
        return Comparisons(both, self.files, self.axes, self.own or other.own)

    def __or__(self, other: object) -> Comparisons:
        if not isinstance(other, Comparisons):
            return NotImplemented
        self._check_together(other)
        cases = (*_cases_of(self.predicates), *_cases_of(other.predicates))
        return self._of_one_dataset("|", Either(cases), other)

    def __invert__(self) -> Comparisons:
        return self._of_one_dataset("~", Neither(_cases_of(self.predicates)), self)

    def _check_together(self, other: Comparisons) -> None:
        if other.files is not self.files or other.axes != self.axes or _differ(self, other):
            raise InvalidArgument(
                "the comparisons do not fit together: got datasets of several files or with "
                "different selections; allowed: those of one. Give them to where() one by one."
            )

    def _of_one_dataset(self, sign: str, joined: Either, other: Comparisons) -> Comparisons:
        """Return the condition that a function of one dataset's values is."""
        predicates = [predicate for case in joined.cases for predicate in case]
        if any(isinstance(predicate, ArrayMask) for predicate in predicates):
            raise InvalidArgument(
                "comparisons of a dataset whose condition is an array are joined by & alone: got "
                f"{sign} of {shown(self)}; allowed: comparisons of the dataset without it. Compare "
                "first, then give the array: t.where((t < 0) | (t > 9)).where(array)."
            )
        names = {p.dataset for p in predicates if isinstance(p, Comparison)} | (
            {self.own, other.own} - {None}
        )
        if len(names) != 1 or any(p.inputs != 1 for p in predicates if isinstance(p, Function)):
            raise InvalidArgument(
                f"comparisons of several datasets are joined by & alone: got {sign} of "
                f"{shown(self)}{'' if other is self else f' and {shown(other)}'}; allowed: "
                "comparisons of one dataset. Read the datasets, and compare the arrays."
            )
        return Comparisons((Function(joined, 1),), self.files, self.axes, names.pop())

    def __repr__(self) -> str:
        return f"<fluvial: where {' and '.join(map(_text, self.predicates))}>"

    def __bool__(self) -> bool:
        raise InvalidArgument(
            f"a comparison of data that is not read is neither true nor false: got {shown(self)}; "
            "allowed: where((t > 0) & (t < 9)) instead of 0 < t < 9, and `read` before `if`"
        )


@dataclasses.dataclass(frozen=True)
class Either:
    """A function that tells where all conditions of one case hold, of several cases."""

    cases: tuple[tuple[Predicate, ...], ...]

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return where they hold."""
        return np.any([_all_hold(case, values) for case in self.cases], axis=0)

    @property
    def __name__(self) -> str:
        return f"({' or '.join(' and '.join(map(_text, case)) for case in self.cases)})"

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


def _cases_of(predicates: tuple[Predicate, ...]) -> tuple[tuple[Predicate, ...], ...]:
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


def _text(predicate: Predicate) -> str:
    if isinstance(predicate, Comparison):
        return f"{predicate.dataset} {predicate.sign} {predicate.bound!r}"
    if isinstance(predicate, ArrayMask):
        return "an array of bool"
    return getattr(predicate.function, "__name__", "a function")


def _differ(a: Comparisons, b: Comparisons) -> bool:
    return a.own is not None and b.own is not None and a.own != b.own


def compare(files: JoinedFiles, name: str, view: View, sign: str, bound: float) -> Comparisons:
    """Return where a dataset, and what was computed with it, compares true with a number."""
    if view.arithmetic is None:
        comparison = Comparison(name, sign, bound)
        comparison.check_exact(files.decoded_dtype(name, view.decode))
        return Comparisons((*view.where, comparison), files, view.axes)
    function = Function(Compared(view.arithmetic, sign, bound), 1)
    return Comparisons((*view.where, function), files, view.axes, name)


def narrowed(view: View, files: JoinedFiles, name: str, condition: Comparisons) -> View:
    """Return a dataset's view with a condition, which counts at the same positions of the file."""
    whole = tuple(range(n) for n in view.shape)
    others = condition.own not in (None, name)
    if condition.files is not files or others or condition.axes not in (whole, view.axes):
        raise InvalidArgument(
            f"the comparison does not fit '{name}': got a dataset of another file, shape or "
            "selection, or another one that was computed with; allowed: datasets of the same file, "
            "whole or selected alike. Compare first, then select: t.where(u > 0).sel(…)."
        )
    return dataclasses.replace(view, where=(*view.where, *condition.predicates))
