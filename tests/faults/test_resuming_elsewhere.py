# SPDX-License-Identifier: Apache-2.0
"""A reader that resumes while the writer is elsewhere: that host keeps how far it has come."""

import os
import random
import resource
import shutil
import signal
import time

import numpy as np
import pytest
from faults.roles import SHORT, read, write
from faults.test_steps_on_disk import put
from faults.test_steps_on_disk_killed import SEEDS, STEPS, resumed, seen_by
from faults.traces import stream_name
from harness import scenario, wait_until

import fluvial as fl

ELSEWHERE = {"resume": "plot", "transport": "tcp"}


@pytest.mark.random
@pytest.mark.parametrize("seed", SEEDS)
@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read)
def test_killed_at_any_moment_it_goes_on_where_it_was(jobs, seed):
    rng = random.Random(seed)
    full = rng.choice(["spill", "block"])
    jobs.start("writer", steps=STEPS, pause=0.01, full=full, retain=str(jobs.where), queue_steps=3)
    jobs.start("reader", pause=rng.choice([0, 0.002]), **ELSEWHERE)
    wait_until((jobs.where / "read-1").exists, timeout=30)
    time.sleep(rng.uniform(0, 0.2))
    pid = jobs["reader"].pid(0)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    before = max(seen_by(jobs.where))
    again, error = resumed(jobs.where, transport="tcp")
    assert error is None
    assert again == list(range(again[0], STEPS)) if again else before == STEPS - 1
    # The step that it read last may come again: it is not known whether it had finished it.
    assert not again or before <= again[0] <= before + 1
    assert jobs.outcome("writer").values[0]["error"] is None
    # The same position, now that the writer has ended: from the disk.
    assert resumed(jobs.where) == ([], None)


@scenario("reader on 1 process")
class test_each_step_is_known_before_the_next_is_read:
    """Also where many small steps have come at a time, and their ends are told together."""

    def reader(comm, fl, where):
        with fl.open(stream_name(where), directory=where, **ELSEWHERE, **SHORT) as series:
            for step in series:
                if step.index == 10:
                    os.kill(os.getpid(), signal.SIGKILL)

    def check(jobs):
        name, where = stream_name(jobs.where), jobs.where
        with fl.open(name, "w", directory=where, readers=0, retain=where) as writer:
            for index in range(20):
                put(writer, index)
            jobs.start("reader")
            jobs.outcome("reader")
            with fl.open(name, directory=where, **ELSEWHERE) as later:
                assert later.next().index == 10


@scenario("writer on 2 ranks, reader on 2 ranks, later reader on 3 ranks")
class test_with_another_number_of_ranks:
    def writer(comm, fl, where):
        with fl.open(
            stream_name(where), "w", comm=comm, full="spill", retain=str(where), **SHORT
        ) as series:
            for index in range(STEPS):
                if index == STEPS // 2:
                    wait_until((where / "the later reader is there").exists, timeout=60)
                with series.step() as step:
                    rows = np.full(1000, index)
                    step.put("x", rows, offset=(1000 * comm.rank,), shape=(1000 * comm.size,))

    reader = staticmethod(read)

    def later_reader(comm, fl, where):
        with fl.open(stream_name(where), comm=comm, **ELSEWHERE, **SHORT) as series:
            (where / "the later reader is there").touch()
            seen = []
            for step in series:
                assert (step["x"].read() == step.index).all()
                seen.append(step.index)
            return series.stats["transport"], seen

    def check(jobs):
        jobs.start("writer")
        jobs.start("reader", **ELSEWHERE)
        wait_until((jobs.where / "read-10").exists, timeout=30)
        os.kill(jobs["reader"].pid(1), signal.SIGKILL)
        jobs.outcome("reader")
        before = max(seen_by(jobs.where))
        jobs.start("later_reader")
        for transport, seen in jobs.outcome("later_reader").values:
            assert transport.startswith("tcp")
            assert seen == list(range(seen[0], STEPS))
            assert seen[0] <= before + 1
        assert jobs.outcome("writer").ok


def test_what_was_read_counts_although_more_was_on_its_way(folder):
    """A reader closes before it has taken all that came: its connection may not end in order."""
    rng = random.Random(20261127)
    with fl.open("disk", "w", readers=0, retain=True, full="spill", queue_steps=4) as writer:
        for index in range(1500):
            put(writer, index)
        next_step = 0
        while next_step < 900:
            with fl.open("disk", **ELSEWHERE) as reader:
                for _ in range(rng.randint(1, 8)):
                    assert reader.next().index == next_step
                    next_step += 1


def test_one_job_at_a_time_here_or_elsewhere(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        for index, other in enumerate(({"transport": "tcp"}, {})):
            put(writer, index)
            with fl.open("disk", **ELSEWHERE) as first:
                with pytest.raises(fl.InvalidArgument, match="position 'plot' is in use"):
                    fl.open("disk", resume="plot", **other)
                with fl.open("disk", resume="other", **other) as second:
                    assert first.next().index == second.next().index == index
        put(writer, 2)
        with fl.open("disk", resume="plot") as again:
            assert again.next().index == 2
            with pytest.raises(fl.InvalidArgument, match="position 'plot' is in use"):
                fl.open("disk", **ELSEWHERE)


def test_a_step_that_failed_in_the_middle_comes_again(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        for index in range(5):
            put(writer, index)
        for first in (0, 2, 4):
            with pytest.raises(ZeroDivisionError), fl.open("disk", **ELSEWHERE) as reader:
                for step in reader:
                    if step.index == first + 2 or step.index == 4:
                        raise ZeroDivisionError
                    assert step.index >= first


def test_what_a_stream_that_is_not_retained_says(folder):
    with fl.open("disk", "w", readers=0) as writer:
        put(writer, 0)
        with pytest.raises(fl.InvalidArgument, match=r"does not keep.*got resume.*retain"):
            fl.open("disk", **ELSEWHERE)


def test_a_writer_that_goes_elsewhere_finds_its_folder_again(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("FLUVIAL_DIRECTORY", ".")
    with fl.open("disk", "w", readers=0, retain=".") as writer:
        put(writer, 0)
        monkeypatch.setenv("FLUVIAL_DIRECTORY", str(folder))
        (folder / "deeper").mkdir()
        monkeypatch.chdir(folder / "deeper")
        with fl.open("disk", **ELSEWHERE) as reader:
            assert reader.next().index == 0
    assert (folder / "disk.steps" / "positions" / "plot.0").exists()


def test_a_disk_that_does_not_take_the_position_is_an_error_of_the_reader_alone(folder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        for index in range(3):
            put(writer, index)
        with fl.open("disk", **ELSEWHERE) as reader, fl.open("disk") as other:
            reader.next()
            try:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
                with pytest.raises(fl.SystemError, match="how far this reader has come"):
                    for _ in range(3):
                        reader.next()
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert [other.next().index for _ in range(3)] == [0, 1, 2]


def test_a_folder_that_went_is_an_error_of_the_reader_alone(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
        shutil.rmtree(folder / "disk.steps")
        with pytest.raises(fl.SystemError, match="cannot make the folder"):
            fl.open("disk", **ELSEWHERE)
        with fl.open("disk", transport="tcp") as reader:
            put(writer, 1)
            assert (reader.next()["x"].read() == 0).all()
            assert (reader.next()["x"].read() == np.ones(1000)).all()
