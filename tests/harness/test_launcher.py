# SPDX-License-Identifier: Apache-2.0
import os
import signal
import subprocess
import sys
import time

import pytest

from fluvial.launcher import Launcher
from fluvial.supervisor import TIMED_OUT

BEST_ROUND_S = """
import time
from mpi4py import MPI
comm = MPI.COMM_WORLD
best = float("inf")
begin = time.perf_counter()
while comm.bcast(time.perf_counter() - begin < 1):
    start = time.perf_counter()
    for _ in range(20):
        comm.allreduce(1)
    best = min(best, (time.perf_counter() - start) / 20)
if comm.rank == 0:
    print(best)
"""


@pytest.mark.any_mpi
def test_exit_codes_pass_through(launcher):
    assert launcher.start(1, ["true"]).wait(20) == 0
    assert launcher.start(2, ["sh", "-c", "exit 7"], stderr=subprocess.DEVNULL).wait(20) == 7
    assert launcher.start(2, ["sh", "-c", "exit 7"], singly=True).wait(20) == 7


@pytest.mark.any_mpi
def test_a_time_limit_ends_the_job(launcher):
    start = time.monotonic()
    job = launcher.start(2, ["sleep", "600"], timeout=0.5, stderr=subprocess.PIPE)
    assert job.wait(20) == TIMED_OUT
    assert time.monotonic() - start < 10
    assert b"timed out after 0.5 s" in job.process.stderr.read()


@pytest.mark.any_mpi
def test_terminate_gives_ranks_time_to_end(launcher, tmp_path):
    script = f"trap 'echo ended > {tmp_path}/$$; exit 0' TERM; touch {tmp_path}/up-$$; while :; do sleep 0.05; done"
    with launcher.start(2, ["sh", "-c", script]) as job:
        deadline = time.monotonic() + 20
        while len(list(tmp_path.glob("up-*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        job.terminate(grace=10)
    assert sorted(p.read_text() for p in tmp_path.glob("[0-9]*")) == ["ended\n", "ended\n"]


@pytest.mark.any_mpi
def test_kill_ends_what_has_left_the_process_group(launcher, tmp_path):
    script = f"setsid sleep 600 & echo $! > {tmp_path}/$$; wait"
    with launcher.start(2, ["sh", "-c", script]) as job:
        deadline = time.monotonic() + 20
        while len(list(tmp_path.glob("*"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert job.poll() is None
        assert job.kill() == 128 + signal.SIGTERM
    pids = [path.read_text().strip() for path in tmp_path.glob("*")]
    assert len(pids) == 2
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.any_mpi
def test_an_unknown_rank_is_an_error(launcher):
    with (
        launcher.start(1, ["sleep", "600"], name="writer") as job,
        pytest.raises(ProcessLookupError, match="writer: no process is rank 3 of 1"),
    ):
        job.pid(3, timeout=0.1)


def test_a_missing_mpiexec_is_an_error_with_a_remedy():
    with pytest.raises(FileNotFoundError, match="pip install mpich"):
        Launcher.detect("/nowhere/mpiexec")


def test_ranks_of_no_job():
    with pytest.raises(ValueError, match="ranks is 0"):
        Launcher("mpich", "mpiexec").start(0, ["true"])


@pytest.mark.any_mpi
def test_waiting_ranks_are_told_to_yield(launcher):
    names = {
        "mpich": "MPIR_CVAR_CH4_PROGRESS_THROTTLE",
        "openmpi": "OMPI_MCA_mpi_yield_when_idle",
    }
    with launcher.start(2, ["printenv", names[launcher.mpi]], stdout=subprocess.PIPE) as job:
        assert job.process.communicate(timeout=20)[0].split() == [b"1", b"1"]


def test_more_ranks_than_cores_do_not_crawl():
    """Without the launcher's options a round of MPICH takes milliseconds, not microseconds."""
    launcher = Launcher.detect()
    if launcher.mpi != "mpich":
        pytest.skip("Open MPI's mpiexec lets ranks yield by itself when there are too many")
    ranks = min(2 * (os.cpu_count() or 1), 16)
    plain = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "0"}

    def best_round(env):
        command = [sys.executable, "-c", BEST_ROUND_S]
        with launcher.start(ranks, command, env=env, stdout=subprocess.PIPE, timeout=60) as job:
            return float(job.process.communicate(timeout=90)[0])

    measured = []
    for _ in range(5):  # a busy machine can spoil an attempt
        measured.append((best_round({}), best_round(plain)))
        if measured[-1][0] < measured[-1][1] / 2:
            return
    pytest.fail(f"seconds a round, with and without the options: {measured}")
