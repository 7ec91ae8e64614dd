# SPDX-License-Identifier: Apache-2.0
"""Jobs as the demo and the tests start them."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from fluvial.launch import Launcher, rank_guard, supervisor
from fluvial.launch.guard_reports import GuardReports, RankEnded
from fluvial.launch.supervisor import TIMED_OUT

import fluvial as fl

ROUNDS_IN_HALF_A_SECOND_ON_ONE_CORE = """
import os, time
import mpi4py
mpi4py.rc.threads = False  # with threads MPICH yields by itself, between its locks
from mpi4py import MPI
comm = MPI.COMM_WORLD
os.sched_setaffinity(0, {comm.bcast(min(os.sched_getaffinity(0)))})
comm.Barrier()
start = time.perf_counter()
rounds = 0
while comm.allreduce(time.perf_counter() - start) < comm.size / 2:
    rounds += 1
if comm.rank == 0:
    print(rounds)
"""


@pytest.fixture
def launcher():
    return Launcher.detect()


@pytest.mark.any_mpi
def test_exit_codes_pass_through(launcher):
    assert launcher.start(1, ["true"]).wait(20) == 0
    assert launcher.start(2, ["sh", "-c", "exit 7"], stderr=subprocess.DEVNULL).wait(20) == 7


@pytest.mark.any_mpi
def test_a_time_limit_ends_the_job(launcher):
    start = time.monotonic()
    job = launcher.start(2, ["sleep", "600"], timeout=0.5, stderr=subprocess.PIPE)
    assert job.wait(20) == TIMED_OUT
    assert time.monotonic() - start < 10
    assert b"timed out after 0.5 s" in job.process.stderr.read()


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


def test_a_missing_mpiexec_is_an_error_with_a_remedy():
    with pytest.raises(FileNotFoundError, match="pip install mpich"):
        Launcher.detect("/nowhere/mpiexec")


@pytest.mark.any_mpi
def test_an_mpiexec_by_its_kind(launcher):
    assert Launcher.of_kind(launcher.mpi, launcher.mpiexec) == launcher
    other = {"mpich": "openmpi", "openmpi": "mpich"}[launcher.mpi]
    assert Launcher.of_kind(other, launcher.mpiexec).mpi == other


def test_no_mpiexec_of_a_kind_tells_what_was_there(launcher, monkeypatch):
    monkeypatch.setattr(sys, "prefix", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(FileNotFoundError, match=r"no mpiexec of openmpi: got .* belongs to mpich"):
        Launcher.of_kind("openmpi", launcher.mpiexec)


@pytest.mark.any_mpi
def test_two_programs_in_one_job(launcher):
    size = "import os; from mpi4py import MPI; os.write(1, b'%d\\n' % MPI.COMM_WORLD.size)"
    words = [sys.executable, "-c", size]
    command = launcher.command(2, words, (1, words))
    printed = subprocess.check_output(command, env=launcher.environment(), text=True, timeout=60)
    assert printed.split() == ["3", "3", "3"]


def test_guard_and_supervisor_know_a_rank_by_the_same_variables():
    assert rank_guard.RANK_VARIABLES == supervisor.RANK_VARIABLES
    assert rank_guard.OWN_RANK_VARIABLE == supervisor.OWN_RANK_VARIABLE


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become another user")
def test_other_users_cannot_report(capfd):
    read, write = os.pipe()
    reports = GuardReports(read)
    program = (
        "import os, socket, sys\n"
        "s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "os.setuid(int(sys.argv[1]))\n"
        "s.connect('\\0' + sys.argv[2])\n"
        "s.send(b'H0 0'); s.send(b'1said\\n'); s.send(b'X7'); s.recv(1)\n"
    )
    ended = {}
    for user in (65534, 0):
        words = [sys.executable, "-c", program, str(user), reports.address]
        with subprocess.Popen(words, stderr=subprocess.DEVNULL) as reporter:
            ended[user] = []
            deadline = time.monotonic() + 20
            while reporter.poll() is None and not ended[user] and time.monotonic() < deadline:
                ended[user] += reports.wait(0.05)
            reports.end(0)
    reports.close()
    os.close(read)
    os.close(write)
    assert ended == {65534: [], 0: [RankEnded(0, 0, 7)]}
    assert capfd.readouterr().out == "said\n"


@pytest.mark.parametrize("ranks", [0, -1, 1.5, "2", True, None])
def test_ranks_of_no_job(ranks):
    with pytest.raises(ValueError, match=r"ranks is no number of ranks: got .* from 1"):
        Launcher("mpich", "mpiexec").start(ranks, ["true"])


@pytest.mark.parametrize("argv", [[], "true", b"true", [1], None])
def test_words_of_no_program(argv):
    with pytest.raises(ValueError, match="argv is no command line: got"):
        Launcher("mpich", "mpiexec").start(1, argv)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 10**400, "1", True])
def test_no_time_limit(timeout):
    with pytest.raises(ValueError, match=r"timeout is no time limit: got .* above 0"):
        Launcher("mpich", "mpiexec").start(1, ["true"], timeout=timeout)


@pytest.mark.any_mpi
def test_a_time_limit_of_millennia(launcher):
    assert launcher.start(1, ["true"], timeout=1e11).wait(20) == 0


@pytest.mark.any_mpi
def test_a_name_like_an_option(launcher):
    assert launcher.start(1, ["true"], name="-x").wait(20) == 0


def test_a_search_path_of_its_own_does_not_take_fluvial_from_a_job(launcher, tmp_path):
    own = str(pathlib.Path(fl.__file__).resolve().parents[1])
    further = launcher.environment({"PYTHONPATH": "/further"})["PYTHONPATH"]
    assert further.split(os.pathsep) == [own, "/further"]
    (tmp_path / "fluvial").mkdir()
    (tmp_path / "fluvial" / "__init__.py").touch()
    another = f"/further{os.pathsep}{tmp_path}"
    assert launcher.environment({"PYTHONPATH": another})["PYTHONPATH"] == another


@pytest.mark.any_mpi
def test_more_ranks_than_cores_yield_to_each_other(launcher):
    """Two ranks share a core: a spinning one keeps it for a time slice, a yielding one for a poll.

    Work beside the test slows both (a rank yields to that too), so the best of some tries counts.
    """

    def rounds(env):
        command = [sys.executable, "-c", ROUNDS_IN_HALF_A_SECOND_ON_ONE_CORE]
        with launcher.start(2, command, env=env, stdout=subprocess.PIPE, timeout=60) as job:
            return int(job.process.communicate(timeout=90)[0])

    spin = {"MPIR_CVAR_CH4_PROGRESS_THROTTLE": "0", "OMPI_MCA_mpi_yield_when_idle": "0"}
    tries = []
    while not tries or (len(tries) < 8 and tries[-1][1] <= 5 * tries[-1][0]):
        tries.append((rounds(spin), rounds({})))
    spinning, yielding = tries[-1]
    assert yielding > 5 * spinning, f"rounds (spinning, yielding) of each try: {tries}"
