# SPDX-License-Identifier: Apache-2.0
"""Pools of tasks on the ranks of a job, or on ranks that a program starts."""

import concurrent.futures
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from harness import scenario, wait_until

import fluvial as fl
from fluvial.flow import starting

_memory = []


def _fail(message):
    raise LookupError(message)


@fl.parallel
def _gather_ranks(comm, offset=0):
    return comm.gather(comm.rank + offset)


def _remember(value):
    _memory.append(value)


def _remembered():
    return _memory[0]


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def _world_rank():
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank


def _fail_on(rank):
    if _world_rank() == rank:
        raise OSError("this rank is of no use")
    return _world_rank()


def _refuse():
    if _world_rank() == 1:
        raise LookupError("no initialisation")


@pytest.mark.any_mpi
def test_more_ranks_than_a_started_pool_has_are_refused_when_they_are_asked_for():
    with fl.Pool(2) as pool:
        for wanted, said in ((3, "3"), ((4, 9), "4 to 9")):
            with pytest.raises(fl.InvalidArgument, match=rf"got {said} ranks; allowed: 1 to 2 r"):
                pool.with_options(ranks=wanted).submit(_gather_ranks)
        for tasks in ([fl.task(abs, -1)] * 3, []):
            with pytest.raises(fl.InvalidArgument, match=r"start together.*up to 2 ranks of"):
                pool.together(*tasks)
        assert pool.with_options(ranks=(1, 3)).submit(_gather_ranks).result(timeout=60) == [0]
        assert pool.with_options(ranks=2).submit(_gather_ranks).result(timeout=60) == [0, 1]


@pytest.mark.any_mpi
def test_a_serial_program_starts_its_ranks():
    with fl.Pool(2, initializer=_remember, initargs=(7,)) as pool:
        assert (pool.leads, pool.workers) == (True, 2)
        squares = [pool.submit(pow, i, 2) for i in range(50)]
        assert pool.submit(sum, squares).result(timeout=60) == sum(i * i for i in range(50))
        assert pool.submit(_remembered).result() == 7
        ranks = pool.with_options(ranks=2).submit(_gather_ranks)
        assert ranks.result(timeout=60) == [0, 1]
        with pytest.raises(LookupError, match="nothing there"):
            pool.submit(_fail, "nothing there").result(timeout=60)
        array = pool.submit(np.arange, 1e5).result(timeout=60)
        assert np.array_equal(pool.submit(np.negative, array).result(timeout=60), -array)
        begun = [pool.submit(time.sleep, 0.5) for _ in range(2)]
        waiting = pool.submit(abs, 1)
        while not all(future.running() for future in begun):
            time.sleep(0.01)
        assert waiting.cancel()
        assert not begun[0].cancel()
    assert all(future.done() for future in begun)
    with pytest.raises(fl.InvalidArgument, match="max_workers is out of range: got 0"):
        fl.Pool(0)


def test_workers_that_would_fill_the_memory_are_refused_before_one_is_started(monkeypatch):
    started = []
    monkeypatch.setattr(starting, "StartedJob", lambda *of: started.append(of))
    with pytest.raises(fl.InvalidArgument, match=r"got 1000000; allowed: 1 to \d+, 64 for each"):
        fl.Pool(1_000_000)
    assert started == []


@pytest.mark.any_mpi
def test_the_ranks_that_a_program_started_die(capsys):
    pool = fl.Pool(2, progress=True)
    assert pool.submit(abs, -1).result(timeout=60) == 1
    died = pool.submit(_die)
    assert isinstance(died.exception(timeout=60), fl.PeerLost)

    def refused():  # once the pool has seen that all of the job is gone
        try:
            pool.submit(abs, 1)
        except fl.PeerLost as error:
            assert "the MPI job of a pool has ended: got exit code " in str(error)
            assert "exit code 143" not in str(error)  # that would be of our own signal
            return True
        return False

    wait_until(refused, timeout=30)
    with pytest.raises(fl.PeerLost):
        pool.shutdown()
    assert re.search(r"\b(\d+) of \1 tasks in ", capsys.readouterr().err)


@fl.parallel
def _be_stuck(comm):
    if comm.rank == 0:
        raise LookupError("the others wait")
    time.sleep(1000)


@pytest.mark.any_mpi
def test_when_no_ranks_are_left_tasks_raise_the_error_of_the_first_that_was_lost():
    pool = fl.Pool(2, stuck_after=0.5)
    stuck = pool.with_options(ranks=2).submit(_be_stuck)
    assert isinstance(stuck.exception(timeout=60), LookupError)
    time.sleep(1)
    for later in (pool.submit(abs, -1), pool.together(fl.task(abs, -1))):
        with pytest.raises(fl.PeerLost, match="from the task '_be_stuck', which has failed"):
            later.result(timeout=60)
    with pytest.raises(fl.PeerLost):
        pool.shutdown()


