# SPDX-License-Identifier: Apache-2.0
"""What a comparison of a dataset gives, before anything is read, and how it becomes a condition."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn, Protocol, cast

import xarray as xr

from .._core import InvalidArgument
from ..base.messages import listed, shown
from ..compute.apply import Apply
from ..compute.arithmetic import Compared
from ..compute.reductions import of_numpy
from ..compute.registry import Reduced
from ..describe.selection import Over, one_of
from ..store.joined_files import JoinedFiles
from .array_mask import ArrayMask
from .options import ScanOptions
from .positions import Positions
from .predicates import Comparison, Function
from .term import Term, TermCount
from .view import View

_DATASETS_MAX = 4  # inputs of Apply

JointRequest = Callable[[], tuple[list[str], Apply, "Over | None"]]
"""Gives names of datasets, an operator that reads as many, and what to reduce over; may raise."""


class Compares(Protocol):
    """A dataset of a file that is compared."""

    _files: JoinedFiles
    _name: str
    _view: View

    def _reduced_together(self, describe: JointRequest, options: ScanOptions) -> Reduced:
        """Reduce this and other datasets of its file. Collective."""


@dataclasses.dataclass(frozen=True, eq=False)
class Comparisons:
    """What a comparison of a dataset gives, for `FileDataset.where`; &, | and ~ join several.

    Those of several datasets are joined by & alone. `sum`, `mean`, `any` and `all` count while the
    datasets are read.
    """

    term: Term
    files: JoinedFiles
    axes: tuple[Positions, ...]
    """What was selected of the dataset that was compared."""
    datasets: tuple[Compares, ...]
    """What was compared."""

    def sum(self, over: Over | None = None, **options: object) -> xr.DataArray:
        """Return in how many elements it is true, as xarray does. Collective, a scan.

        Elements are compared while they are read, by all ranks, and nothing is kept. What is
        missing, or left out by a condition of the dataset, is as NaN: unequal to any number, else
        false.

        Parameters
        ----------
        over
            Dimension or dimensions to reduce, by name or number; None: all. The others are kept.
        **options
            ``axis=`` or ``dim=`` instead of `over`, and `fluvial.scan.options.ScanOptions`.

        Returns
        -------
        An xarray.DataArray of int64 with the coordinates that are left, on all ranks.

        Raises
        ------
        InvalidArgument
            On all ranks, what is wrong on any: the dataset has weights; several datasets are
            compared, and one has a condition; they are more than four.
        DamagedFile, SystemError
            As for `FileDataset.reduce`.

        Examples
        --------
        >>> frost_days = (file["t"] < 273.15).sum("time")                  # doctest: +SKIP
        """
        return self._reduced("sum", self.term, over, options).astype("int64")

    def mean(self, over: Over | None = None, **options: object) -> xr.DataArray:
        """Return the fraction of elements, missing ones included, in which it is true; as `sum`.

        Of nothing it is NaN.
        """
        return self._reduced("mean", self.term, over, options)

    def any(self, over: Over | None = None, **options: object) -> xr.DataArray:
        """Return whether it is true in one element at least; as `sum`."""
        return self._reduced("sum", self.term, over, options) > 0

    def all(self, over: Over | None = None, **options: object) -> xr.DataArray:
        """Return whether it is true in every element; as `sum`."""
        return self._reduced("sum", Term("~", (self.term,)), over, options) == 0

    def groupby(self, key: str) -> NoReturn:
        """Raise InvalidArgument: numbers in groups are those of a condition."""
        self._refuse_groups(f"groupby({key!r})")

    def resample(self, **period: str) -> NoReturn:
        """Raise InvalidArgument: numbers in groups are those of a condition."""
        said = ", ".join(f"{dim}={words!r}" for dim, words in period.items())
        self._refuse_groups(f"resample({said})")

    def _refuse_groups(self, call: str) -> NoReturn:
        raise InvalidArgument(
            f"comparisons have no groups: got {call} of {shown(self)}; allowed: sum, mean, any and "
            f"all over dimensions. Count where it holds: t.where(t > 0).{call}.count()."
        )

    def _reduced(
        self, op: str, term: Term, over: Over | None, options: Mapping[str, object]
    ) -> xr.DataArray:
        """Reduce where a term of these datasets is true (1) or false (0)."""
        asked = of_numpy(options)
        axis, dim = (cast("Over | None", asked.pop(name, None)) for name in ("axis", "dim"))

        def describe() -> tuple[list[str], Apply, Over | None]:
            names = [*term.datasets]
            self._check_countable(names)
            return names, Apply(TermCount(term), op, inputs=len(names)), one_of(over, axis, dim)

        first = self.datasets[0]
        found = cast(xr.DataArray, first._reduced_together(describe, cast(ScanOptions, asked)))
        found.attrs.clear()  # those of arrays that are compared have none
        return found

    def _check_countable(self, names: Sequence[str]) -> None:
        views = [dataset._view for dataset in self.datasets]
        if weighted := [dim for view in views for dim in view.weights]:
            raise InvalidArgument(
                f"comparisons of a dataset with weights are not counted: got weights along "
                f"'{weighted[0]}'; allowed: none. Compare first, and weight the dataset that it is "
                "a condition for: t.where(t > 0).weighted(…)."
            )
        conditions = views[0].where
        if any(view.where != conditions for view in views) or (len(names) > 1 and conditions):
            raise InvalidArgument(
                "comparisons of datasets with conditions are counted only of one dataset, with the "
                f"same conditions: got {shown(self)}; allowed: datasets without where(). Count "
                "where all hold: t.where(…).where((t > 0) & (u > 0)).count()."
            )
        if len(names) > _DATASETS_MAX:
            raise InvalidArgument(
                f"too many datasets are compared: got {len(names)} ({listed(names)}); allowed: "
                f"{_DATASETS_MAX} at most. Count where they hold: t.where(…).count()."
            )

    def __and__(self, other: object) -> Comparisons:
        if not isinstance(other, Comparisons):
            return NotImplemented
        return self._joined("&", other)

    def __or__(self, other: object) -> Comparisons:
        if not isinstance(other, Comparisons):
            return NotImplemented
        joined = self._joined("|", other)
        joined._check_of_one_dataset("|", self, other)
        return joined

    def __invert__(self) -> Comparisons:
        self._check_of_one_dataset("~", self)
        return dataclasses.replace(self, term=Term("~", (self.term,)))

    def _joined(self, sign: str, other: Comparisons) -> Comparisons:
        differ = len(self.term.own | other.term.own) > 1
        if other.files is not self.files or other.axes != self.axes or differ:
            raise InvalidArgument(
                "the comparisons do not fit together: got datasets of several files or with "
                "different selections; allowed: those of one. Give them to where() one by one."
            )
        term = Term.joined(sign, (self.term, other.term))
        return Comparisons(term, self.files, self.axes, (*self.datasets, *other.datasets))

    def _check_of_one_dataset(self, sign: str, *given: Comparisons) -> None:
        """Refuse what is no function of one dataset's values; `given` is what has the sign."""
        predicates = [one for term in self.term.comparisons for one in term.predicates]
        if any(isinstance(predicate, ArrayMask) for predicate in predicates):
            raise InvalidArgument(
                "comparisons of a dataset whose condition is an array are joined by & alone: got "
                f"{sign} of {_shown_all(given)}; allowed: comparisons of the dataset without it. "
                "Compare first, then give the array: t.where((t < 0) | (t > 9)).where(array)."
            )
        names = {p.dataset for p in predicates if isinstance(p, Comparison)}
        several = len(names | {*self.term.datasets}) > 1
        if several or any(p.inputs != 1 for p in predicates if isinstance(p, Function)):
            raise InvalidArgument(
                f"comparisons of several datasets are joined by & alone: got {sign} of "
                f"{_shown_all(given)}; allowed: comparisons of one dataset. Read the datasets, and "
                "compare the arrays."
            )

    def __repr__(self) -> str:
        return f"<fluvial: where {self.term}>"

    def __bool__(self) -> bool:
        raise InvalidArgument(
            f"a comparison of data that is not read is neither true nor false: got {shown(self)}; "
            "allowed: where((t > 0) & (t < 9)) instead of 0 < t < 9, and `read` before `if`"
        )


