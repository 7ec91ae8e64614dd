# SPDX-License-Identifier: Apache-2.0
"""The jobs of one scenario, as its check sees them."""

from __future__ import annotations

import contextlib
import pathlib
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fluvial.launch import Launcher
from fluvial.launch.supervisor import TIMED_OUT

from harness import copies
from harness.box import Box, NoBox
from harness.fabric import shape_all
from harness.sentence import Cast, Link
from harness.watched_job import WatchedJob

_RANK_MAIN = pathlib.Path(__file__).with_name("rank_main.py")
_LOG_TAIL_LINES = 100
_STACKS_S = 0.3
_DYING_S = 3.0  # that what was killed may take to be gone


class ScenarioFailed(AssertionError):  # noqa: N818
    """A job of the scenario failed; the message has every rank's traceback and the job's output."""


@dataclass(frozen=True)
class RankError:
    """What a rank raised: the names of its type and bases, its text, its traceback."""

    types: tuple[str, ...]
    message: str
    traceback: str

    def is_a(self, name: str) -> bool:
        """Tell whether the error is of the type `name` ("PeerLost"), or of one derived from it."""
        return name in self.types


@dataclass(frozen=True)
class Outcome:
    """How a job ended.

    Attributes
    ----------
    returncode
        The job's exit code; 0 when every rank returned.
    values
        What each rank returned (None also for a rank that did not return).
    errors
        What each rank raised, or None.
    log
        Standard output and error of all ranks.
    stacks
        Where each rank was when a fault, or the time limit, ended it.
    """

    name: str
    returncode: int
    values: list[Any]
    errors: list[RankError | None]
    log: str
    stacks: str

    @property
    def ok(self) -> bool:
        """True when every rank returned."""
        return self.returncode == 0 and not any(self.errors)

    def __str__(self) -> str:
        why = " (its time limit)" if self.returncode == TIMED_OUT else ""
        lines = [f"{self.name}: exit code {self.returncode}{why}"]
        for rank, error in enumerate(self.errors):
            if error:
                lines += [f"-- {self.name} rank {rank}:", error.traceback.rstrip()]
        if self.log.strip():
            lines += [
                f"-- {self.name} printed:",
                *self.log.rstrip().splitlines()[-_LOG_TAIL_LINES:],
            ]
        if self.stacks:
            lines += [f"-- {self.name} was here:", self.stacks.rstrip()]
        return "\n".join(lines)


