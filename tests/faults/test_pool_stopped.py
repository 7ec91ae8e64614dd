# SPDX-License-Identifier: Apache-2.0
"""SIGSTOP of a rank of a pool, and ranks that do not come back: errors, and no hang."""

import contextlib
import signal
import time

import pytest
from harness import scenario, wait_until, write_whole

import fluvial as fl


def _world_rank():
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank


@scenario("job on 4 ranks", timeout=90)
class test_a_rank_that_is_stopped:
    def job(comm, fl, where):
        def stand_by(rank):
            (where / f"task on {rank}").touch()
            time.sleep(1.0)
            return _world_rank()

        def leads(pool):
            at_two = pool.with_options(near=2, strict=True)
            lost = at_two.submit(stand_by, 2)
            again = pool.with_options(near=2, retries=1).submit(_world_rank)
            error = lost.exception(timeout=40)
            (where / "seen").touch()
            ranks = sorted(set(pool.map(_rank_after_a_while, range(30), timeout=40)))
            return type(error).__name__, str(error), again.result(timeout=40), ranks

        pool = fl.Pool(comm=comm, stall_timeout=1, stuck_after=5)
        if not pool.leads:
            return None
        told = leads(pool)
        wait_until((where / "continued").exists, timeout=30, what="SIGCONT")
        try:
            pool.shutdown()
        except fl.PeerStalled as error:
            return *told, str(error)
        return told

    def check(jobs):
        job = jobs.start()
        wait_until((jobs.where / "task on 2").exists, timeout=30, what="the task")
        job.signal(signal.SIGSTOP, rank=2)
        wait_until((jobs.where / "seen").exists, timeout=40, what="the error")
        job.signal(signal.SIGCONT, rank=2)
        (jobs.where / "continued").touch()
        kind, message, again, ranks, end = jobs.outcome("job").values[0]
        assert kind == "PeerStalled"
        assert "rank 2 of the pool: process" in message
        assert "was stopped by a signal" in message
        assert again in (1, 3)
        assert ranks == [1, 3]
        assert "rank 2 of the pool" in end


@scenario("job on 2 ranks", timeout=60)
class test_the_only_worker_goes_on_after_a_stop:
    """It was lost to the lead, which lives: it is not told otherwise."""

    def job(comm, fl, where):
        def stand_by():
            (where / "task").touch()
            time.sleep(0.5)

        told = "no error"
        try:
            # Of seconds: on a busy machine no other rank may seem to have stopped.
            pool = fl.Pool(comm=comm, stall_timeout=3, stuck_after=20)
            if pool.leads:
                told = str(pool.submit(stand_by).exception(timeout=40))
                (where / "seen").touch()
                wait_until((where / "continued").exists, timeout=30, what="SIGCONT")
                time.sleep(4)  # the worker waits for longer than stall_timeout
                pool.shutdown()
        except fl.Error as error:
            told += f"; {error}"
        write_whole(where / f"told {comm.rank}", told)
        wait_until((where / f"told {1 - comm.rank}").exists, timeout=30)  # to leave ends the job

    def check(jobs):
        job = jobs.start()
        wait_until((jobs.where / "task").exists, timeout=30, what="the task")
        job.signal(signal.SIGSTOP, rank=1)
        wait_until((jobs.where / "seen").exists, timeout=40, what="the error")
        job.signal(signal.SIGCONT, rank=1)
        (jobs.where / "continued").touch()
        jobs.outcome("job")
        assert "was stopped by a signal" in (jobs.where / "told 0").read_text()
        assert (jobs.where / "told 1").read_text() == "no error"


@fl.parallel
def _ranks_of_team(comm):
    return comm.gather(_world_rank())


