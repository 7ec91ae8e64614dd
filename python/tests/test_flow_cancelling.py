# SPDX-License-Identifier: Apache-2.0
"""Cancelling tasks: those that have not begun, and those that run."""

import concurrent.futures
import os
import threading
import time

import pytest
from fluvial.flow.future import Future, Outcome
from fluvial.pipeline.pacing import Pacing
from harness import wait_until

import fluvial as fl

CANCELLED = "TaskCancelled", "the task was cancelled before it began", -1, b""


class Core:
    """Answers that the task will not begin; its word of that comes first, in another thread."""

    def __init__(self, reply, said):
        self.future = Future(self)
        self.future.task = object()
        self.reply, self.said = reply, said

    def cancel(self, task, running):
        assert not running
        assert task is self.future.task
        thread = threading.Thread(target=self.future.settle, args=[Outcome.of(None, self.said)])
        thread.start()
        thread.join()
        return self.reply


def test_the_word_comes_before_the_reply():
    future = Core(True, CANCELLED).future
    called = []
    future.add_done_callback(called.append)
    assert future.cancel()
    assert future.cancelled() and called == [future]
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    assert future.cancel()  # again


def test_a_task_that_has_begun_fails_as_it_does():
    future = Core(False, ("TimedOut", "too late", -1, b"")).future
    assert not future.cancel()
    with pytest.raises(fl.TimedOut):
        future.result()


def test_the_input_of_a_cancelled_task_is_an_error_of_the_next():
    future = Core(True, CANCELLED).future
    future.settle(Outcome.of(None, CANCELLED))  # nobody has cancelled this one
    with pytest.raises(fl.Error, match="cancelled before it began"):
        future.result()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    with fl.Pool() as pool:
        busy, cancelled = pool.submit(time.sleep, 0.2), pool.submit(abs, -1)
        needs = pool.submit(abs, cancelled)
        assert cancelled.cancel()
        with pytest.raises(concurrent.futures.CancelledError):
            needs.result(timeout=20)
        busy.result()


def test_a_queue_of_tasks_is_cancelled():
    """Also of a kind that has shown to be brief: few of them are sent ahead while few have run."""
    with fl.Pool(2) as pool:
        for done in [pool.submit(time.sleep, 0) for _ in range(2)]:
            done.result()
        futures = [pool.submit(time.sleep, 0.2) for _ in range(200)]
        last = pool.submit(time.sleep, 0)
        assert last.cancel() and last.cancelled()
        assert sum(future.cancel() for future in futures) > 150
        assert all(future.cancelled() or future.result() is None for future in futures)


def _compute(where, seconds=60):
    where.with_name("begun").touch()
    end = time.monotonic() + seconds
    while not fl.task_cancelled():
        if time.monotonic() > end:
            return "to its end"
        time.sleep(0.001)
    where.write_text("was told")
    return None


def _wait_for_a_writer(where):
    (where / "begun").touch()
    try:
        fl.open("nobody", directory=str(where), rendezvous_timeout=60)
    except fl.TaskCancelled as error:
        (where / "said").write_text(str(error))
        raise


def _wait_for_time(where):
    (where / "begun").touch()
    pacing = Pacing(rate=0.01, original_timing=False, speed=1)
    pacing.wait(None)
    try:
        pacing.wait(None)
    except fl.TaskCancelled:
        (where / "said").write_text("was told")
        raise


@fl.parallel
def _one_fails(comm, where):
    if comm.rank == 0:
        raise LookupError("this rank fails")
    _wait_for_a_writer(where)


@fl.parallel
def _width(comm):
    return comm.size


def _cancel_when_it_runs(future, begun):
    wait_until(begun.exists)
    assert future.running()
    assert not future.cancel()
    begin = time.monotonic()
    assert future.cancel(running=True)
    assert future.cancelled() and not future.running()
    with pytest.raises(concurrent.futures.CancelledError):
        future.result()
    assert not future.cancel(running=True) or future.cancelled()
    return begin


@pytest.mark.any_mpi
@pytest.mark.parametrize("workers", [None, 1, 2], ids=["own process", "one rank", "two ranks"])
def test_a_function_that_asks_is_told(tmp_path, workers):
    with fl.Pool(workers) as pool:
        _cancel_when_it_runs(pool.submit(_compute, tmp_path / "said"), tmp_path / "begun")
        assert pool.submit(abs, -1).result(timeout=30) == 1
        wait_until((tmp_path / "said").exists)
        assert pool.submit(_compute, tmp_path, 0.01).result(timeout=30) == "to its end"
    assert not fl.task_cancelled()


@pytest.mark.parametrize("function", [_wait_for_a_writer, _wait_for_time])
def test_waits_of_a_task_end(tmp_path, function):
    with fl.Pool(1) as pool:
        _cancel_when_it_runs(pool.submit(function, tmp_path), tmp_path / "begun")
        wait_until((tmp_path / "said").exists)
        assert pool.submit(abs, -1).result(timeout=30) == 1


def _loops(where):
    (where / "begun").touch()
    try:
        while True:
            sum(range(1000))
    except fl.TaskCancelled:
        (where / "said").touch()
        raise


def _sleeps(where):
    (where / "begun").touch()
    try:
        time.sleep(600)
    finally:
        (where / "said").touch()


