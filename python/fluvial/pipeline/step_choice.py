# SPDX-License-Identifier: Apache-2.0
"""Which steps are piped, by the numbers of their iterations."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .._core import InvalidArgument
from ..base.arguments import to_int
from ..base.messages import shown

_RANGE = re.compile(r"\s*(\d*)\s*(?::\s*(\d*)\s*(?::\s*(\d*)\s*)?)?", re.ASCII)
Steps = str | slice | range | int | Iterable[int] | None


class StepChoice:
    """Numbers of steps: all unless said.

    >>> choice = StepChoice("10:100:10,5")
    >>> [n for n in range(40) if n in choice], choice.ends_before(100)
    ([5, 10, 20, 30], True)
    """

    def __init__(self, steps: Steps = None) -> None:
        self._words = "all steps" if steps is None else f"steps {shown(steps)}"
        self._ranges: list[tuple[int, int | None, int]] = []
        """First, one past the last or None, distance."""
        if steps is None:
            self._ranges.append((0, None, 1))
        elif isinstance(steps, str):
            self._ranges += [_range_of(word, steps) for word in steps.split(",")]
        elif isinstance(steps, slice | range):
            self._add(steps.start, steps.stop, steps.step, steps)
        else:
            for number in steps if isinstance(steps, Iterable) else [steps]:
                first = to_int(number, "the number of a step", 0)
                self._ranges.append((first, first + 1, 1))

    def __str__(self) -> str:
        return self._words

    def __contains__(self, number: int) -> bool:
        return any(
            number >= first and (end is None or number < end) and (number - first) % distance == 0
            for first, end, distance in self._ranges
        )

    def ends_before(self, number: int) -> bool:
        """Tell whether neither `number` nor any above it is chosen."""
        return all(end is not None and end <= number for _, end, _ in self._ranges)

    def _add(self, first: object, end: object, distance: object, given: object) -> None:
        begin = 0 if first is None else to_int(first, "the first step")
        stop = None if end is None else to_int(end, "the last step")
        every = 1 if distance is None else to_int(distance, "the distance of steps")
        if begin < 0 or (stop is not None and stop < 0) or every < 1:
            raise _unusable(given)
        self._ranges.append((begin, stop, every))


def _range_of(word: str, given: str) -> tuple[int, int | None, int]:
    match = _RANGE.fullmatch(word)
    if match is None or not word.strip():
        raise _unusable(given)
    first, end, distance = match.groups()
    if end is None:
        return int(first), int(first) + 1, 1
    if distance and int(distance) == 0:
        raise _unusable(given)
    return int(first or 0), int(end) if end else None, int(distance or 1)


def _unusable(given: object) -> InvalidArgument:
    return InvalidArgument(
        f"cannot read which steps are meant: got {shown(given)}; allowed: numbers of steps, and "
        "FIRST:END:DISTANCE without END itself, as in 10:100:10 or 0,5,10: — a stream has no last "
        "step to count back from"
    )