@pytest.mark.any_mpi
def test_an_initializer_that_fails_in_a_job_that_was_started():
    said = "failed on rank 1 of its job, which has ended: got LookupError: no initialisation"
    pool = fl.Pool(2, initializer=_refuse)
    with pytest.raises(fl.PeerLost, match=said):
        pool.submit(abs, 1).result(timeout=60)
    with pytest.raises(fl.PeerLost, match=said):
        pool.submit(abs, 1)
    with pytest.raises(concurrent.futures.BrokenExecutor, match=said):
        pool.shutdown()
    with pytest.raises(fl.PeerLost, match=said), fl.Pool(2, initializer=_refuse):
        pass


@pytest.mark.parametrize(
    "wrong", [{"stall_timeout": -1}, {"stuck_after": 0}, {"resources": {"gpu": -1}}]
)
def test_what_a_pool_cannot_use_is_refused_before_ranks_start(wrong, monkeypatch):
    monkeypatch.setattr("fluvial.flow.started_job._start", lambda *_: pytest.fail("started"))
    for workers in (2, None):
        with pytest.raises(fl.InvalidArgument, match=r"out of range: got (-1|0)\b.*; allowed"):
            fl.Pool(workers, **wrong)


@scenario("job on 3 ranks", timeout=60)
class test_an_initializer_that_fails:
    def job(comm, fl, where):
        try:
            fl.Pool(comm=comm, initializer=_refuse)
        except (LookupError, fl.Error) as error:
            return type(error).__name__, str(error)

    def check(jobs):
        told = jobs.finish()["job"]
        assert told[1] == ("LookupError", "no initialisation")
        assert told[0] == told[2] == ("Error", "rank 1: the initializer of a pool raised an error")


@pytest.mark.any_mpi
@scenario("job on 3 ranks", timeout=60)
class test_ranks_that_make_different_pools:
    """Before, each of these left the other ranks waiting, or made a different pool on each rank."""

    def job(comm, fl, where):
        def said(wrong):
            try:
                with fl.Pool(comm=comm, **wrong if comm.rank == 1 else {}):
                    return "a pool"
            except (fl.InvalidArgument, fl.WrongType) as error:
                return str(error)

        return [
            said(wrong)
            for wrong in (
                {"max_workers": 0},
                {"initializer": 3},
                {"initializer": print},
                {"stuck_after": 7},
                {"trace": "timeline.txt"},
                {"stall_timeout": "soon"},
                {"lead_works": 1},
                {"servers": 2},
                {"servers": "host"},
                {"audit": True},
            )
        ]

    def check(jobs):
        found = jobs.finish()["job"]
        parts = ("got 0", "got 3", "initializer: one", "stuck_after=7.0", "got 'timeline.txt'")
        told = ("servers=2", "servers=host", "audit=True")
        for rank, said in enumerate(found):
            for one, part in zip(said, (*parts, "got 'soon'", "got 1", *told), strict=True):
                assert part in one, (rank, one)


@scenario("job on 4 ranks", timeout=60)
class test_ranks_of_a_job:
    def job(comm, fl, where):
        with fl.Pool(comm=comm) as pool:
            if not pool.leads:
                return "served"
            assert (pool.size, pool.workers) == (4, 3)
            processes = set(pool.map(lambda _: (os.getpid(), time.sleep(0.02)), range(30)))
            assert len(processes) == 3
            assert os.getpid() not in {process for process, _ in processes}
            for width in (1, 2, 3):
                wide = pool.with_options(ranks=width)
                assert wide.submit(_gather_ranks, 5).result() == [5 + i for i in range(width)]
            chosen = pool.with_options(ranks=range(1, 3)).submit(_gather_ranks).result()
            assert chosen in ([0], [0, 1])
            placed = pool.with_options(near=2, strict=True)
            assert placed.submit(_world_rank).result() == 2
            futures = [pool.submit(pow, i, 2) for i in range(300)]
            total = pool.submit(sum, futures)
            assert total.result() == sum(i * i for i in range(300))
            array = np.random.default_rng(0).normal(size=(3, 100_000))
            parts = [pool.submit(np.sort, row) for row in array]
            stacked = pool.submit(np.stack, parts).result()
            assert np.array_equal(stacked, np.sort(array, axis=1))
            return "led"

    def check(jobs):
        assert jobs.finish()["job"] == ["led", "served", "served", "served"]


@scenario("job on 3 ranks", timeout=60)
class test_failures_inside_a_job:
    def job(comm, fl, where):
        @fl.parallel
        def one_fails(team, wrong):
            if team.rank == wrong:
                raise ArithmeticError(f"rank {wrong} of the team")
            return team.rank

        with fl.Pool(comm=comm) as pool:
            if not pool.leads:
                return None
            for wrong in (0, 1):
                future = pool.with_options(ranks=2).submit(one_fails, wrong)
                error = future.exception(timeout=30)
                assert isinstance(error, ArithmeticError)
                assert "one_fails" in str(error.__cause__)
            late = pool.with_options(timeout=0.1).submit(time.sleep, 0.7)
            assert isinstance(late.exception(timeout=30), fl.TimedOut)
            assert pool.with_options(ranks=2).submit(_gather_ranks).result() == [0, 1]
            elsewhere = pool.with_options(retries=1).submit(_fail_on, 1)
            assert elsewhere.result() in (1, 2)

    def check(jobs):
        jobs.finish()