@scenario("job on 4 ranks", timeout=90)
class test_the_first_rank_of_a_team_is_stopped_and_the_others_go_on_at_once:
    """What the first rank says of the task when it is continued comes too late to count."""

    def job(comm, fl, where):
        @fl.parallel
        def stand_by(team):
            (where / f"task on {_world_rank()}").touch()
            time.sleep(1.0)
            return team.size

        pool = fl.Pool(comm=comm, stall_timeout=1, stuck_after=60)
        if not pool.leads:
            return None
        lost = pool.with_options(ranks=3).submit(stand_by)
        error = lost.exception(timeout=40)
        ranks = pool.with_options(ranks=2).submit(_ranks_of_team).result(timeout=20)
        (where / "seen").touch()
        wait_until((where / "continued").exists, timeout=30, what="SIGCONT")
        time.sleep(1.5)
        again = pool.with_options(ranks=2).submit(_ranks_of_team).result(timeout=20)
        try:
            pool.shutdown()
        except fl.PeerStalled as end:
            return type(error).__name__, str(error), ranks, again, str(end)

    def check(jobs):
        job = jobs.start()
        wait_until((jobs.where / "task on 1").exists, timeout=30, what="the task")
        job.signal(signal.SIGSTOP, rank=1)
        wait_until((jobs.where / "seen").exists, timeout=60, what="the others' task")
        job.signal(signal.SIGCONT, rank=1)
        (jobs.where / "continued").touch()
        kind, message, ranks, again, end = jobs.outcome("job").values[0]
        assert kind == "PeerStalled"
        assert "was stopped by a signal" in message
        assert ranks == again == [2, 3]
        assert "rank 1 of the pool" in end


def _rank_after_a_while(_):
    time.sleep(0.02)
    return _world_rank()


@fl.parallel
def _one_leaves(comm):
    if comm.rank == 1:
        raise ValueError("this rank leaves the others waiting")
    comm.Barrier()  # for ever


@scenario("job on 4 ranks", timeout=90)
class test_a_team_that_waits_for_a_rank_that_threw:
    def job(comm, fl, where):
        pool = fl.Pool(comm=comm, stuck_after=1, trace=where / "pool.json", progress=True)
        if not pool.leads:
            return None
        failing = pool.with_options(ranks=2).submit(_one_leaves)
        error = failing.exception(timeout=30)
        gang = pool.together(*[fl.task(_world_rank)] * 3)  # its ranks are not back
        rest = [pool.submit(_world_rank).result(timeout=30) for _ in range(3)]
        wide = fl.parallel(lambda team: team.size)
        too_wide = pool.with_options(ranks=3).submit(wide).exception(timeout=30)
        try:
            pool.shutdown()
            end = "no error"
        except fl.PeerLost as lost:
            end = str(lost)
        why_not = str(gang.exception())
        return type(error).__name__, len(rest), type(too_wide).__name__, str(too_wide), end, why_not

    def check(jobs):
        jobs.start()
        outcome = jobs.outcome("job")
        kind, rest, too_wide, why, end, why_not = outcome.values[0]
        assert (kind, rest, too_wide) == ("ValueError", 3, "PeerLost")
        assert "a task wants 3 ranks, and the pool has lost some" in why
        assert "which has failed" in end
        assert "a task wants 3 ranks, and the pool has lost some" in why_not
        assert (jobs.where / "pool.json").exists()


def _insist():
    end = time.monotonic() + 3
    while time.monotonic() < end:
        with contextlib.suppress(fl.TaskCancelled):
            time.sleep(3)


def test_a_rank_that_does_not_come_back_from_a_task_that_was_too_long():
    pool = fl.Pool(2, stuck_after=0.5)
    slow = pool.with_options(timeout=0.2).submit(_insist)
    with pytest.raises(fl.TimedOut, match=r"come back, for which they have stuck_after=0\.5 s"):
        slow.result(timeout=30)
    too_long = r"from the task '_insist', which outlived its limit: .*larger stuck_aft"
    with pytest.raises(fl.PeerLost, match=too_long):
        pool.shutdown()
