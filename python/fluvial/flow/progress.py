# SPDX-License-Identifier: Apache-2.0
"""How far a pool is, on standard error."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Sequence

from .future import Outcome
from .timeline import Timeline

_EVERY_S = 0.5


class Progress:
    """Counts what comes back; on a terminal one line says how far it is."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._shown = self._begin
        self._done = self._failed = 0
        self._width = 0

    def show(self, settled: Sequence[Outcome], submitted: int) -> None:
        """Take in what has just come back, and say how far the pool is, twice a second."""
        self._done += len(settled)
        self._failed += sum(outcome.error is not None for outcome in settled)
        if sys.stderr.isatty() and time.monotonic() - self._shown >= _EVERY_S:
            self._shown = time.monotonic()
            line = self.line(submitted)
            print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)

    def end(self, submitted: int) -> None:
        """Say what became of all."""
        before = "\r" if self._width else ""
        print(before + self.line(submitted).ljust(self._width), file=sys.stderr, flush=True)

    def line(self, submitted: int) -> str:
        """Return it: tasks, rate, and the time that those which have come will take yet."""
        took = time.monotonic() - self._begin
        rate = self._done / took if took > 0 else 0.0
        line = f"{self._done} of {submitted} tasks in {took:.1f} s, {rate:.3g} a second"
        if self._failed:
            line += f", {self._failed} failed"
        if self._done and submitted > self._done:
            line += f", {(submitted - self._done) / rate:.0f} s left"
        return line


class Account:
    """What a pool says of itself while it runs, and when it has ended: what was asked for."""

    def __init__(self, progress: bool, trace_file: str | None) -> None:
        self._progress = Progress() if progress else None
        self._trace_file = trace_file

    def take(self, outcomes: Sequence[Outcome], submitted: int) -> None:
        """Take in what has just come back, of all that were submitted until now."""
        if self._progress is not None:
            try:
                self._progress.show(outcomes, submitted)
            except (OSError, ValueError, AttributeError):
                self._progress = None  # nobody can see it: there is no standard error

    def end(self, submitted: int, timeline: Callable[[], Timeline]) -> BaseException | None:
        """Say what became of all, and write the timeline; return what kept it from that."""
        try:
            if self._progress is not None:
                with contextlib.suppress(OSError, ValueError):  # as above
                    self._progress.end(submitted)
            if self._trace_file is not None:
                timeline().save(self._trace_file)
        except BaseException as error:
            return error
        return None
