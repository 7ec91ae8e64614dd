# SPDX-License-Identifier: Apache-2.0
"""How far a pool is, on standard error."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Sequence

from .busy_ranks import BusyRanks
from .future import Outcome
from .settings import Settings
from .started_job import StartedJob
from .task_core import TaskCore, TaskState
from .timeline import Timeline
from .utilisation import LOOK_EVERY_S, Utilisation

_EVERY_S = 0.5  # on a terminal
_LINE_EVERY_S = 5.0  # elsewhere: under mpiexec, in a file
_TURN_S = 0.5  # of a pool that says nothing


class Progress:
    """Counts what comes back, and says how far it is: in one line on a terminal, else in many."""

    def __init__(self, utilisation: Utilisation) -> None:
        self._utilisation = utilisation
        self._begin = time.monotonic()
        self._shown = self._begin
        self._done = self._failed = 0
        self._width = 0

    def show(self, settled: Sequence[Outcome], submitted: int) -> None:
        """Take in what has just come back, and say how far the pool is.

        That is twice a second on a terminal, and a line every five seconds elsewhere.
        """
        self._done += len(settled)
        self._failed += sum(outcome.error is not None for outcome in settled)
        self._utilisation.look()
        on_terminal = sys.stderr.isatty()
        if time.monotonic() - self._shown < (_EVERY_S if on_terminal else _LINE_EVERY_S):
            return
        self._shown = time.monotonic()
        line = self.line(submitted)
        if on_terminal:
            line = line[: shutil.get_terminal_size().columns - 1]  # a longer one would leave others
            print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def end(self, submitted: int) -> None:
        """Say what became of all."""
        before = "\r" if self._width else ""
        line = _joined(self._counts(submitted), self._utilisation.whole())
        print(before + line.ljust(self._width), file=sys.stderr, flush=True)

    def line(self, submitted: int) -> str:
        """Return it: tasks, rate, the time that those which have come will take yet, busy ranks."""
        return _joined(self._counts(submitted), self._utilisation.now())

    def _counts(self, submitted: int) -> str:
        took = time.monotonic() - self._begin
        rate = self._done / took if took > 0 else 0.0
        line = f"{self._done} of {submitted} tasks in {took:.1f} s, {rate:.3g} a second"
        if self._failed:
            line += f", {self._failed} failed"
        if self._done and submitted > self._done:
            line += f", {(submitted - self._done) / rate:.0f} s left"
        return line


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


class Account:
    """What a pool says of itself while it runs, and when it has ended: what was asked for."""

    def __init__(self, settings: Settings, core: TaskCore) -> None:
        self._trace_file = settings.trace_file
        self._progress: Progress | None = None
        self._ranks: BusyRanks | None = None
        self.turn_s = LOOK_EVERY_S if settings.progress else _TURN_S
        """For how long the pool may wait before it calls `take`, also with nothing."""
        if settings.progress and isinstance(core, StartedJob):  # the job's first rank counts them
            self._progress = Progress(Utilisation(core.workers, core.busy))
        elif settings.progress:
            self._ranks = BusyRanks(core.workers)
            self._progress = Progress(Utilisation(core.workers, self._ranks.count))

    def add(self, state: TaskState, widths: Sequence[int]) -> None:
        """Take note of a task, under the lock of the pool, as `remove` does."""
        if self._ranks is not None:
            self._ranks.add(state, widths)

    def remove(self, number: int) -> None:
        """Take note that it is done."""
        if self._ranks is not None:
            self._ranks.remove(number)

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
