# SPDX-License-Identifier: Apache-2.0
"""Which part of a pool's ranks is busy: at the last look, and in the mean of all looks."""

from __future__ import annotations

import time
from collections.abc import Callable

from .busy_ranks import Busy

LOOK_EVERY_S = 0.1
_LOOKS_TAKE = 0.01  # of the time at the most: with a million tasks a look takes 0.1 s


class Utilisation:
    """Looks now and then how many ranks are busy, and weights what it sees by the time between.

    Parameters
    ----------
    workers
        Number of ranks that run tasks.
    busy
        Returns how many have some, or None when that cannot be known any more.
    """

    def __init__(self, workers: int, busy: Callable[[], Busy | None]) -> None:
        self._workers = workers
        self._busy = busy
        self._looked = time.monotonic()
        self._next = self._looked + LOOK_EVERY_S
        self._last: Busy | None = None
        self._seconds = self._busy_seconds = 0.0
        self._or_more = False  # at any look

    def look(self) -> None:
        """Look, unless the last look was a moment ago."""
        begin = time.monotonic()
        if begin < self._next:
            return
        self._last = self._busy()
        end = time.monotonic()
        self._next = end + max(LOOK_EVERY_S, (end - begin) / _LOOKS_TAKE)
        if self._last is not None:
            self._seconds += begin - self._looked
            self._busy_seconds += self._last.ranks * (begin - self._looked)
            self._or_more |= self._last.or_more
        self._looked = begin

    @property
    def mean(self) -> float:
        """The part of the ranks' time, 0 to 1, in which they had tasks, since the pool began."""
        return self._busy_seconds / (self._seconds * self._workers) if self._seconds else 0.0

    def now(self) -> str:
        """Return in words what the last look saw, and the mean; empty before the first look."""
        if self._last is None:
            return ""
        least = "at least " if self._last.or_more else ""
        return f"{least}{self._last.ranks} of {self._workers} ranks busy (mean {self.mean:.0%})"

    def whole(self) -> str:
        """Return the mean in words; empty when the pool has ended before the first look."""
        if not self._seconds:
            return ""
        return f"ranks {'at least ' if self._or_more else ''}{self.mean:.0%} busy"
