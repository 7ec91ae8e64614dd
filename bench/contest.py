# SPDX-License-Identifier: Apache-2.0
"""The order of a contest: rounds in which the contestants alternate, within a budget of time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

Case = TypeVar("Case")
Name = TypeVar("Name")


def alternate(
    cases: Sequence[Case],
    contestants: Sequence[Name],
    rounds: int,
    *,
    rounds_min: int = 1,
    budget_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[tuple[int, Case, Name]]:
    """(round, case, contestant) such that contestants take turns A B A B on every case.

    Every round visits all cases.  The contestant that begins changes from round to round, so that
    none always runs first.  A further round starts only if, going by the longest so far, it ends
    within `budget_s`; `rounds_min` rounds always run.
    """
    begin = clock()
    longest = 0.0
    for number in range(rounds):
        started = clock()
        late = budget_s is not None and started - begin + longest > budget_s
        if late and number >= rounds_min:
            return
        shift = number % max(1, len(contestants))
        order = [*contestants[shift:], *contestants[:shift]]
        for case in cases:
            for name in order:
                yield number, case, name
        longest = max(longest, clock() - started)
