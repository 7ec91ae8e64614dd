# SPDX-License-Identifier: Apache-2.0
"""Pools of tasks, as an Executor."""

import asyncio
import concurrent.futures
import itertools
import math
import os
import signal
import threading
import time

import numpy as np
import pytest
from harness import scenario

import fluvial as fl


def power(base, exponent):
    return base**exponent


def fail(message):
    raise LookupError(message)


@fl.parallel
def gather_ranks(comm, offset=0):
    return comm.gather(comm.rank + offset)


@pytest.fixture
def pool():
    with fl.Pool() as made:
        yield made


def test_submit_and_map_in_a_serial_program(pool):
    assert (pool.leads, pool.rank, pool.size, pool.workers) == (True, 0, 1, 1)
    assert pool.submit(power, 2, exponent=5).result() == 32
    assert list(pool.map(power, range(5), [2] * 5)) == [0, 1, 4, 9, 16]
    assert list(pool.map(power, range(50), [2] * 50, chunksize=7)) == [i * i for i in range(50)]
    assert list(pool.map(lambda x: x + 1, [1, 2])) == [2, 3]


def test_map_of_tuples_in_any_order_and_without_end(pool):
    pairs = [(i, 2) for i in range(20)]
    squares = [i * i for i in range(20)]
    for chunksize in (1, 6, 30):
        for unordered in (False, True):
            found = pool.starmap(power, iter(pairs), chunksize=chunksize, unordered=unordered)
            assert (sorted(found) if unordered else list(found)) == squares
    taken = []
    numbers = (taken.append(i) or i for i in itertools.count())
    endless = pool.map(abs, numbers, buffersize=3)
    assert [next(endless) for _ in range(5)] == [0, 1, 2, 3, 4]
    assert len(taken) == 8
    endless.close()
    late = pool.map(time.sleep, [0.5, 0], timeout=0.05)
    with pytest.raises(TimeoutError):
        next(late)
    for sizes, error in (
        ({"chunksize": 0}, ValueError),
        ({"chunksize": 1.5}, TypeError),
        ({"buffersize": "3"}, TypeError),
        ({"buffersize": -1}, ValueError),
        ({"buffersize": 2, "unordered": True}, ValueError),
    ):
        with pytest.raises(error):
            pool.map(abs, [1], **sizes)


def test_futures_are_inputs_wherever_they_stand(pool):
    two, three = pool.submit(power, 2, 1), pool.submit(power, 3, 1)
    assert pool.submit(power, two, three).result() == 8
    assert pool.submit(sum, [two, three, 10]).result() == 15
    nested = pool.submit(lambda tree: tree["a"][0] + tree["b"], {"a": [two], "b": three})
    assert nested.result() == 5
    assert pool.submit(lambda a, b: a is b, two, two).result()


def test_arrays_keep_their_type_and_can_be_written(pool):
    array = np.arange(1_000_000.0).reshape(1000, 1000)
    future = pool.submit(np.transpose, array)
    assert np.array_equal(future.result(), array.T)
    result = pool.submit(np.add, array, array).result()
    result += 1
    assert result.flags.aligned
    assert np.array_equal(result, 2 * array + 1)


def test_exceptions_come_back_with_their_traceback(pool):
    future = pool.submit(fail, "nothing there")
    with pytest.raises(LookupError, match="nothing there") as raised:
        future.result()
    assert "in fail" in str(raised.value.__cause__)
    with pytest.raises(LookupError, match="nothing there"):
        pool.submit(power, future, 2).result()
    assert isinstance(pool.submit(fail, "again").exception(), LookupError)


def test_what_concurrent_futures_offers(pool):
    futures = [pool.submit(power, i, 2) for i in range(10)]
    done = concurrent.futures.as_completed(futures, timeout=30)
    assert sorted(future.result() for future in done) == [i * i for i in range(10)]
    assert concurrent.futures.wait(futures).not_done == set()

    async def gathered():
        return await asyncio.gather(*(asyncio.wrap_future(pool.submit(abs, -i)) for i in range(5)))

    assert asyncio.run(gathered()) == [0, 1, 2, 3, 4]
    called = []
    pool.submit(abs, -1).add_done_callback(called.append)
    pool.shutdown()
    assert called[0].result() == 1
    with pytest.raises(fl.InvalidArgument, match="shut down"):
        pool.submit(abs, -1)


def test_cancel(pool):
    begun = pool.submit(time.sleep, 0.3)
    waiting = pool.submit(power, 2, 2)
    while not begun.running():
        time.sleep(0.01)
    assert waiting.cancel()
    assert waiting.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        waiting.result()
    begun.result()
    assert not begun.cancel()


def test_shutdown_cancels_what_has_not_begun():
    pool = fl.Pool()
    futures = [pool.submit(time.sleep, 0.05) for _ in range(100)]
    futures[0].result()
    pool.shutdown(cancel_futures=True)
    assert futures[-1].cancelled()
    assert all(future.done() for future in futures)


def test_initializer():
    collected = []
    with fl.Pool(initializer=collected.append, initargs=("called",)) as pool:
        pool.submit(abs, 1).result()
    assert collected == ["called"]


def test_a_parallel_function_gets_a_communicator(pool):
    assert pool.submit(gather_ranks, 3).result() == [3]


