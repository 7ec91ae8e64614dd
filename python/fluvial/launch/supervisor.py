# SPDX-License-Identifier: Apache-2.0
"""Run one command and answer for every process that comes of it; `Job.start` starts this.

::

    python supervisor.py [--timeout SECONDS] [--name NAME] [--watch-fd FD] -- COMMAND ARGUMENT …

It is the subreaper (``PR_SET_CHILD_SUBREAPER``) of the command, so it finds and kills each
descendant, whatever process group that moved to, when the command ends, when the time limit passes,
on SIGTERM, SIGINT or SIGHUP, and when the process that started it dies: that closes the pipe FD.
When the supervisor itself is killed, the kernel sends SIGTERM to the command (mpiexec then ends its
ranks), and the process that started the supervisor may be the next subreaper (`side_by_side`).
The exit code is the command's (128 + number after a signal), 124 when the time limit has passed, or
127 when the command cannot be executed.

It needs nothing but the standard library, and no site-packages: ``python -I -S`` starts in 20 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import pathlib
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

TIMED_OUT = 124
"""Exit code of a job that its time limit ended."""
NOT_STARTED = 127
"""Exit code of a job whose program cannot be executed."""

OWN_RANK_VARIABLE = "FLUVIAL_LAUNCH_RANK"
"""Where the program of a rank, and no process that only watches it, has its rank."""
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK")

_WAIT_S = 86400.0  # select takes no wait of 300 years
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_LIBC = ctypes.CDLL(None, use_errno=True)


def supervised(
    command: Sequence[str],
    *,
    timeout: float | None = None,
    name: str | None = None,
    watch_fd: int | None = None,
) -> list[str]:
    """Return the command line that runs `command` under a supervisor."""
    return [
        *(sys.executable, "-I", "-S", os.path.abspath(__file__)),
        *(["--timeout", str(timeout)] if timeout is not None else []),
        *([f"--name={name}"] if name is not None else []),
        *(["--watch-fd", str(watch_fd)] if watch_fd is not None else []),
        *("--", *command),
    ]


def become_subreaper() -> None:
    """Inherit each descendant whose own parent dies."""
    _LIBC.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent(number: int) -> None:
    """Get the signal `number` when the parent, or its thread that started this process, dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)


def descendants(root: int) -> Iterator[int]:
    """Yield the process ids beneath `root`, parents before children."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                stat = pathlib.Path("/proc", entry, "stat").read_bytes()
                state, parent = stat[stat.rindex(b")") + 2 :].split()[:2]
                if state != b"Z":
                    children.setdefault(int(parent), []).append(int(entry))
    level = children.get(root, [])
    while level:
        yield from level
        level = [child for pid in level for child in children.get(pid, [])]


def ranks_beneath(root: int) -> dict[int, int]:
    """Return the process id of each rank's program among the descendants of `root`, by rank."""
    found: dict[int, tuple[bool, int]] = {}
    for pid in descendants(root):  # a rank comes before the processes that it started
        rank, is_program = _rank_of(pid)
        if rank is not None and (rank not in found or (is_program and not found[rank][0])):
            found[rank] = is_program, pid
    return {rank: pid for rank, (_, pid) in found.items()}


def _rank_of(pid: int) -> tuple[int | None, bool]:
    """Return the rank that a process has in its environment, and whether it is its program."""
    with contextlib.suppress(OSError, ValueError):
        pairs = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        values = dict(pair.partition(b"=")[::2] for pair in pairs)
        for variable in (OWN_RANK_VARIABLE, *RANK_VARIABLES):
            if variable.encode() in values:
                return int(values[variable.encode()]), variable == OWN_RANK_VARIABLE
    return None, False


def kill_descendants() -> None:
    """Kill every process beneath this one, also those that only become its children by that."""
    me = os.getpid()
    while remaining := list(descendants(me)):
        for pid in remaining:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.005)
        list(_reap())
    list(_reap())


def _reap() -> Iterator[tuple[int, int]]:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


class Supervisor:
    """Runs one command and answers for all of its processes."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.stop_signal = 0

    def run(self) -> int:
        """Run the command to its end, leave no process, and return the exit code."""
        become_subreaper()
        if self.options.watch_fd is None:
            die_with_parent(signal.SIGTERM)  # a pipe tells more surely; not every parent has one
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: setattr(self, "stop_signal", number))
        signal.signal(signal.SIGCHLD, lambda *_: None)

        try:
            child = self._start()
        except OSError as error:
            self._report_start(error)
            return NOT_STARTED
        watched = [wake_read] + ([] if self.options.watch_fd is None else [self.options.watch_fd])
        limit = self.options.timeout
        deadline = None if limit is None else time.monotonic() + limit
        try:
            while not self.stop_signal:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    self._report_hang(limit)
                    return TIMED_OUT
                ready = select.select(watched, [], [], left and min(left, _WAIT_S))[0]
                if wake_read in ready:
                    os.read(wake_read, 4096)
                elif ready:
                    return 128 + signal.SIGTERM  # our starter is gone
                ended = dict(_reap())
                if child in ended:
                    code = os.waitstatus_to_exitcode(ended[child])
                    return code if code >= 0 else 128 - code
            return 128 + self.stop_signal
        finally:
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            kill_descendants()

    def _start(self) -> int:
        child = subprocess.Popen(
            self.options.command, preexec_fn=lambda: die_with_parent(signal.SIGTERM)
        )
        child.returncode = 0  # reaped by us; its destructor must not
        return child.pid

    def _report_start(self, error: OSError) -> None:
        print(
            f"fluvial: cannot run the program: got {self.options.command[0]} ({error.strerror}); "
            "allowed: an executable, or a script whose first line is #! and an interpreter that "
            "exists",
            file=sys.stderr,
            flush=True,
        )

    def _report_hang(self, limit: float) -> None:
        ranks = ranks_beneath(os.getpid())
        running = [f"rank {rank} (process {pid})" for rank, pid in sorted(ranks.items())]
        name = self.options.name or " ".join(self.options.command)
        print(
            f"{name}: timed out after {limit:g} s; still running: {', '.join(running) or 'none'}",
            file=sys.stderr,
            flush=True,
        )
        for pid in ranks.values():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGABRT)
        time.sleep(0.5)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run a command, leave no process behind")
    parser.add_argument("--timeout", type=float, help="seconds until everything is killed")
    parser.add_argument("--name", help="what messages call the command")
    parser.add_argument("--watch-fd", type=int, help="a pipe; its end is the end of the command")
    parser.add_argument("command", nargs="+", help="program and arguments, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(Supervisor(_parse()).run())