def _is_elsewhere(where):
    """Mostly in another package, whose functions come to their end."""
    names = {"__name__": "logging.handlers", "time": time, "lock": where / "lock"}
    lines = ["def hold():", " lock.touch()", " time.sleep(0.2)", " lock.unlink()"]
    exec("\n".join(lines), names)
    (where / "begun").touch()
    try:
        while True:
            names["hold"]()
            sum(1 for _ in range(1_000_000))
    finally:
        (where / "said").write_text(str((where / "lock").exists()))


@pytest.mark.any_mpi
@pytest.mark.parametrize("function", [_loops, _sleeps, _is_elsewhere])
def test_a_function_that_neither_asks_nor_waits_is_ended(tmp_path, function):
    with fl.Pool(1) as pool:
        begin = _cancel_when_it_runs(pool.submit(function, tmp_path), tmp_path / "begun")
        assert pool.submit(abs, -1).result(timeout=30) == 1
        assert time.monotonic() - begin < 30
    assert (tmp_path / "said").read_text() in ("", "False")


def test_what_has_no_python_code_and_what_is_called_in_chunks_is_ended(tmp_path):
    with fl.Pool(1) as pool:
        sleeps = pool.submit(time.sleep, 600)
        wait_until(sleeps.running)
        time.sleep(0.1)
        assert sleeps.cancel(running=True)
        many = pool.map(_loops, [tmp_path], chunksize=2)
        wait_until((tmp_path / "begun").exists)
        pool.shutdown(cancel_futures="running")
        with pytest.raises(concurrent.futures.CancelledError):
            list(many)
    assert (tmp_path / "said").exists()


def test_a_function_that_catches_it_goes_on(tmp_path):
    def insists():
        try:
            _loops(tmp_path)
        except fl.TaskCancelled:
            time.sleep(0.3)
            (tmp_path / "whole").touch()

    with fl.Pool(1) as pool:
        _cancel_when_it_runs(pool.submit(insists), tmp_path / "begun")
        assert pool.submit(abs, -1).result(timeout=30) == 1
    assert (tmp_path / "whole").exists()


def test_a_program_of_a_task_is_killed(tmp_path):
    script = f"echo $$ > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; sleep 60; echo done"
    with fl.Pool(1) as pool:
        program = pool.submit(fl.command, ["sh", "-c", script], input="no matter")
        begin = _cancel_when_it_runs(program, tmp_path / "pid")
        assert pool.submit(abs, -1).result(timeout=30) == 1
        assert time.monotonic() - begin < 30  # and not the 60 s of the program
    assert not os.path.exists(f"/proc/{(tmp_path / 'pid').read_text().strip()}")


def test_tasks_that_were_sent_behind_one_that_lasts_do_not_begin(tmp_path):
    """Their rank gives them back, and they are cancelled as others that wait."""
    with fl.Pool(1) as pool:
        brief = pool.with_options(kind="brief")
        for done in [brief.submit(abs, -1) for _ in range(200)]:
            done.result()
        before = [brief.submit(abs, -i) for i in range(5)]
        lasts = brief.submit(_compute, tmp_path / "lasts")
        behind = [brief.submit((tmp_path / str(i)).write_text, "ran") for i in range(20)]
        assert [future.result(timeout=30) for future in before] == list(range(5))
        wait_until((tmp_path / "begun").exists)
        assert all(future.cancel(running=True) for future in behind[10:])
        for future in behind[:10]:
            wait_until(future.cancel)
        assert not lasts.done() and lasts.cancel(running=True)
        assert pool.submit(abs, -1).result(timeout=30) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["begun", "lasts"]


def test_others_of_a_team_whose_task_has_failed_are_told(tmp_path):
    """They come back at once, and not only within `stuck_after`, or lost after it."""
    with fl.Pool(2, stuck_after=60) as pool:
        begin = time.monotonic()
        with pytest.raises(LookupError):
            pool.with_options(ranks=2, fresh=True).submit(_one_fails, tmp_path).result(timeout=30)
        assert pool.with_options(ranks=2).submit(_width).result(timeout=30) == 2
        assert time.monotonic() - begin < 30
    assert (tmp_path / "said").exists()


def test_a_task_that_outlives_its_limit_is_told(tmp_path):
    with fl.Pool(1) as pool:
        late = pool.with_options(timeout=0.2).submit(_compute, tmp_path / "said")
        with pytest.raises(fl.TimedOut):
            late.result(timeout=30)
        wait_until((tmp_path / "said").exists)
        assert pool.submit(abs, -1).result(timeout=30) == 1


def test_a_function_that_outlives_its_limit_is_ended(tmp_path):
    with fl.Pool(1) as pool:
        late = pool.with_options(timeout=0.2).submit(_loops, tmp_path)
        with pytest.raises(fl.TimedOut, match="the task '_loops' outlived"):
            late.result(timeout=30)
        assert pool.submit(abs, -1).result(timeout=30) == 1
    assert (tmp_path / "said").exists()


def test_a_pool_of_one_process_keeps_time_limits(tmp_path):
    """Its only thread runs the task, which asks, and looks at the limit then."""
    with fl.Pool() as pool:
        limited = pool.with_options(timeout=0.2, retries=1)
        begin = time.monotonic()
        with pytest.raises(fl.TimedOut):
            limited.submit(_compute, tmp_path / "said").result(timeout=30)
        assert (tmp_path / "said").exists()
        with pytest.raises(fl.TimedOut):
            limited.submit(fl.command, ["sleep", "30"]).result(timeout=30)
        assert time.monotonic() - begin < 15
        assert pool.submit(abs, -1).result(timeout=30) == 1
