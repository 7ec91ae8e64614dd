# SPDX-License-Identifier: Apache-2.0
"""Jobs that play their roles once a seed, in one start: most of a short scenario is to start them.

A rank that has played waits for the file ROLE.again in its folder of records, which names the next
such folder, with further arguments. A job that has ended, because a rank raised or was killed, is
started anew. What the end of a job leaves behind is no matter here: the scenario alone tests it.
"""

from __future__ import annotations

import contextlib
import pathlib
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fluvial.launch.supervisor import TIMED_OUT

from harness.jobs import Jobs, Outcome
from harness.many_seeds import group_of
from harness.sentence import Cast
from harness.watched_job import WatchedJob


class KeptJobs(Jobs):
    """The jobs of one scenario, seed after seed."""

    keeps = True

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._waiting: dict[str, WatchedJob] = {}
        self._folder_of: dict[str, pathlib.Path] = {}  # where the ranks of a role look

    def again(self, where: pathlib.Path, timeout: float) -> None:
        """Go on with the folder and the time limit of the next seed."""
        self.where, self._records = where, where / "harness"
        self._records.mkdir(parents=True)
        self._deadline = time.monotonic() + timeout

    def outcome(self, name: str) -> Outcome:
        """Wait until all ranks have played, or the job has ended; tell how, without judging."""
        job = self._started[name]
        records = [self._records / f"{name}-{rank}.pickle" for rank in range(job.ranks)]
        while job.poll() is None and not all(record.exists() for record in records):
            if time.monotonic() > self._deadline:
                job.kill()
                return self._told(name, job, TIMED_OUT)
            time.sleep(0.002)
        told = self._told(name, job, 0)
        if any(told.errors) or job.poll() is not None:
            return super().outcome(name)  # the job ends, or has ended
        return told

    def _start(self, cast: Cast, arguments: dict[str, Any]) -> WatchedJob:
        job = self._waiting.pop(cast.name, None)
        if job is None or job.poll() is not None:
            job = super()._start(cast, arguments)
        else:
            self._write_arguments(cast, arguments)
            invitation = self._folder_of[cast.name] / f"{cast.name}.again"
            invitation.with_suffix(".partial").write_text(str(self._records))
            invitation.with_suffix(".partial").rename(invitation)
        self._folder_of[cast.name] = self._records
        return job

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.close()
        else:
            self._waiting |= self._started
            self._started = {}

    def close(self) -> None:
        """End all jobs."""
        self._started |= self._waiting
        self._waiting = {}
        super().__exit__(None, None, None)


class _Keeper:
    """Keeps the jobs of the scenario whose seeds are being run, of one at a time."""

    def __init__(self) -> None:
        self._group: str | None = None
        self._jobs: KeptJobs | None = None

    @contextlib.contextmanager
    def jobs(
        self, group: str, casts: Any, *, where: pathlib.Path, timeout: float, **others: Any
    ) -> Iterator[KeptJobs]:
        if self._jobs is not None and self._group == group:
            self._jobs.again(where, timeout)
        else:
            self.close()
            self._jobs = KeptJobs(casts, where=where, timeout=timeout, **others)
            self._group = group
        try:
            with self._jobs as jobs:
                yield jobs
        except BaseException:
            self._jobs = None
            raise

    def close(self) -> None:
        if self._jobs is not None:
            jobs, self._jobs = self._jobs, None
            jobs.close()


_KEEPER = pytest.StashKey[_Keeper]()


def kept_jobs(
    request: pytest.FixtureRequest, casts: Any, **others: Any
) -> contextlib.AbstractContextManager[Jobs]:
    """Return the jobs of a scenario that is one of several items, one a seed; else new ones."""
    group = group_of(request.node)
    if group is None:
        return Jobs(casts, **others)
    stash = request.session.stash
    if _KEEPER not in stash:
        stash[_KEEPER] = _Keeper()
        request.config.add_cleanup(stash[_KEEPER].close)
    return stash[_KEEPER].jobs(group, casts, **others)
