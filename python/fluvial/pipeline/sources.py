# SPDX-License-Identifier: Apache-2.0
"""Steps of one series, or of several side by side, in the order of their iterations."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeGuard

from .._core import InvalidArgument
from ..base.messages import shown
from ..describe.attributes import Attributes
from ..describe.dates import OF_TIME, TIME
from .series import PipedSeries, PipedStep, StoredSeries
from .step_choice import StepChoice


class JoinedStep:
    """The steps of one iteration in several series, as one."""

    def __init__(self, steps: Sequence[PipedStep], names: Sequence[str]) -> None:
        self._steps = steps
        self.iteration: int = steps[0].iteration
        """Number of the iteration."""
        self._of: dict[str, PipedStep] = {}
        for step, series in zip(steps, names, strict=True):
            for name in step.names():
                if name in self._of:
                    raise InvalidArgument(
                        f"several sources have a dataset of one name: got {shown(name)} in "
                        f"{shown(series)} and before, in step {self.iteration}; allowed: each name "
                        "once. Choose datasets, or pipe the sources one after the other"
                    )
                self._of[name] = step

    @property
    def parts(self) -> Sequence[PipedStep]:
        """The steps of the series."""
        return self._steps

    @property
    def time(self) -> object:
        """Of the first series that has this iteration and a time for it."""
        times = [step.time for step in self._steps]
        return next((time for time in times if time == time), times[0])

    @property
    def skipped(self) -> int:
        """Steps that the sources have lost before this one."""
        return sum(step.skipped for step in self._steps)

    @property
    def attrs(self) -> Attributes:
        """Of the iteration; where series differ, the first one counts.

        What says how the time counts comes from the series that says the time.
        """
        of_all = [step.attrs for step in self._steps]
        timed = next((attrs for attrs in of_all if TIME in attrs), None)
        return Attributes(
            _first_wins(
                attrs if timed is None or attrs is timed else _without(OF_TIME, attrs)
                for attrs in of_all
            )
        )

    @property
    def groups(self) -> dict[str, dict[str, object]]:
        """Attributes of groups; where series differ, the first one counts."""
        found: dict[str, dict[str, object]] = {}
        for step in self._steps:
            for path, attrs in step.groups.items():
                found[path] = {**attrs, **found.get(path, {})}
        return found


class Sources:
    """Series that are read side by side."""

    def __init__(
        self, series: Sequence[PipedSeries], names: Sequence[str], choice: StepChoice
    ) -> None:
        self._series = series
        self._names = names
        self._choice = choice

    @property
    def attrs(self) -> dict[str, object]:
        """Attributes of the series; where they differ, the first one counts."""
        return dict(_first_wins(series.attrs for series in self._series))

    @property
    def total(self) -> int | None:
        """How many steps there are; None of live series, and of files that are being written."""
        numbers: set[int] = set()
        for series in self._series:
            if not _has_all_steps(series):
                return None
            numbers.update(n for n in series.steps.indices if n in self._choice)
        return len(numbers)

    def steps(self) -> Iterator[JoinedStep]:
        """Give the chosen steps in ascending order; each ends when the next is asked for."""
        rows = [self._chosen(series) for series in self._series]
        heads: list[PipedStep | None] = [next(row, None) for row in rows]
        while any(head is not None for head in heads):
            number = min(head.iteration for head in heads if head is not None)
            at = {i: h for i, h in enumerate(heads) if h is not None and h.iteration == number}
            yield JoinedStep(list(at.values()), [self._names[i] for i in at])
            for i in list(at):
                del at[i]
                heads[i] = None  # a file is closed when its step is not held any more
                heads[i] = next(rows[i], None)

    def steps_checked(self, check: Callable[[JoinedStep], object]) -> Iterator[JoinedStep]:
        """Give the steps after a look at the first one, for which it waits.

        Raises
        ------
        InvalidArgument
            There is none.
        """
        steps = self.steps()
        first = next(steps, None)
        if first is None:
            raise InvalidArgument(
                f"there is nothing to pipe: got {self._choice} of "
                f"{', '.join(map(shown, self._names))}; allowed: steps that are there. "
                "What `fluvial info` lists are these"
            )
        check(first)
        return itertools.chain([first], steps)

    def _chosen(self, series: PipedSeries) -> Iterator[PipedStep]:
        if _has_all_steps(series):
            for at, number in enumerate(series.steps.indices):
                if number in self._choice:
                    yield series.steps[at]
            return
        for step in series:
            if step.iteration in self._choice:
                yield step
            if self._choice.ends_before(step.iteration + 1):
                return


def _has_all_steps(series: PipedSeries) -> TypeGuard[StoredSeries]:
    return hasattr(series, "steps") and not getattr(series, "followed", False)


def _without(names: Collection[str], attrs: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in attrs.items() if name not in names}


def _first_wins(attributes: Iterable[Mapping[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for said in attributes:
        found = {**said, **found}
    return found
