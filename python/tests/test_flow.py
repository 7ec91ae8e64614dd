# SPDX-License-Identifier: Apache-2.0
"""Pools of tasks, as an Executor."""

import asyncio
import concurrent.futures
import dataclasses
import itertools
import math
import os
import threading
import time

import numpy as np
import pytest
from fluvial.flow.options import OptionChanges, TaskOptions

import fluvial as fl


def power(base, exponent):
    return base**exponent


def fail(message):
    raise LookupError(message)


@fl.parallel
def gather_ranks(comm, offset=0):
    return comm.gather(comm.rank + offset)


def wait_for(path):
    deadline = time.monotonic() + 30
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.01)
    return os.path.exists(path)


def exit_with(future):
    raise SystemExit(3)


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


@pytest.mark.parametrize("chunksize", [1, 2])
@pytest.mark.parametrize("unordered", [False, True])
def test_the_results_of_a_map_can_be_closed(pool, chunksize, unordered):
    results = pool.map(abs, range(100), chunksize=chunksize, unordered=unordered)
    assert next(results) >= 0
    results.close()
    assert list(results) == []


def test_a_time_that_is_over_already_is_no_wrong_one(pool):
    late = pool.map(time.sleep, [0.2], timeout=-0.001)  # as ProcessPoolExecutor has it
    with pytest.raises(TimeoutError):
        next(late)


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
    told = str(raised.value.__cause__)
    assert "in fail" in told and told.count('File "') == 1  # none of what called it
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


def test_type_checkers_know_the_options_that_there_are():
    options = {field.name: field.type for field in dataclasses.fields(TaskOptions)}
    known = {name: told.__forward_arg__ for name, told in OptionChanges.__annotations__.items()}
    assert known == options


def test_options_are_checked_before_anything_runs(pool):
    with pytest.raises(fl.InvalidArgument, match="'power' is a serial function: got 2 ranks"):
        pool.with_options(ranks=2).submit(power, 1, 1)
    with pytest.raises(fl.InvalidArgument, match="as wide as a task of 'gather_ranks' wants"):
        pool.with_options(ranks=2).submit(gather_ranks)
    with pytest.raises(fl.UnknownName, match=r"'rank'; allowed: 'ranks', 'priority'.*Did you mean"):
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
    for two in ("two", 2.0, None):
        with pytest.raises(fl.WrongType, match=rf"ranks has .* got {two!r}; allowed: 1 or more, a"):
            pool.with_options(ranks=two)
    with pytest.raises(fl.WrongType, match=r"ranks has .* got an array of .* allowed: 1 or"):
        pool.with_options(ranks=np.array(2))
    with pytest.raises(fl.WrongType, match=r"resources: got \{'gpu': '1'\}; allowed: a dict of"):
        pool.with_options(resources={"gpu": "1"})
    with pytest.raises(fl.UnknownName, match=r"got 'zzz'; allowed: 'ranks',.* 'fresh'$"):
        pool.with_options(zzz=3)
    with pytest.raises(fl.WrongType, match="got 3; allowed: True, False, or the path of a file"):
        fl.Pool(trace=3)
    for wrong in (
        {"ranks": 1.5},
        {"ranks": "12"},
        {"near": 2.0},
        {"retries": 1.5},
        {"priority": "high"},
        {"cost": "much"},
        {"strict": 1},
        {"kind": 5},
        {"key": 7},
    ):
        with pytest.raises(fl.WrongType, match=f"{next(iter(wrong))} has a type"):
            pool.with_options(**wrong)
    with pytest.raises(fl.WrongType, match="allowed: a callable"):
        pool.submit("power")
    with fl.Pool() as other, pytest.raises(fl.InvalidArgument, match="futures of the same pool"):
        pool.submit(abs, other.submit(abs, 1))


def test_a_retry(pool, tmp_path):
    def succeed_at_last():
        with open(tmp_path / "tries", "ab") as tries:
            tries.write(b"x")  # a call does not see what another has changed in a closure
            number = tries.tell()
        if number < 3:
            raise OSError("not yet")
        return number

    assert pool.with_options(retries=2).submit(succeed_at_last).result() == 3


def test_a_task_that_takes_longer_than_it_may(pool):
    """Nobody can look at it while it runs; it is an error all the same."""
    late = pool.with_options(timeout=0.05).submit(time.sleep, 0.1)
    assert isinstance(late.exception(), fl.TimedOut)
    told = str(late.exception())
    assert told.startswith("the task 'sleep' outlived its time limit; allowed: up to 0.05 s")
    named = pool.with_options(timeout=0.05, kind="long run")
    assert "the task 'long run' outlived" in str(named.submit(time.sleep, 0.1).exception())
    assert pool.with_options(timeout=30).submit(power, 2, 3).result() == 8


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


@pytest.mark.any_mpi
def test_a_task_is_cancelled_as_soon_as_it_was_submitted():
    with fl.Pool(1) as pool:
        busy = pool.submit(time.sleep, 0.5)
        futures = [pool.submit(time.sleep, 60) for _ in range(50)]
        assert all(future.cancel() for future in reversed(futures))
        assert busy.result() is None


def test_a_callback_that_exits_does_not_end_the_pool(pool, tmp_path, caplog):
    called, go = [], tmp_path / "go"
    future = pool.submit(wait_for, str(go))
    for callback in (exit_with, called.append):
        future.add_done_callback(callback)
    go.touch()
    assert future.result(30)
    assert pool.submit(abs, -1).result() == 1
    assert called == [future] and "exception calling callback" in caplog.text
    with pytest.raises(SystemExit):  # in this thread it is the program's
        future.add_done_callback(exit_with)


def test_a_callback_does_not_wait_in_vain(pool, tmp_path):
    go, said = tmp_path / "go", concurrent.futures.Future()

    def wait(_):
        later = pool.submit(abs, -2)
        with pytest.raises(TimeoutError):
            later.result(timeout=0.01)
        try:
            later.result()
        except Exception as error:
            said.set_exception(error)

    future = pool.submit(wait_for, str(go))
    future.add_done_callback(wait)
    go.touch()
    with pytest.raises(fl.InvalidArgument, match=r"in vain: got <Future .*Add a callback to this"):
        said.result(timeout=30)
    assert pool.submit(abs, -1).result() == 1


def test_what_cannot_be_pickled_is_the_error_of_its_future(pool):
    future = pool.submit(abs, threading.Lock())
    assert isinstance(future.exception(), TypeError)
    (note,) = future.exception().__notes__
    assert note.startswith("an argument of the task 'abs' cannot be sent: got ((<unlocked")
    assert pool.submit(abs, -1).result() == 1
    with pytest.raises(fl.WrongType, match=r"a task's function has a type .* got 3; allowed: a"):
        pool.map(3, [1])
    with pytest.raises(TypeError, match=r"initializer has a type .* got 3; allowed: a callable"):
        fl.Pool(initializer=3)
