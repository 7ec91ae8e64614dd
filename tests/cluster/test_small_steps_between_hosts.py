# SPDX-License-Identifier: Apache-2.0
"""Steps that travel whole with the message that announces them, and layouts that repeat."""

import os
import signal
import time

import numpy as np
import pytest
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario, wait_until

DATASETS = 2000
STEPS = 40


def name_of(number):
    """Return names of equal length."""
    return f"meshes/field{number:05d}/x"


def layout_of(index):
    """Return which datasets a step has, and how many elements each."""
    if index < 15:
        return range(DATASETS), 1
    return (range(DATASETS - 1), 1) if index < 20 else (range(DATASETS), 2)


def put_all(series, index):
    """Write a step whose values tell step and dataset."""
    numbers, count = layout_of(index)
    with series.step(time=index) as step:
        for number in numbers:
            step.put(name_of(number), np.full(count, index * DATASETS + number, "f8"))


def check_all(step):
    """Look at every dataset of a step."""
    numbers, count = layout_of(step.index)
    assert step.time == step.index
    assert len(list(step)) == len(numbers)
    for number in numbers:
        expected = [step.index * DATASETS + number] * count
        assert step[name_of(number)].read().tolist() == expected


def write_all(comm, fl, where):
    with fl.open(stream_name(where), "w", comm=comm, **SHORT) as series:
        for index in range(STEPS):
            put_all(series, index)


def read_all(comm, fl, where):
    with fl.open(stream_name(where), comm=comm, **SHORT) as series:
        for step in series:
            check_all(step)
        return step.index, series.stats["bytes_received"]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_layout_that_repeats_is_sent_once:
    """Beside the data, a step with the layout of the one before costs 8 B a chunk."""

    writer = staticmethod(write_all)
    reader = staticmethod(read_all)

    def check(jobs):
        last, received = jobs.finish()["reader"][0]
        assert last == STEPS - 1
        elements = sum(len(numbers) * count for numbers, count in map(layout_of, range(STEPS)))
        assert received == 8 * elements
        layouts, places = 3 * DATASETS * 60, STEPS * DATASETS * 8
        names = DATASETS * 80
        assert jobs.box.sent_bytes(1) < 1.1 * (received + layouts + places + names) + 100_000


@scenario(
    "writer on 1 process of host 1, doomed on 1 process of host 2, late on 1 process of host 2"
)
class test_a_late_reader_gets_the_whole_layout:
    """It comes when the layout was sent to another, which is killed before the stream ends."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", **SHORT) as series:
            for index in range(STEPS):
                put_all(series, index)
                if index == 5:
                    (where / "five").touch()
                    wait_until((where / "late-is-here").exists, timeout=30)

    def doomed(comm, fl, where):
        with fl.open(stream_name(where), **SHORT) as series:
            for step in series:
                check_all(step)
                if step.index == 18:
                    (where / "dies").touch()
                    time.sleep(60)

    def late(comm, fl, where):
        seen = []
        with fl.open(stream_name(where), start="next", **SHORT) as series:
            (where / "late-is-here").touch()
            for step in series:
                check_all(step)
                seen.append(step.index)
        return seen

    def check(jobs):
        jobs.start("writer")
        jobs.start("doomed")
        wait_until((jobs.where / "five").exists, timeout=30)
        jobs.start("late")
        wait_until((jobs.where / "dies").exists, timeout=30)
        os.kill(jobs["doomed"].pid(0), signal.SIGKILL)
        assert jobs.outcome("late").values == [list(range(6, STEPS))]
        assert jobs.outcome("writer").values == [None]
        jobs["doomed"].kill()


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_small_steps_leave_the_queue_when_they_are_sent:
    """A reader that holds one does not stop the writer at the queue's limit; but it does later."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", queue_steps=1, **SHORT) as series:
            for index in range(60):
                with series.step() as step:
                    step.put("x", np.full(10, index))
                (where / f"wrote-{index}").touch()

    def reader(comm, fl, where):
        with fl.open(stream_name(where), **SHORT) as series:
            held = [series.next()]
            wait_until((where / "wrote-4").exists, timeout=10)
            time.sleep(0.5)
            ahead = len(list(where.glob("wrote-*")))
            assert held[0]["x"].read().tolist() == [0] * 10
            held.clear()
            for step in series:
                assert step["x"].read().tolist() == [step.index] * 10
        return ahead, step.index

    def check(jobs):
        ((ahead, last),) = jobs.finish()["reader"]
        assert last == 59
        assert 5 <= ahead <= 36


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_small_step_stays_when_its_reader_must_choose:
    """A step that may be discarded is given to the reader that asks, and is read as it was."""

    def writer(comm, fl, where):
        options = {"full": "discard-oldest", "queue_steps": 2, **SHORT}
        with fl.open(stream_name(where), "w", **options) as series:
            for index in range(400):
                with series.step() as step:
                    step.put("x", np.full(10, index))

    def reader(comm, fl, where):
        seen = []
        with fl.open(stream_name(where), **SHORT) as series:
            for step in series:
                time.sleep(0.001)
                assert step["x"].read().tolist() == [step.index] * 10
                seen.append(step.index)
            with pytest.raises(fl.InvalidArgument, match="ended"):
                step["x"].read()
        return seen == sorted(set(seen)) and seen[-1] == 399

    def check(jobs):
        assert jobs.finish()["reader"] == [True]
