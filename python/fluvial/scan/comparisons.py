# SPDX-License-Identifier: Apache-2.0
"""What a comparison of a dataset gives, before anything is read, and how it becomes a condition."""

from __future__ import annotations

import dataclasses

from .._core import InvalidArgument
from ..base.messages import shown
from ..compute.arithmetic import Compared
from ..store.joined_files import JoinedFiles
from .positions import Positions
from .predicates import Comparison, Function, Predicate
from .view import View


@dataclasses.dataclass(frozen=True, eq=False)
class Comparisons:
    """What a comparison of a dataset gives, for `FileDataset.where`; & joins several."""

    predicates: tuple[Predicate, ...]
    files: JoinedFiles
    axes: tuple[Positions, ...]
    """What was selected of the dataset that was compared."""
    own: str | None = None
    """The only dataset for which it can be a condition; None: any of this shape."""

    def __and__(self, other: object) -> Comparisons:
        if not isinstance(other, Comparisons):
            return NotImplemented
        if other.files is not self.files or other.axes != self.axes or _differ(self, other):
            raise InvalidArgument(
                "the comparisons do not fit together: got datasets of several files or with "
                "different selections; allowed: those of one. Give them to where() one by one."
            )
        both = (*self.predicates, *other.predicates)
        return Comparisons(both, self.files, self.axes, self.own or other.own)

    def __repr__(self) -> str:
        texts = (
            f"{p.dataset} {p.sign} {p.bound!r}"
            if isinstance(p, Comparison)
            else getattr(p.function, "__name__", "a function")
            for p in self.predicates
        )
        return f"<fluvial: where {' and '.join(texts)}>"

    def __bool__(self) -> bool:
        raise InvalidArgument(
            f"a comparison of data that is not read is neither true nor false: got {shown(self)}; "
            "allowed: where((t > 0) & (t < 9)) instead of 0 < t < 9, and `read` before `if`"
        )


def _differ(a: Comparisons, b: Comparisons) -> bool:
    return a.own is not None and b.own is not None and a.own != b.own


def compare(files: JoinedFiles, name: str, view: View, sign: str, bound: float) -> Comparisons:
    """Return where a dataset, and what was computed with it, compares true with a number."""
    if view.arithmetic is None:
        found = (*view.where, Comparison(name, sign, bound))
        return Comparisons(found, files, view.axes)
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
