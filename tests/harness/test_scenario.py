# SPDX-License-Identifier: Apache-2.0
"""The harness tested by itself: what it launches, reports and cleans up."""

import os
import signal
import subprocess
import sys
import time

import pytest

from harness import ScenarioFailed, scenario, wait_until, write_whole


@scenario("writer on 2 ranks, reader on 3 ranks")
class test_jobs_are_separate_worlds:
    def writer(comm, fl, where):
        return comm.size, comm.allreduce(comm.rank), os.getpid()

    def reader(comm, fl, where):
        return comm.size, comm.allreduce(comm.rank), os.getpid()

    def check(jobs):
        results = jobs.finish()
        assert [r[:2] for r in results["writer"]] == [(2, 1)] * 2
        assert [r[:2] for r in results["reader"]] == [(3, 3)] * 3
        assert len({r[2] for r in results["writer"] + results["reader"]}) == 5


@scenario("writer on 1 rank, late reader on 2 ranks")
class test_a_job_starts_later_with_arguments:
    def writer(comm, fl, where):
        write_whole(where / "ready", "now")

    def reader(comm, fl, where, times):
        return [(where / "ready").read_text()] * times

    def check(jobs):
        jobs.start("writer")
        wait_until((jobs.where / "ready").exists)
        jobs.start("late_reader", times=2)
        assert jobs.finish()["late_reader"] == [["now", "now"]] * 2


@pytest.mark.parametrize("steps", [1, 3])
@scenario("counter on 2 processes", counter=lambda comm, fl, where, steps: (comm, steps))
def test_processes_have_no_communicator(jobs, steps):
    jobs.start(steps=steps)
    assert jobs.finish() == {"counter": [(None, steps)] * 2}


def _has_pytest():
    return "_pytest" in sys.modules


def _raises_in_a_function_of_the_module():
    with pytest.raises(LookupError, match="no such dataset"):
        raise LookupError("no such dataset")


@scenario("one on 1 process, other on 1 process")
class test_a_rank_imports_pytest_when_it_needs_it_and_before_its_role:
    def one(comm, fl, where):
        before = _has_pytest()
        _raises_in_a_function_of_the_module()
        return before

    def other(comm, fl, where):
        return _has_pytest()

    def check(jobs):
        assert jobs.finish() == {"one": [True], "other": [False]}


@scenario("writer on 3 ranks")
class test_an_error_on_one_rank_is_reported_with_its_rank:
    def writer(comm, fl, where):
        if comm.rank == 1:
            raise LookupError("no such dataset")
        comm.Barrier()

    def check(jobs):
        with pytest.raises(
            ScenarioFailed, match=r"writer rank 1:\n(.*\n)*.*LookupError: no such dataset"
        ):
            jobs.finish()
        outcome = jobs.outcome("writer")
        assert outcome.returncode != 0
        assert outcome.errors[1].is_a("KeyError") is False
        assert outcome.errors[1].is_a("Exception")
        assert outcome.errors[0] is outcome.errors[2] is None


@scenario("writer on 2 ranks")
class test_an_error_on_every_rank_is_heard_from_every_rank:
    def writer(comm, fl, where):
        time.sleep(0.3 * comm.rank)
        raise ValueError(f"rank {comm.rank} says no")

    def check(jobs):
        jobs.start()
        outcome = jobs.outcome("writer")
        assert [error.message for error in outcome.errors] == ["rank 0 says no", "rank 1 says no"]


@scenario("sleeper on 2 ranks", timeout=6)
class test_the_time_limit_ends_all_and_says_where_they_hung:
    def sleeper(comm, fl, where):
        child = subprocess.Popen(["sleep", "600"], start_new_session=True)
        (where / f"child-{comm.rank}").write_text(str(child.pid))
        time.sleep(600)

    def check(jobs):
        with pytest.raises(ScenarioFailed, match="its time limit") as failure:
            jobs.finish()
        assert "timed out after" in str(failure.value)
        assert "in sleeper" in str(failure.value)  # faulthandler's word
        children = [int(path.read_text()) for path in jobs.where.glob("child-*")]
        assert len(children) == 2
        assert not any(os.path.exists(f"/proc/{child}") for child in children)


@scenario("sleeper on 1 process")
class test_a_check_that_fails_says_where_the_jobs_are:
    def sleeper(comm, fl, where):
        (where / "here").touch()
        time.sleep(600)

    def check(jobs):
        jobs.start()
        wait_until((jobs.where / "here").exists)
        error = AssertionError("what it has found")
        jobs.__exit__(AssertionError, error, None)
        assert "in sleeper" in error.__notes__[0]


@scenario("worker on 3 processes")
class test_one_process_is_killed_while_the_others_go_on:
    def worker(comm, fl, where):
        (where / f"up-{os.getpid()}").touch()
        wait_until((where / "go").exists)
        return "went on"

    def check(jobs):
        job = jobs.start()
        wait_until(lambda: len(list(jobs.where.glob("up-*"))) == 3)
        os.kill(job.pid(1), signal.SIGKILL)
        (jobs.where / "go").touch()
        outcome = jobs.outcome("worker")
        assert outcome.values == ["went on", None, "went on"]
        assert outcome.returncode == 128 + signal.SIGKILL


@scenario("worker on 2 ranks")
class test_one_rank_is_stopped_and_continued:
    def worker(comm, fl, where):
        write_whole(where / f"pid-{comm.rank}", str(os.getpid()))
        wait_until((where / "go").exists)
        return os.getpid()

    def check(jobs):
        def state(pid):
            with open(f"/proc/{pid}/stat") as stat:
                return stat.read().rpartition(")")[2].split()[0]

        job = jobs.start()
        wait_until((jobs.where / "pid-1").exists)
        assert job.pid(1) == int((jobs.where / "pid-1").read_text())
        job.signal(signal.SIGSTOP, rank=1)
        wait_until(lambda: state(job.pid(1)) == "T")
        assert state(job.pid(0)) != "T"
        job.signal(signal.SIGCONT, rank=1)
        (jobs.where / "go").touch()
        assert jobs.finish()["worker"][1] == job_pid(jobs, 1)


def job_pid(jobs, rank):
    return int((jobs.where / f"pid-{rank}").read_text())


def test_nothing_outlives_the_process_that_started_a_job(tmp_path):
    """The starter dies by SIGKILL: its job, and what that job started, go with it."""
    starter = (
        "import sys, time; from fluvial.launch import Launcher;"
        f"Launcher.detect().start(2, ['sh', '-c', 'echo $$ >> {tmp_path}/pids; sleep 600 & wait']);"
        "time.sleep(600)"
    )
    process = subprocess.Popen([sys.executable, "-c", starter])
    try:
        pids = wait_until(
            lambda: (
                (tmp_path / "pids").exists()
                and len(lines := (tmp_path / "pids").read_text().split()) == 2
                and lines
            )
        )
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), timeout=20)
