# SPDX-License-Identifier: Apache-2.0
"""Run one command and answer for every process that comes of it; `fluvial.launcher` starts this.

::

    python supervisor.py [--timeout SECONDS] [--singly COPIES] [--watch-fd FD] -- COMMAND ARGUMENT …

It is the subreaper (``PR_SET_CHILD_SUBREAPER``) of the command, so it finds and kills each
descendant, whatever process group that moved to, when the command ends, when the time limit passes,
on SIGTERM, SIGINT or SIGHUP, and when the process that started it dies: that closes the pipe FD.
The exit code is the command's (128 + number after a signal), or 124 when the time limit has passed.

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
from collections.abc import Iterator

TIMED_OUT = 124
"""Exit code of a job that its time limit ended."""

RANK_VARIABLES = (b"FLUVIAL_LAUNCH_RANK", b"OMPI_COMM_WORLD_RANK", b"PMIX_RANK", b"PMI_RANK")
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


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
    """Return the process id of each rank among the descendants of `root`, by rank."""
    found: dict[int, int] = {}
    for pid in descendants(root):  # a rank comes before the processes that it started
        rank = _rank_of(pid)
        if rank is not None:
            found.setdefault(rank, pid)
    return found


def _rank_of(pid: int) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        pairs = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        values = dict(pair.partition(b"=")[::2] for pair in pairs)
        for variable in RANK_VARIABLES:
            if variable in values:
                return int(values[variable])
    return None


class Supervisor:
    """Runs one job and answers for all of its processes."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.stop_signal = 0

    def run(self) -> int:
        """Run the job to its end, leave no process, and return the exit code."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if (
            self.options.watch_fd is None
        ):  # the pipe tells more surely, but not every parent has one
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        wake_read, wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: setattr(self, "stop_signal", number))
        signal.signal(signal.SIGCHLD, lambda *_: None)

        waiting = self._start(libc)
        codes: list[int] = []
        watched = [wake_read] + ([] if self.options.watch_fd is None else [self.options.watch_fd])
        limit = self.options.timeout
        deadline = None if limit is None else time.monotonic() + limit
        try:
            while waiting and not self.stop_signal:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    self._report_hang(limit)
                    return TIMED_OUT
                ready = select.select(watched, [], [], left)[0]
                if wake_read in ready:
                    os.read(wake_read, 4096)
                elif ready:
                    return 128 + signal.SIGTERM  # our starter is gone
                for pid, status in _reap():
                    if pid in waiting:
                        waiting.discard(pid)
                        code = os.waitstatus_to_exitcode(status)
                        codes.append(code if code >= 0 else 128 - code)
            if self.stop_signal:
                return 128 + self.stop_signal
            return max(codes)
        finally:
            self._kill_all()

    def _start(self, libc: ctypes.CDLL) -> set[int]:
        singly = self.options.singly

        def in_child() -> None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM if singly is None else signal.SIGKILL)

        started = set()
        for rank in range(singly or 1):
            env = os.environ if singly is None else os.environ | {"FLUVIAL_LAUNCH_RANK": str(rank)}
            child = subprocess.Popen(
                self.options.command, env=env, stdin=subprocess.DEVNULL, preexec_fn=in_child
            )
            child.returncode = 0  # reaped by us; its destructor must not
            started.add(child.pid)
        return started

    def _report_hang(self, limit: float) -> None:
        ranks = ranks_beneath(os.getpid())
        print(
            f"launcher: timed out after {limit:g} s: {' '.join(self.options.command)}; "
            + "still running: "
            + ", ".join(f"rank {rank} (process {pid})" for rank, pid in sorted(ranks.items())),
            file=sys.stderr,
            flush=True,
        )
        for pid in ranks.values():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGABRT)
        time.sleep(0.5)

    @staticmethod
    def _kill_all() -> None:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while remaining := list(descendants(os.getpid())):
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


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="run a command, leave no process behind")
    parser.add_argument("--timeout", type=float, help="seconds until everything is killed")
    parser.add_argument("--singly", type=int, metavar="COPIES", help="that many separate processes")
    parser.add_argument("--watch-fd", type=int, help="a pipe; its end is the end of the command")
    parser.add_argument("command", nargs="+", help="program and arguments, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(Supervisor(_parse()).run())
