# SPDX-License-Identifier: Apache-2.0
"""A running job, as the process that started it sees it."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import IO, Self, TypeAlias

from .checks import check_ranks, check_timeout
from .parent_only import give_up_in_children
from .supervisor import ranks_beneath, supervised

Redirected: TypeAlias = int | IO[bytes] | IO[str] | None
"""Where a stream of a process leads, as `subprocess.Popen` takes it."""


class Job:
    """A running job, as `Launcher.start` returns it; as a context manager it is killed on exit.

    Attributes
    ----------
    name, ranks
        As given to `Launcher.start`.
    process
        The supervisor, a `subprocess.Popen`; its ``stdout`` and ``stderr`` are the job's.
    """

    def __init__(
        self,
        name: str,
        ranks: int,
        process: subprocess.Popen[bytes],
        keep_alive: int,
    ):
        self.name = name
        self.ranks = ranks
        self.process = process
        self._keep_alive: int | None = keep_alive
        give_up_in_children(self)

    @classmethod
    def start(
        cls,
        command: Sequence[str],
        *,
        name: str,
        ranks: int,
        env: Mapping[str, str],
        timeout: float | None = None,
        cwd: str | os.PathLike[str] | None = None,
        stdin: Redirected = subprocess.DEVNULL,
        stdout: Redirected = None,
        stderr: Redirected = None,
    ) -> Self:
        """Start `command`, which makes `ranks` ranks, under a supervisor, and return at once.

        The supervisor has a pipe from this process, so that it ends the job when this process dies.
        """
        check_ranks(ranks)
        check_timeout(timeout)
        keep_alive_read, keep_alive_write = os.pipe()
        try:
            process = subprocess.Popen(
                supervised(command, timeout=timeout, name=name, watch_fd=keep_alive_read),
                env=env,
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(keep_alive_read,),
                start_new_session=True,
            )
        except BaseException:
            os.close(keep_alive_write)
            raise
        finally:
            os.close(keep_alive_read)
        return cls(name, ranks, process, keep_alive_write)

    @property
    def returncode(self) -> int | None:
        """The exit code, or None while the job runs."""
        return self.poll()

    def poll(self) -> int | None:
        """Return the exit code, or None while the job runs."""
        code = self.process.poll()
        if code is not None:
            self._let_go()
        return code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of every process of the job and return its exit code.

        The code is mpiexec's: after a signal MPICH gives its number, not 128 + it. `fluvial run`
        tells the rank's own.

        Raises
        ------
        subprocess.TimeoutExpired
            After `timeout` seconds; the job goes on.
        """
        code = self.process.wait(timeout)
        self._let_go()
        return code

    def pids(self) -> dict[int, int]:
        """Return the process id of each rank that is running now, by rank."""
        return ranks_beneath(self.process.pid)

    def signal(self, number: int) -> int:
        """Send a signal to the process of every rank that runs now; return their number."""
        reached = 0
        for pid in self.pids().values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
                reached += 1
        return reached

    def kill(self) -> int:
        """End every process of the job now and return the exit code."""
        if self.poll() is None:
            self.process.terminate()
        return self.wait()

    def give_up(self) -> None:
        """Let go of the job in a child by fork(): it ends with the process that started it."""
        self._let_go()

    def _let_go(self) -> None:
        keep_alive, self._keep_alive = self._keep_alive, None
        if keep_alive is not None:
            os.close(keep_alive)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.kill()
