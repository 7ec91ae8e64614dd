# SPDX-License-Identifier: Apache-2.0
"""Cancelling: whichever thread learns first that a task will not begin, its future is cancelled."""

import concurrent.futures
import threading
import time

import pytest
from fluvial.flow.future import Future, Outcome

import fluvial as fl

CANCELLED = "TaskCancelled", "the task was cancelled before it began", -1, b""


class Core:
    """Answers that the task will not begin; its word of that comes first, in another thread."""

    def __init__(self, answer, said):
        self.future = Future(self)
        self.future.task = object()
        self.answer, self.said = answer, said

    def cancel(self, task):
        assert task is self.future.task
        thread = threading.Thread(target=self.future.settle, args=[Outcome.of(None, self.said)])
        thread.start()
        thread.join()
        return self.answer


def test_the_word_comes_before_the_answer():
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
