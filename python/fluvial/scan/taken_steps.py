# SPDX-License-Identifier: Apache-2.0
"""How many steps of files were taken one after the other, and what they were waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")


class TakenSteps:
    """Counts steps as iterators give them; for several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps = 0
        self._wait_s = 0.0

    @property
    def stats(self) -> dict[str, int | float | str]:
        """What a live series has under the same names."""
        with self._lock:
            return {
                "transport": "files",
                "steps_read": self._steps,
                "steps_discarded": 0,
                "wait_s": self._wait_s,
            }

    def counted(self, steps: Iterator[T]) -> Iterator[T]:
        """Give what `steps` gives, counted; after an error with one, the next."""
        return _Counted(self, steps)

    def add(self, steps: int, wait_s: float) -> None:
        """Count what one call for a step took."""
        with self._lock:
            self._steps += steps
            self._wait_s += wait_s


class _Counted(Iterator[T]):
    def __init__(self, taken: TakenSteps, steps: Iterator[T]) -> None:
        self._taken = taken
        self._steps = steps

    def __next__(self) -> T:
        begin, given = time.perf_counter(), 0
        try:
            step = next(self._steps)
            given = 1
            return step
        finally:
            self._taken.add(given, time.perf_counter() - begin)
