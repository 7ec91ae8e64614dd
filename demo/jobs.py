# SPDX-License-Identifier: Apache-2.0
"""Runs MPI jobs side by side until all have ended, and passes on their events with their times."""

from __future__ import annotations

import contextlib
import pathlib
import queue
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import IO, Any

from fluvial.launch import Job, Launcher

from demo.live_view import View
from demo.progress import Event, parse

TAIL_LINES = 15
LAST_WORDS_SECONDS = 3.0
"""How long the other jobs may go on, to say why, once one has failed."""


@dataclass(frozen=True)
class Program:
    """A job to run: its name, how many ranks, and the Python script with its arguments."""

    name: str
    ranks: int
    arguments: tuple[str, ...]


@dataclass
class Outcome:
    """What became of a job.

    Attributes
    ----------
    launched, ready, first_output, finished, ended
        Seconds on the monotonic clock: mpiexec started, the program set up, its first output, its
        work done, the last process gone.
    figures
        Its ``ready`` and ``finished`` events, together.
    """

    launched: float
    ready: float = 0.0
    first_output: float = 0.0
    finished: float = 0.0
    ended: float = 0.0
    figures: Event = field(default_factory=dict)

    def note(self, event: Event, now: float) -> None:
        """Take in what the job said."""
        if event["event"] in ("ready", "finished"):
            setattr(self, event["event"], now)
            self.figures.update(event)
        elif event["event"] == "output":
            self.first_output = self.first_output or now


class JobFailedError(RuntimeError):
    """One or more jobs ended with an error; the message has the ends of their logs."""

    def __init__(self, failures: list[tuple[str, int, pathlib.Path]]):
        parts = []
        told = [(name, code, log, read_errors(log)) for name, code, log in failures]
        told.sort(key=lambda failure: all("PeerLost" in line for line in failure[3] or [""]))
        for name, code, log, errors in told:  # a job that only lost its peer comes last
            parts.append(f"the {name} failed with exit code {code}")
            parts += [f"  {error}" for error in errors]
            parts.append(f"  its log, {log}, ends so:")
            parts += [f"    {line}" for line in tail(log)] or ["    (it is empty)"]
        super().__init__("\n".join(parts))


def read_errors(log: pathlib.Path) -> list[str]:
    """Return what was raised, from the tracebacks in a log: one line each, none twice."""
    found: dict[str, None] = {}
    inside = False
    for line in log.read_text(errors="replace").splitlines() if log.exists() else ():
        if line.startswith("Traceback "):
            inside = True
        elif inside and line and not line.startswith((" ", "\t")):
            found[line] = None
            inside = False
    return list(found)


def tail(log: pathlib.Path, lines: int = TAIL_LINES) -> list[str]:
    """Return the last lines of a file, without empty ones."""
    text = log.read_text(errors="replace") if log.exists() else ""
    return [line for line in text.splitlines() if line.strip()][-lines:]


def run_together(
    programs: list[Program], launcher: Launcher, logs: pathlib.Path, view: View
) -> dict[str, Outcome]:
    """Start all programs, pass their events to `view`, and wait until all have ended.

    However this function is left, no process of them stays behind.

    Parameters
    ----------
    programs
        Jobs with distinct names.
    launcher
        Starts them.
    logs
        Folder that gets ``NAME.log`` with everything else that a job printed.
    view
        Is told each event.

    Raises
    ------
    JobFailedError
        When a job ends with an error; the others are then ended too.
    """
    said: queue.Queue[tuple[str, float, Event]] = queue.Queue()
    outcomes: dict[str, Outcome] = {}
    with contextlib.ExitStack() as stack:
        running: dict[str, Job] = {}
        listeners = []
        for program in programs:
            log = stack.enter_context((logs / f"{program.name}.log").open("w"))
            outcomes[program.name] = Outcome(time.monotonic())
            job = stack.enter_context(_start(program, launcher, log))
            running[program.name] = job
            listener = threading.Thread(target=_listen, args=(program.name, job, log, said))
            listener.start()
            stack.callback(_stop, job, listener)
            listeners.append(listener)
        _attend(running, listeners, outcomes, said, view, logs)
    return outcomes


def _start(program: Program, launcher: Launcher, log: IO[str]) -> Job:
    return launcher.start(
        program.ranks,
        [sys.executable, "-m", "mpi4py", *program.arguments],
        name=program.name,
        stdout=subprocess.PIPE,
        stderr=log,
    )


def _stop(job: Job, listener: threading.Thread) -> None:
    """Kill a job, which ends its output, and with it the listener."""
    job.kill()
    listener.join()


def _listen(name: str, job: Job, log: IO[str], said: queue.Queue[tuple[str, float, Event]]) -> None:
    """Pass on a job's events until its output ends; what else it prints goes into its log."""
    for raw in job.process.stdout or ():
        line = raw.decode(errors="replace")
        event = parse(line)
        if event is None:
            log.write(line)
        else:
            said.put((name, time.monotonic(), event))
    log.flush()


def _attend(
    running: dict[str, Job],
    listeners: list[threading.Thread],
    outcomes: dict[str, Outcome],
    said: queue.Queue[tuple[str, float, Event]],
    view: View,
    logs: pathlib.Path,
) -> None:
    failures: list[tuple[str, int, pathlib.Path]] = []
    give_up = float("inf")
    left = dict(running)
    while (left and time.monotonic() < give_up) or not said.empty() or _any_alive(listeners, left):
        with contextlib.suppress(queue.Empty):
            name, now, event = said.get(timeout=0.05)
            outcomes[name].note(event, now)
            view.event(name, event)
        for name in [name for name, job in left.items() if job.poll() is not None]:
            outcomes[name].ended = time.monotonic()
            code: Any = left.pop(name).returncode
            if code != 0:
                failures.append((name, code, logs / f"{name}.log"))
                give_up = min(give_up, time.monotonic() + LAST_WORDS_SECONDS)
    if failures:
        raise JobFailedError(failures)


def _any_alive(listeners: list[threading.Thread], left: dict[str, Job]) -> bool:
    """Tell whether events may still come although every job has ended."""
    return not left and any(listener.is_alive() for listener in listeners)