class Jobs:
    """Starts, signals and ends the jobs of one scenario; as a context manager leaves none."""

    keeps = False  # whether ranks that have played wait for their next seed

    def __init__(
        self,
        casts: Sequence[Cast],
        *,
        module: str,
        test: str,
        where: pathlib.Path,
        timeout: float,
        link: Link | None = None,
    ):
        self.where = where
        self._casts = {cast.name: cast for cast in casts}
        self._module = module
        self._test = test
        self._deadline = time.monotonic() + timeout
        self._launcher = Launcher.detect()
        self._started: dict[str, WatchedJob] = {}
        self._logs: dict[str, pathlib.Path] = {}
        self._mark = where  # in the environment of its processes
        self._records = where / "harness"
        self._records.mkdir(parents=True)
        hosts = max((host for cast in casts for host in cast.hosts), default=0)
        self.box = Box(hosts) if hosts else None
        """The cluster in a box of a scenario with hosts."""
        if self.box and link:
            try:
                shape_all(self.box, link)
            except NoBox:
                self.box.close()
                raise

    def start(self, *names: str, **arguments: Any) -> WatchedJob:
        """Start the named jobs (all that are not started when none is named); return the last.

        `arguments` (picklable) go to the role's function after comm, fl and where.
        """
        for name in names or [name for name in self._casts if name not in self._started]:
            self._started[name] = self._start(self._casts[name], arguments)
        return list(self._started.values())[-1]

    def __getitem__(self, name: str) -> WatchedJob:
        """Return a started job: its `pid(rank)`, `signal(number, rank)`, `poll()`, `kill()`."""
        return self._started[name]

    def outcome(self, name: str) -> Outcome:
        """Wait for a job and tell how it ended, without judging."""
        job = self._started[name]
        return self._told(name, job, job.wait())

    def _told(self, name: str, job: WatchedJob, returncode: int) -> Outcome:
        values: list[Any] = [None] * job.ranks
        errors: list[RankError | None] = [None] * job.ranks
        for rank in range(job.ranks):
            try:
                record = pickle.loads((self._records / f"{name}-{rank}.pickle").read_bytes())
            except FileNotFoundError:
                continue  # killed before it could tell
            values[rank] = record.get("value")
            errors[rank] = RankError(*record["error"]) if "error" in record else None
        log = self._logs[name].read_text(errors="replace")
        stacks = [path.read_text() for path in sorted(self._records.glob(f"{name}-*.stacks"))]
        return Outcome(name, returncode, values, errors, log, "\n".join(filter(None, stacks)))

    def finish(self) -> dict[str, list[Any]]:
        """Start what is not started, wait for all, and return what each rank of each job returned.

        Raises
        ------
        ScenarioFailed
            When a rank raised, or a job did not end with 0 within the time limit.
        """
        if len(self._started) < len(self._casts):
            self.start()
        outcomes = [self.outcome(name) for name in self._started]
        if not all(outcome.ok for outcome in outcomes):
            raise ScenarioFailed("\n" + "\n".join(str(o) for o in outcomes if not o.ok))
        return {outcome.name: outcome.values for outcome in outcomes}

    def _start(self, cast: Cast, arguments: dict[str, Any]) -> WatchedJob:
        self._write_arguments(cast, arguments)
        argv = [sys.executable, str(_RANK_MAIN), self._module, self._test, cast.name]
        argv += [str(cast.count), str(self._records), *(["again"] if self.keeps else [])]
        if cast.singly:
            command = copies.command(cast.count, argv)
            if self.box and cast.hosts:
                command = self.box.on(cast.hosts[0], command)
        elif self.box and cast.hosts:
            command = self.box.command(self._launcher, cast.hosts, cast.count, argv)
        else:
            command = self._launcher.command(cast.count, argv)
        self._logs[cast.name] = self._records / f"{cast.name}.log"
        with open(self._logs[cast.name], "wb") as log:
            return WatchedJob.start(
                command,
                name=cast.name,
                ranks=cast.count,
                env=self._launcher.environment(
                    {
                        "FLUVIAL_DIRECTORY": str(self.where),
                        "FLUVIAL_SCENARIO_RANK": str(self._mark),
                        # Hosts in a box have one memory, by which UCX would find a way around the
                        # network.
                        **({"UCX_TLS": "tcp,self"} if len(cast.hosts) > 1 else {}),
                    }
                ),
                timeout=None if self.keeps else max(self._deadline - time.monotonic(), 0.1),
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _write_arguments(self, cast: Cast, arguments: dict[str, Any]) -> None:
        (self._records / f"{cast.name}.arguments").write_bytes(pickle.dumps(arguments))

    def left_over(self) -> list[int]:
        """Return the processes of this scenario that still run."""
        mark = f"FLUVIAL_SCENARIO_RANK={self._mark}\0".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return found

    def __enter__(self) -> Jobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        if isinstance(error, Exception):
            self._say_where_they_are(error)
        for job in self._started.values():
            job.kill()
        until = time.monotonic() + _DYING_S
        while (left := self.left_over()) and time.monotonic() < until:
            time.sleep(0.02)
        if self.box:
            self.box.close()
        if left and kind is None:
            raise ScenarioFailed(f"processes were left behind: {left}")

    def _say_where_they_are(self, error: Exception) -> None:
        """Add to what a check has found what the jobs have printed, and where they are."""
        running = [job for job in self._started.values() if job.poll() is None]
        for job in running:
            for rank in range(job.ranks):
                with contextlib.suppress(Exception):  # it has ended just now, or not begun
                    job.signal(signal.SIGABRT, rank)
        time.sleep(_STACKS_S if running else 0)
        for name, job in self._started.items():
            told = self._told(name, job, job.poll() or 0)
            error.add_note(str(told))


def write_whole(path: pathlib.Path, text: str) -> None:
    """Write a file that appears under its name when it is whole, as a job that waits reads it."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text)
    draft.rename(path)


def wait_until(condition: Callable[[], Any], timeout: float = 20.0, what: str = "") -> Any:
    """Poll `condition` every 10 ms for its first true value; AssertionError after `timeout` s."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout} s in vain for {what or condition}")
        time.sleep(0.01)
    return value
