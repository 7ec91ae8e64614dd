# SPDX-License-Identifier: Apache-2.0
"""A job whose ranks can be told apart, to stop or to kill one of them."""

from __future__ import annotations

import contextlib
import os
import time

from fluvial.launch import Job


class WatchedJob(Job):
    """A job that is asked for single ranks."""

    def pid(self, rank: int, timeout: float = 20.0) -> int:
        """Return the process id of `rank`, waiting up to `timeout` seconds for its start.

        Raises
        ------
        ProcessLookupError
            When no such rank runs by then, or the job has ended.
        """
        deadline = time.monotonic() + timeout
        while (pid := self.pids().get(rank)) is None:
            if self.poll() is not None or time.monotonic() > deadline:
                raise ProcessLookupError(
                    f"{self.name}: no process is rank {rank} of {self.ranks} "
                    f"(exit code {self.returncode}, waited up to {timeout} s)"
                )
            time.sleep(0.01)
        return pid

    def signal(self, number: int, rank: int | None = None) -> int:
        """Send a signal to the process of one rank, or of every rank that runs now."""
        if rank is None:
            return super().signal(number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid(rank), number)
            return 1
        return 0
