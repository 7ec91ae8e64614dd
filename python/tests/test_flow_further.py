# SPDX-License-Identifier: Apache-2.0
"""Tasks that return tasks."""

import threading

import pytest
from harness import scenario

import fluvial as fl


def total(first, last):
    if last - first == 1:
        return first
    middle = (first + last) // 2
    return fl.task(sum, [fl.task(total, first, middle), fl.task(total, middle, last)])


def nothing_there():
    raise LookupError("nothing there")


def asks_for_what_fails():
    return [fl.task(abs, -1), fl.task(nothing_there)]


@fl.parallel
def ranks_of(comm):
    return comm.allgather(comm.rank)


@fl.parallel
def asks_for_more_ranks(comm):
    return {"wide": fl.task(ranks_of).with_options(ranks=2), "size": comm.size}


def check_all(pool):
    assert pool.submit(total, 0, 50).result(timeout=60) == sum(range(50))
    one = fl.task(pow, 2, 3)
    outer = pool.submit(lambda: {"list": [one, 1], "same": one})
    assert pool.submit(lambda tree: tree["list"][0] + tree["same"], outer).result(timeout=60) == 16
    assert outer.result() == {"list": [8, 1], "same": 8}
    failed = pool.submit(asks_for_what_fails)
    assert isinstance(failed.exception(timeout=60), LookupError)
    assert isinstance(pool.submit(abs, failed).exception(timeout=60), LookupError)
    assert pool.submit(max, fl.task(abs, -2), 1).result(timeout=60) == 2
    too_wide = pool.submit(lambda: fl.task(abs, -2).with_options(ranks=2))
    with pytest.raises(fl.InvalidArgument, match="'abs' is a serial function"):
        too_wide.result(timeout=60)


def test_in_a_serial_program():
    with fl.Pool() as pool:
        check_all(pool)
        unfinished = pool.submit(total, 0, 20)
    assert unfinished.result() == sum(range(20))


@pytest.mark.any_mpi
def test_on_ranks_that_a_program_started():
    with fl.Pool(2) as pool:
        check_all(pool)
        more = pool.submit(asks_for_more_ranks).result(timeout=60)
        assert more == {"wide": [0, 1], "size": 1}
        unfinished = pool.submit(total, 0, 20)
    assert unfinished.result() == sum(range(20))


@scenario("job on 3 ranks", timeout=60)
class test_in_a_job:
    def job(comm, fl, where):
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                check_all(pool)
                wide = pool.with_options(ranks=2).submit(asks_for_more_ranks)
                assert wide.result(timeout=30) == {"wide": [0, 1], "size": 2}

    def check(jobs):
        jobs.finish()


def test_a_result_that_cannot_be_sent():
    with fl.Pool() as pool:
        error = pool.submit(threading.Lock).exception()
    assert isinstance(error, fl.WrongType)
    assert "a task's result cannot be sent: got <unlocked _thread.lock object>" in str(error)
    assert "allowed: what pickle" in str(error)


@pytest.mark.any_mpi
@pytest.mark.parametrize("workers", [None, 1], ids=["serial", "started"])
def test_an_input_that_could_not_be_sent_is_the_error_of_the_next(workers):
    with fl.Pool(workers) as pool:
        bad = pool.submit(abs, threading.Lock())
        assert isinstance(bad.exception(), TypeError)
        error = pool.submit(abs, [bad]).exception(timeout=30)
        assert type(error) is TypeError
        assert "cannot pickle" in str(error)


def test_wrong_options_of_a_task():
    with pytest.raises(fl.UnknownName, match="Did you mean"):
        fl.task(abs, -1).with_options(rank=2)
    assert repr(fl.task(abs, -1)) == "<fluvial task 'abs'>"


def make_a_pool(*workers):
    with fl.Pool(*workers) as pool:
        return pool.workers


@fl.parallel
def make_a_pool_of_the_team(comm):
    with fl.Pool(comm=comm) as pool:
        return pool.submit(pow, 2, 3).result(30) if pool.leads else None


@pytest.mark.any_mpi
def test_a_task_makes_a_pool_of_its_team_and_none_of_its_job():
    with fl.Pool(2) as pool:
        for workers in ((), (2,)):
            with pytest.raises(fl.InvalidArgument, match="cannot make a pool of all ranks"):
                pool.submit(make_a_pool, *workers).result(timeout=30)
        assert pool.with_options(ranks=2).submit(make_a_pool_of_the_team).result(timeout=30) == 8
        assert pool.submit(abs, -1).result(timeout=30) == 1


def test_a_pool_or_a_future_that_a_function_uses_is_named():
    with fl.Pool() as pool:
        three = pool.submit(abs, -3)
        lost = pool.submit(lambda: pool.submit(abs, -1).result()).exception(timeout=30)
        assert isinstance(lost, TypeError)
        assert "a pool cannot be sent to a task" in str(lost)
        assert "(fluvial.task)" in str(lost)
        lost = pool.submit(lambda: three.result()).exception(timeout=30)
        assert isinstance(lost, TypeError)
        assert "allowed: a future among the arguments of a task" in str(lost)
        assert pool.submit(abs, three).result(timeout=30) == 3