def test_options_are_checked_before_anything_runs(pool):
    with pytest.raises(fl.InvalidArgument, match="'power' is a serial function: got 2 ranks"):
        pool.with_options(ranks=2).submit(power, 1, 1)
    with pytest.raises(fl.InvalidArgument, match="no team can be as wide"):
        pool.with_options(ranks=2).submit(gather_ranks)
    with pytest.raises(fl.UnknownName, match=r"'rank'; allowed: ranks, priority.*Did you mean"):
        pool.with_options(rank=2)
    for wrong in (
        {"ranks": 0},
        {"ranks": []},
        {"timeout": -1},
        {"retries": -1},
        {"cost": math.nan},
    ):
        with pytest.raises(fl.InvalidArgument, match="out of range"):
            pool.with_options(**wrong)
    with pytest.raises(fl.WrongType, match="ranks: got 'two'"):
        pool.with_options(ranks="two")
    with pytest.raises(fl.WrongType, match="allowed: a callable"):
        pool.submit("power")
    with fl.Pool() as other, pytest.raises(fl.InvalidArgument, match="futures of the same pool"):
        pool.submit(abs, other.submit(abs, 1))


def test_a_retry(pool):
    tries = []

    def succeed_at_last():
        tries.append(1)  # in a copy of the list, which the rank keeps with the function
        if len(tries) < 3:
            raise OSError("not yet")
        return len(tries)

    assert pool.with_options(retries=2).submit(succeed_at_last).result() == 3


@pytest.mark.any_mpi
def test_a_serial_program_starts_its_ranks():
    with fl.Pool(2, initializer=_remember, initargs=(7,)) as pool:
        assert (pool.leads, pool.workers) == (True, 2)
        squares = [pool.submit(power, i, 2) for i in range(50)]
        assert pool.submit(sum, squares).result(timeout=60) == sum(i * i for i in range(50))
        assert pool.submit(_remembered).result() == 7
        ranks = pool.with_options(ranks=2).submit(gather_ranks)
        assert ranks.result(timeout=60) == [0, 1]
        with pytest.raises(LookupError, match="nothing there"):
            pool.submit(fail, "nothing there").result(timeout=60)
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


@pytest.mark.any_mpi
def test_the_ranks_that_a_program_started_die():
    pool = fl.Pool(2)
    assert pool.submit(abs, -1).result(timeout=60) == 1
    died = pool.submit(_die)
    assert isinstance(died.exception(timeout=60), fl.PeerLost)
    with pytest.raises(fl.PeerLost):
        pool.shutdown()


_memory = []


def _refuse():
    if _world_rank() == 1:
        raise LookupError("no initialisation")


@pytest.mark.any_mpi
def test_an_initializer_that_fails_in_a_job_that_was_started():
    pool = fl.Pool(2, initializer=_refuse)
    with pytest.raises(fl.PeerLost):
        pool.submit(abs, 1).result(timeout=60)
    with pytest.raises(fl.PeerLost):
        pool.shutdown()


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


def _remember(value):
    _memory.append(value)


def _remembered():
    return _memory[0]


def _die():
    os.kill(os.getpid(), signal.SIGKILL)


def test_the_command_that_simulates():
    from fluvial.cli.command_line import app
    from typer.testing import CliRunner

    def printed(*words):
        result = CliRunner().invoke(app, ["simulate", "flow", *words])
        if result.exception is not None:
            raise result.exception
        return result.output

    assert printed("--rounds", "20").startswith("140 tasks on 64 ranks in ")
    assert "48 tasks on 512 ranks" in printed("-n", "512", "--load", "sweep")
    assert "on 8 ranks" in printed("-n", "8", "--load", "arriving", "--rounds", "1")
    for wrong in (["-n", "0"], ["--rounds", "0"], ["--error", "1"], ["--load", "sweep"]):
        with pytest.raises(fl.InvalidArgument, match="allowed"):
            printed(*wrong)


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
                assert wide.submit(gather_ranks, 5).result() == [5 + i for i in range(width)]
            chosen = pool.with_options(ranks=range(1, 3)).submit(gather_ranks).result()
            assert chosen in ([0], [0, 1])
            placed = pool.with_options(near=2, strict=True)
            assert placed.submit(_world_rank).result() == 2
            futures = [pool.submit(power, i, 2) for i in range(300)]
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
            assert pool.with_options(ranks=2).submit(gather_ranks).result() == [0, 1]
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
            assert pool.with_options(ranks=3).submit(gather_ranks, 5).result() == [5, 6, 7]
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
        assert pool.with_options(ranks=2).submit(gather_ranks).result(timeout=60) == [0, 1]
        placed = pool.with_options(near=0, strict=True)
        assert placed.submit(_remembered).result(timeout=60) == 7
        futures = [pool.submit(power, i, 2) for i in range(200)]
        assert pool.submit(sum, futures).result(timeout=60) == sum(i * i for i in range(200))


def _world_rank():
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank


def _fail_on(rank):
    if _world_rank() == rank:
        raise OSError("this rank is of no use")
    return _world_rank()


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


@pytest.mark.any_mpi
def test_a_task_is_cancelled_as_soon_as_it_was_submitted():
    with fl.Pool(1) as pool:
        busy = pool.submit(time.sleep, 0.5)
        futures = [pool.submit(time.sleep, 60) for _ in range(50)]
        assert all(future.cancel() for future in reversed(futures))
        assert busy.result() is None


def test_what_cannot_be_pickled_is_the_error_of_its_future(pool):
    future = pool.submit(abs, threading.Lock())
    assert isinstance(future.exception(), TypeError)
    assert pool.submit(abs, -1).result() == 1
    with pytest.raises(TypeError, match="initializer: got 3; allowed: a callable"):
        fl.Pool(initializer=3)
