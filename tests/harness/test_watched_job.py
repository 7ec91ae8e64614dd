# SPDX-License-Identifier: Apache-2.0
import os
import signal
import sys

import pytest

from harness import copies
from harness.jobs import wait_until
from harness.watched_job import WatchedJob


def start(command, ranks, name="job", **options):
    return WatchedJob.start(command, name=name, ranks=ranks, env=os.environ, **options)


@pytest.mark.any_mpi
def test_an_unknown_rank_is_an_error(launcher):
    with (
        start(launcher.command(1, ["sleep", "600"]), 1, "writer") as job,
        pytest.raises(ProcessLookupError, match="writer: no process is rank 3 of 1"),
    ):
        job.pid(3, timeout=0.1)


def test_copies_end_with_the_highest_exit_code():
    script = 'exit "$FLUVIAL_LAUNCH_RANK"'
    assert start(copies.command(3, ["sh", "-c", script]), 3).wait(20) == 2


def test_a_copy_is_killed_while_the_others_go_on():
    with start(copies.command(2, ["sleep", "600"]), 2) as job:
        other = job.pid(1)
        assert job.signal(signal.SIGKILL, rank=0) == 1
        wait_until(lambda: set(job.pids()) == {1})
        assert job.pid(1) == other and job.poll() is None
        job.signal(signal.SIGTERM, rank=1)
        assert job.wait(20) == 128 + signal.SIGTERM, "the highest code"


def test_copies_end_with_the_job():
    with start(copies.command(2, [sys.executable, "-c", "import time; time.sleep(600)"]), 2) as job:
        pids = [job.pid(rank) for rank in range(2)]
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)