def _shown_all(given: Sequence[Comparisons]) -> str:
    return " and ".join(map(shown, given))


def compare(dataset: Compares, sign: str, bound: float) -> Comparisons:
    """Return where a dataset, and what was computed with it, compares true with a number."""
    files, name, view = dataset._files, dataset._name, dataset._view
    comparison: Comparison | Compared
    if view.arithmetic is None:
        comparison = Comparison(name, sign, bound)
        comparison.check_exact(files.decoded_dtype(name, view.decode))
    else:
        comparison = Compared(view.arithmetic, sign, bound)
    where = tuple(
        # Where it is a condition of another dataset, "value" would be that.
        one._replace(dataset=files.find(one.dataset, name)) if isinstance(one, Comparison) else one
        for one in view.where
    )
    term = Term("", dataset=name, comparison=comparison, where=where)
    return Comparisons(term, files, view.axes, (dataset,))


def narrowed(view: View, files: JoinedFiles, name: str, condition: Comparisons) -> View:
    """Return a dataset's view with a condition, which counts at the same positions of the file."""
    whole = tuple(range(n) for n in view.shape)
    others = condition.term.own - {name}
    if others and condition.term.sign in ("|", "~"):
        raise InvalidArgument(
            f"{condition.term.sign} is for comparisons of '{name}' itself: got those of "
            f"'{min(others)}'; allowed: comparisons of another dataset one by one, or joined by &. "
            "Read that one, and give the array: t.where(array)."
        )
    if condition.files is not files or others or condition.axes not in (whole, view.axes):
        raise InvalidArgument(
            f"the comparison does not fit '{name}': got a dataset of another file, shape or "
            "selection, or another one that was computed with or has a function as its condition; "
            "allowed: datasets of the same file, whole or selected alike. Compare first, then "
            "select: t.where(u > 0).sel(…)."
        )
    return dataclasses.replace(view, where=(*view.where, *condition.term.predicates))
