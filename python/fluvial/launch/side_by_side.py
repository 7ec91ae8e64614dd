# SPDX-License-Identifier: Apache-2.0
"""Run jobs side by side until all have ended, and tell which has failed, and of what.

What ends them, and what follows (LAST_WORDS_S is what the others get to say what they saw of it):

==============================  ===================================================================
what happens                    what follows
==============================  ===================================================================
a rank ends with an error       its guard reports it; after LAST_WORDS_S, or once all ranks of its
                                job have ended, its job is ended, and so are the others
mpiexec ends with an error      its supervisor tells by its exit code; as above
mpiexec ends with 0 before      that is an error, too: it is none, or could not start them
all ranks have
a guard is killed               as above, unless mpiexec did it and tells why
the time limit passes           every rank gets SIGABRT, then all is ended; the code is 124
SIGINT, SIGTERM or SIGHUP       every rank gets it; after GRACE_S, or at the second one, all is
comes                           ended
a supervisor is killed          its processes become ours, and all is ended
this process is killed          a pipe to each supervisor closes, and the supervisors end their jobs
==============================  ===================================================================

A job is ended by its guards: they kill their programs and end themselves, upon which mpiexec has
little to complain of, and what it says of a job that has failed is not passed on. What is there
half a second later is killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from . import rank_guard
from .guard_reports import GuardReports
from .job import Job, Redirected
from .launcher import Launcher
from .launcher_words import LauncherWords
from .supervisor import NOT_STARTED, TIMED_OUT, become_subreaper, kill_descendants

LAST_WORDS_S = 3.0
GRACE_S = 5.0

_LOOK_S = 0.5  # a report or a signal tells sooner
_STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_KILLED = 128 + signal.SIGKILL


@dataclass(frozen=True)
class JobPlan:
    """A job to run.

    Attributes
    ----------
    name
        What messages and labels call it.
    programs
        Ranks and command line of each program in it; most jobs have one.
    env
        What is added to its environment.
    """

    name: str
    programs: tuple[tuple[int, tuple[str, ...]], ...]
    env: Mapping[str, str] = field(default_factory=dict)

    @property
    def ranks(self) -> int:
        """All ranks of the job."""
        return sum(ranks for ranks, _ in self.programs)


@dataclass(frozen=True)
class Options:
    """How all jobs are run.

    Attributes
    ----------
    timeout
        Seconds after which everything is killed; None is no limit.
    label
        Whether the name of the job and the rank stand before each line that is printed.
    keep_going
        Whether the other jobs go on when one fails.
    yielding
        Whether ranks that wait leave their core to others.
    stdin
        What the first rank of a single job reads.
    """

    timeout: float | None = None
    label: bool = False
    keep_going: bool = False
    yielding: bool = True
    stdin: Redirected = subprocess.DEVNULL


@dataclass(frozen=True)
class Verdict:
    """What went wrong: an exit code that is not 0, and a sentence that says why."""

    code: int
    why: str


class _Running:
    """A job that was started, and what is known of its ranks."""

    def __init__(self, number: int, plan: JobPlan, job: Job, words: LauncherWords | None):
        self.number = number
        self.plan = plan
        self.job = job
        self.words = words
        """What its mpiexec says; None after its end."""
        self.ended_ranks = 0
        self.lost_rank: int | None = None
        self.failed = False
        self.end_at = float("inf")
        self.told_to_end = False

    @property
    def runs(self) -> bool:
        return self.job.poll() is None


class SideBySide:
    """Runs jobs side by side; see the table above.

    The process must be its own: whatever else it has started is killed at the end, too.
    """

    def __init__(self, launcher: Launcher, plans: Sequence[JobPlan], options: Options):
        self._launcher = launcher
        self._plans = plans
        self._options = options
        self._running: list[_Running] = []
        self._verdicts: list[Verdict] = []
        self._stops: list[int] = []

    def run(self) -> list[Verdict]:
        """Run the jobs to their ends, leave no process, and tell what went wrong.

        The first failure ends all, unless the jobs go on; then there is one of each job.
        """
        become_subreaper()
        with contextlib.ExitStack() as stack:
            wake = stack.enter_context(self._catching_signals())
            reports = GuardReports(wake)
            stack.callback(reports.close)
            stack.callback(self._kill_all)
            for number, plan in enumerate(self._plans):
                words = LauncherWords()
                try:
                    job = self._start(number, plan, reports.address, words)
                finally:
                    words.given()
                reports.attend(words.source)
                self._running.append(_Running(number, plan, job, words))
            self._attend(reports, wake)
        return self._verdicts

    def _start(self, number: int, plan: JobPlan, address: str, words: LauncherWords) -> Job:
        guard = [sys.executable, "-I", "-S", rank_guard.__file__, "--report-to", address]
        guard += ["--job", str(number)]
        if self._options.label:
            guard += [f"--label={plan.name if len(self._plans) > 1 else ''}"]
        programs = [(ranks, [*guard, "--", *argv]) for ranks, argv in plan.programs]
        (ranks, argv), *more = programs
        return Job.start(
            self._launcher.command(ranks, argv, *more),
            name=plan.name,
            ranks=plan.ranks,
            env=self._launcher.environment(plan.env, yielding=self._options.yielding),
            stdin=self._options.stdin if len(self._plans) == 1 else subprocess.DEVNULL,
            stderr=words.target,
        )

    @contextlib.contextmanager
    def _catching_signals(self) -> Iterator[int]:
        """Collect the signals that stop us, and yield what becomes readable by any."""
        read, write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        handlers = {
            number: signal.signal(number, lambda number, _: self._stops.append(number))
            for number in _STOPS
            if signal.getsignal(number) is not signal.SIG_IGN  # as under nohup
        }
        handlers[signal.SIGCHLD] = signal.signal(signal.SIGCHLD, lambda *_: None)
        try:
            yield read
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(before)
            os.close(read)
            os.close(write)

    def _attend(self, reports: GuardReports, wake: int) -> None:
        limit = self._options.timeout
        deadline = float("inf") if limit is None else time.monotonic() + limit
        answered = 0
        while any(running.runs for running in self._running):
            self._take(reports, min(_LOOK_S, max(0.0, deadline - time.monotonic())))
            with contextlib.suppress(BlockingIOError):
                os.read(wake, 4096)
            for running in self._running:
                self._hear(running, reports)
                if not running.runs:
                    self._note_end(running)
            for number in self._stops[answered:]:
                self._stop(number, reports, again=answered > 0)
                answered += 1
            if time.monotonic() >= deadline:
                self._time_out(reports)
                deadline = float("inf")
            for running in self._running:
                if running.runs and time.monotonic() >= running.end_at:
                    self._end(running, reports)
        kill_descendants()  # those of a supervisor that was killed
        while reports.guards:
            self._take(reports, 0.0)
        for running in self._running:
            self._hear(running, reports)
            self._note_end(running)
            self._note_ranks_missing(running)

    def _hear(self, running: _Running, reports: GuardReports) -> None:
        """Pass on what mpiexec says, after what guards have told: of a failed rank it is enough."""
        words = running.words
        if words is not None and not words.pass_on(wanted=not running.failed):
            reports.forget(words.source)
            words.close()
            running.words = None

    def _take(self, reports: GuardReports, seconds: float) -> None:
        for ended in reports.wait(seconds):
            self._note_rank(self._running[ended.job], ended.rank, ended.code)

    def _note_rank(self, running: _Running, rank: int, code: int | None) -> None:
        if code is None:  # by mpiexec, which then ends itself and has the code, or by a person
            running.lost_rank = rank if running.lost_rank is None else running.lost_rank
            running.end_at = min(running.end_at, time.monotonic() + _LOOK_S)
            return
        running.ended_ranks += 1
        if code != 0 and not running.failed:
            how = f"ended with exit code {code}" if code > 0 else _killed_by(-code)
            code = code if code > 0 else 128 - code
            self._fail(running, Verdict(code, f"rank {rank} of {running.plan.name} {how}"))
        if running.failed and running.ended_ranks == running.plan.ranks:
            running.end_at = 0.0

    def _note_end(self, running: _Running) -> None:
        code = running.job.wait()
        if running.failed or code == 0:
            return
        name = running.plan.name
        if code < 0:
            code = 128 - code
            self._fail(running, Verdict(code, f"the supervisor of {name} {_ended(code)}"))
            for other in self._running:
                other.failed = True  # by us
                other.end_at = 0.0
        else:
            self._fail(running, Verdict(code, f"{name} {_ended(code)}"))

    def _note_ranks_missing(self, running: _Running) -> None:
        """Tell of an mpiexec that ended well and has not run all ranks: their results are missing.

        All that the guards have reported is read by now.
        """
        ended, wanted = running.ended_ranks, running.plan.ranks
        if not running.failed and ended < wanted:
            why = (
                f"{self._launcher.mpiexec} has not run {running.plan.name}: got the ends of "
                f"{ended} ranks; allowed: {wanted}. Look at what it printed, and whether it is an "
                "mpiexec"
            )
            self._fail(running, Verdict(NOT_STARTED, why))

    def _fail(self, running: _Running, verdict: Verdict) -> None:
        running.failed = True
        self._conclude(verdict)
        end_at = time.monotonic() + LAST_WORDS_S
        for other in [running] if self._options.keep_going else self._running:
            other.end_at = min(other.end_at, end_at)

    def _conclude(self, verdict: Verdict) -> None:
        if self._options.keep_going or not self._verdicts:
            self._verdicts.append(verdict)

    def _stop(self, number: int, reports: GuardReports, again: bool) -> None:
        if not again:
            self._conclude(Verdict(128 + number, f"stopped by {signal.Signals(number).name}"))
        for running in self._running:
            running.failed = True  # by us: what it says of that is no news
            reached = 0 if again or not running.runs else reports.signal(running.number, number)
            patience = GRACE_S if reached else 0.0
            running.end_at = min(running.end_at, time.monotonic() + patience)

    def _time_out(self, reports: GuardReports) -> None:
        hung = [
            f"rank {rank} of {running.plan.name} (process {pid})"
            for running in self._running
            if running.runs
            for rank, pid in sorted(running.job.pids().items())
        ]
        why = f"timed out after {self._options.timeout:g} s; still running: {', '.join(hung)}"
        self._conclude(Verdict(TIMED_OUT, why))
        for running in self._running:
            running.failed = True
            if running.runs:
                reports.signal(running.number, signal.SIGABRT)
            running.end_at = min(running.end_at, time.monotonic() + _LOOK_S)

    def _end(self, running: _Running, reports: GuardReports) -> None:
        """Have the guards of a job end it; the second time kill what is left of it."""
        rank = running.lost_rank
        if rank is not None and not running.failed:
            why = f"the guard of rank {rank} of {running.plan.name} {_ended(_KILLED)}"
            self._fail(running, Verdict(_KILLED, why))
        if running.told_to_end or not reports.end(running.number):
            running.job.kill()
        running.told_to_end = True
        running.end_at = time.monotonic() + _LOOK_S

    def _kill_all(self) -> None:
        for running in self._running:
            running.job.kill()
        kill_descendants()


def _ended(code: int) -> str:
    """Return how a process has ended of which another tells by this exit code.

    >>> _ended(3), _ended(137)
    ('ended with exit code 3', 'was killed by SIGKILL (signal 9)')
    """
    if code > 128 and code - 128 in signal.valid_signals():
        return _killed_by(code - 128)
    return f"ended with exit code {code}"


def _killed_by(number: int) -> str:
    name = signal.Signals(number).name if number in list(signal.Signals) else "a signal"
    return f"was killed by {name} (signal {number})"
