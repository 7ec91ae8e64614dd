# SPDX-License-Identifier: Apache-2.0
"""Pools whose ranks are on two hosts, in a cluster in a box."""

import signal
import time

import pytest
from harness import scenario, wait_until, write_whole


def _rank_and_host():
    import platform

    from mpi4py import MPI

    return MPI.COMM_WORLD.rank, platform.node()


def _after_a_while(_):
    time.sleep(0.01)
    return _rank_and_host()


@scenario("job on 4 ranks of hosts 1-2", timeout=90)
class test_ranks_on_two_hosts:
    def job(comm, fl, where):
        with fl.Pool(comm=comm) as pool:
            if not pool.leads:
                return None
            time.sleep(1.0)  # ranks that wait look whether the lead lives
            places = dict(pool.map(_after_a_while, range(60), timeout=60))
            wide = pool.with_options(ranks=3).submit(fl.parallel(lambda team: team.allreduce(1)))
            return sorted(places), len(set(places.values())), wide.result(60)

    def check(jobs):
        assert jobs.finish()["job"][0] == ([1, 2, 3], 2, 3)


@scenario("job on 6 ranks of hosts 1-2", timeout=90)
class test_a_server_on_each_host:
    def job(comm, fl, where):
        with fl.Pool(comm=comm, servers="host") as pool:
            if not pool.leads:
                return None
            assert pool.workers == 4
            time.sleep(1.0)
            places = dict(pool.map(_after_a_while, range(80), timeout=60))
            wide = pool.with_options(ranks=4).submit(fl.parallel(lambda team: team.allreduce(1)))
            futures = [pool.submit(pow, i, 2) for i in range(300)]
            total = pool.submit(sum, futures).result(60)
            return len(places), len(set(places.values())), wide.result(60), total

    def check(jobs):
        assert jobs.finish()["job"][0] == (4, 2, 4, sum(i * i for i in range(300)))


@pytest.mark.parametrize("victim", ["server", "worker"])
@scenario("job on 6 ranks of hosts 1-2", timeout=120)
class test_of_another_host_a_rank_is_stopped:
    def job(comm, fl, where, victim):
        def stand_by():
            (where / "task").touch()
            time.sleep(1.0)

        def leads(pool):
            here = _rank_and_host()[1]
            places = dict(pool.map(_after_a_while, range(80), timeout=60))
            there = sorted(rank for rank, host in places.items() if host != here)
            server = next(r for r in range(min(there)) if r not in places and r > 0)
            write_whole(where / "victim", str(server if victim == "server" else there[-1]))
            wait_until((where / "stopped").exists, timeout=30)
            lost = pool.with_options(near=there[-1], strict=True).submit(stand_by)
            error = lost.exception(timeout=60)
            (where / "seen").touch()
            rest = sorted(dict(pool.map(_after_a_while, range(40), timeout=60)))
            gone = there if victim == "server" else there[-1:]
            return type(error).__name__, str(error), rest == sorted(set(places) - set(gone))

        pool = fl.Pool(comm=comm, servers="host", stall_timeout=1.5, stuck_after=5)
        if not pool.leads:
            return None
        told = leads(pool)
        wait_until((where / "continued").exists, timeout=30, what="SIGCONT")
        try:
            pool.shutdown()
            end = "no error"
        except fl.PeerStalled as error:
            end = str(error)
        return *told, end

    def check(jobs, victim):
        job = jobs.start("job", victim=victim)
        wait_until((jobs.where / "victim").exists, timeout=60, what="the lead")
        rank = int((jobs.where / "victim").read_text())
        job.signal(signal.SIGSTOP, rank=rank)
        (jobs.where / "stopped").touch()
        wait_until((jobs.where / "seen").exists, timeout=60, what="the error")
        job.signal(signal.SIGCONT, rank=rank)
        (jobs.where / "continued").touch()
        kind, message, rest, end = jobs.outcome("job").values[0]
        assert kind == "PeerStalled"
        assert rest
        if victim == "server":
            assert "has lost its server: got rank" in message
            assert "a server of the pool says nothing" in message
        else:
            assert "was stopped by a signal" in message
        assert f"rank {rank} of the pool" in end


def _stand_by_in(where):
    def stand_by():
        (where / "task").touch()
        time.sleep(1.0)

    return stand_by


def _ranks_that_are_left(fl, pool):
    """Of a host that is cut off the other rank is lost, too, a moment later, with its tasks."""
    until = time.monotonic() + 20
    while True:
        try:
            return sorted(dict(pool.map(_after_a_while, range(40), timeout=60)))
        except fl.PeerLost:
            if time.monotonic() > until:
                raise


@pytest.mark.parametrize("what", ["stopped", "cut off"])
@scenario("job on 4 ranks of hosts 1-2", timeout=120)
class test_a_rank_on_another_host_without_a_server:
    """The lead of the pool watches it itself."""

    def job(comm, fl, where, what):
        pool = fl.Pool(comm=comm, stall_timeout=1.5, stuck_after=5)
        if not pool.leads:
            return None
        here = _rank_and_host()[1]
        places = dict(pool.map(_after_a_while, range(60), timeout=60))
        there = sorted(rank for rank, host in places.items() if host != here)
        time.sleep(1)  # so that beats were heard
        lost = pool.with_options(near=there[-1], strict=True).submit(_stand_by_in(where))
        error = lost.exception(timeout=60)
        rest = _ranks_that_are_left(fl, pool)
        (where / "told").touch()
        wait_until((where / "mended").exists, timeout=30)
        return there, type(error).__name__, str(error), rest

    def check(jobs, what):
        job = jobs.start("job", what=what)
        wait_until((jobs.where / "task").exists, timeout=60, what="the task")
        if what == "stopped":
            job.signal(signal.SIGSTOP, rank=3)
        else:
            jobs.box.unplug(2)
        wait_until((jobs.where / "told").exists, timeout=60, what="the error")
        if what == "stopped":
            job.signal(signal.SIGCONT, rank=3)
        else:
            jobs.box.plug_in(2)
        (jobs.where / "mended").touch()
        there, kind, message, rest = jobs.outcome("job").values[0]
        assert there == [2, 3]
        assert kind == "PeerStalled"
        assert "on another host does not run, or is not reached" in message
        assert rest == ([1, 2] if what == "stopped" else [1])


@scenario("job on 4 ranks of hosts 1-2", timeout=120)
class test_a_lead_that_is_stopped:
    """Ranks that wait for it are told, on its host and on others."""

    def job(comm, fl, where):
        try:
            pool = fl.Pool(comm=comm, stall_timeout=1.5, stuck_after=2)
            list(pool.map(_after_a_while, range(60), timeout=60))
            time.sleep(1)
            (where / "lead").touch()
            wait_until((where / "continued").exists, timeout=60)
        except fl.PeerStalled as error:
            write_whole(where / f"told {comm.Get_rank()}", str(error))
            # The first one that leaves ends the job.
            wait_until((where / "continued").exists, timeout=60)

    def check(jobs):
        job = jobs.start("job")
        wait_until((jobs.where / "lead").exists, timeout=60, what="the lead")
        job.signal(signal.SIGSTOP, rank=0)
        told = {rank: jobs.where / f"told {rank}" for rank in (1, 2, 3)}
        wait_until(lambda: all(file.exists() for file in told.values()))
        (jobs.where / "continued").touch()
        job.signal(signal.SIGCONT, rank=0)
        assert "was stopped by a signal" in told[1].read_text()
        for rank in (2, 3):
            assert "on another host does not run, or is not reached" in told[rank].read_text()
        jobs.outcome("job")