@scenario("job on 3 ranks", timeout=60)
class test_a_lead_that_works:
    def job(comm, fl, where):
        initialized = []
        with fl.Pool(
            comm=comm, lead_works=True, initializer=initialized.append, initargs=(1,)
        ) as pool:
            assert pool.workers == 3
            if not pool.leads:
                return initialized
            assert pool.with_options(ranks=3).submit(_gather_ranks, 5).result() == [5, 6, 7]
            placed = pool.with_options(near=0, strict=True)
            assert placed.submit(_world_rank).result() == 0
            arrays = [placed.submit(np.full, 300_000, i) for i in range(5)]
            assert float(pool.submit(np.sum, arrays).result()) == 300_000 * 10
            ranks = set(pool.map(lambda _: (time.sleep(0.02), _world_rank())[1], range(30)))
            assert ranks == {0, 1, 2}
            failed = pool.with_options(ranks=3).submit(fl.parallel(lambda team: 1 / team.rank))
            assert isinstance(failed.exception(timeout=30), ZeroDivisionError)
        return initialized

    def check(jobs):
        assert jobs.finish()["job"] == [[1], [1], [1]]


@pytest.mark.any_mpi
def test_a_lead_that_works_in_a_job_that_was_started():
    with fl.Pool(2, lead_works=True, initializer=_remember, initargs=(7,)) as pool:
        assert (pool.workers, pool.size) == (2, 2)
        assert pool.with_options(ranks=2).submit(_gather_ranks).result(timeout=60) == [0, 1]
        placed = pool.with_options(near=0, strict=True)
        assert placed.submit(_remembered).result(timeout=60) == 7
        futures = [pool.submit(pow, i, 2) for i in range(200)]
        assert pool.submit(sum, futures).result(timeout=60) == sum(i * i for i in range(200))


@scenario("job on 7 ranks", timeout=60)
class test_several_servers:
    def job(comm, fl, where):
        with fl.Pool(comm=comm, servers=3, trace=True) as pool:
            assert (pool.size, pool.workers) == (7, 4)
            if not pool.leads:
                return None
            ranks = set(pool.map(lambda _: (time.sleep(0.02), _world_rank())[1], range(40)))
            assert ranks == {2, 3, 5, 6}
            assert pool.with_options(ranks=4).submit(_gather_ranks, 5).result() == [5, 6, 7, 8]
            futures = [pool.submit(pow, i, 2) for i in range(500)]
            assert pool.submit(sum, futures).result() == sum(i * i for i in range(500))
            kept = pool.with_options(keep=True, near=6, strict=True).submit(np.ones, 300_000)
            assert pool.with_options(near=2, strict=True).submit(np.sum, kept).result() == 300_000
            with pytest.raises(fl.InvalidArgument, match="got 4; allowed: ranks 2 to 3, 5 to 6"):
                pool.with_options(near=4).submit(_world_rank)
            assert sorted(pool.timeline().ranks) == [2, 3, 5, 6]
        return "led"

    def check(jobs):
        assert jobs.finish()["job"][0] == "led"


@pytest.mark.any_mpi
def test_several_servers_of_a_job_that_was_started():
    with fl.Pool(2, servers=2) as pool:
        assert (pool.workers, pool.size) == (2, 4)
        assert pool.with_options(ranks=2).submit(_gather_ranks).result(timeout=60) == [0, 1]
        assert list(pool.map(abs, range(-50, 0), timeout=60)) == list(range(50, 0, -1))
    with fl.Pool(1, servers="host") as pool:
        assert (pool.workers, pool.size) == (1, 2)
    with pytest.raises(fl.InvalidArgument, match="got 3; allowed: 1 to 2 for 1 workers"):
        fl.Pool(1, servers=3)


@pytest.mark.parametrize("servers", [0, -1, 1.5, "hosts", None])
def test_servers_that_cannot_be(servers):
    with pytest.raises((fl.InvalidArgument, fl.WrongType), match="servers"):
        fl.Pool(servers=servers)


@scenario("job on 3 ranks", timeout=60)
class test_exceptions_of_the_program_let_the_other_ranks_go:
    def job(comm, fl, where):
        try:
            with fl.Pool(comm=comm) as pool:
                if pool.leads:
                    pool.submit(time.sleep, 0.1)
                    raise KeyError("of the program")
        except KeyError:
            pass
        return comm.allreduce(1)

    def check(jobs):
        assert jobs.finish()["job"] == [3, 3, 3]


WITHOUT_STDERR = """
import os, sys
import fluvial as fl

{closing}
with fl.Pool(progress=True) as pool:
    found = [future.result(timeout=20) for future in [pool.submit(abs, -i) for i in range(5)]]
os.write(1, repr(found).encode())
"""


@pytest.mark.parametrize("closing", ["sys.stderr.close()", "sys.stderr = None"])
def test_progress_that_nobody_can_see_ends_no_pool(closing):
    program = WITHOUT_STDERR.format(closing=closing)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert ran.stdout == b"[0, 1, 2, 3, 4]"
