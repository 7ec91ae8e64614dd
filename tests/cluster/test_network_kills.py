# SPDX-License-Identifier: Apache-2.0
"""Processes that are killed at any moment, readers that come and go, children by fork."""

import contextlib
import os
import random
import signal
import time

import numpy as np
from faults.roles import SHORT, write
from faults.traces import stream_name
from harness import scenario, wait_until
from harness.kills import KILLS, TAKES_S

JOINS = 100
ELEMENTS = 20_000
ENDS = {"none", "PeerLost", "PeerStalled", "StaleContact", "TimedOut", "Refused"}


def in_a_child(work):
    """Run `work` in a process of its own and return its id."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            work()
        os._exit(0)
    return child


def kill(child):
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def sums(series):
    """Read all steps; return how many there were."""
    count = 0
    for step in series:
        assert step.index == count
        assert float(step["x"].read().sum()) == ELEMENTS * step.index
        count += 1
    return count


@scenario(
    "writer on 1 process of host 1, doomed on 1 process of host 2, reader on 1 process of host 2",
    timeout=TAKES_S,
)
class test_readers_killed_at_any_moment:
    """The writer and the other reader go on, and all places are given back."""

    def writer(comm, fl, where):
        options = {**SHORT, "queue_steps": 3, "readers": 1}
        index = 0
        with fl.open(stream_name(where), "w", **options) as series:
            while not (where / "enough").exists():
                with series.step() as step:
                    step.put("x", np.full(ELEMENTS, index))
                index += 1
                time.sleep(0.002)
            wait_until(lambda: series.stats["readers"] == 1, timeout=10)
            return index

    def doomed(comm, fl, where, seed):
        chance = random.Random(seed)

        def look():
            with fl.open(stream_name(where), **SHORT) as series:
                for step in series:
                    step["x"].read()

        for _ in range(KILLS):
            child = in_a_child(look)
            time.sleep(chance.uniform(0, 0.15))
            kill(child)
        (where / "enough").mkdir()
        return KILLS

    def reader(comm, fl, where):
        with fl.open(stream_name(where), **SHORT) as series:
            (where / "reading").mkdir()
            return sums(series)

    def check(jobs, seed):
        jobs.start("writer", "reader")
        wait_until((jobs.where / "reading").exists, timeout=30)  # the writer waits for this reader
        jobs.start("doomed", seed=seed)
        results = jobs.finish()
        assert results["reader"] == results["writer"]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2", timeout=TAKES_S)
class test_writers_killed_at_any_moment:
    """Their reader gets whole steps in order, and then an error by name, soon."""

    def writer(comm, fl, where, seed):
        chance = random.Random(seed)

        for number in range(KILLS):

            def put(number=number):
                with fl.open(f"{stream_name(where)}-{number}", "w", **SHORT) as series:
                    for index in range(40):
                        with series.step() as step:
                            step.put("x", np.full(ELEMENTS, index))

            child = in_a_child(put)
            time.sleep(chance.uniform(0, 0.2))
            kill(child)
            (where / f"killed-{number}").mkdir()
            wait_until((where / f"told-{number}").exists, timeout=30)

    def reader(comm, fl, where):
        told = []
        for number in range(KILLS):
            try:
                options = {**SHORT, "rendezvous_timeout": 1}
                with fl.open(f"{stream_name(where)}-{number}", **options) as series:
                    sums(series)
                told.append("none")
            except fl.Error as error:
                told.append(type(error).__name__)
            (where / f"told-{number}").mkdir()
            wait_until((where / f"killed-{number}").exists, timeout=30)
        return told

    def check(jobs, seed):
        jobs.start("writer", seed=seed)
        jobs.start("reader")
        (told,) = jobs.finish()["reader"]
        assert set(told) <= ENDS
        assert len(told) == KILLS


@scenario(
    "writer on 1 process of host 1, guests on 4 processes of host 2, reader on 1 process of host 3"
)
class test_a_hundred_readers_that_come_and_go:
    """While the stream runs for another, which misses nothing."""

    def writer(comm, fl, where):
        index = 0
        with fl.open(stream_name(where), "w", **SHORT) as series:
            while len(list(where.glob("gone-*"))) < 4:
                with series.step() as step:
                    step.put("x", np.full(ELEMENTS, index))
                index += 1
            return index

    def guests(comm, fl, where):
        for _ in range(JOINS // 4):
            with fl.open(stream_name(where), start="next", **SHORT) as series:
                step = series.next()
                assert float(step["x"].read().sum()) == ELEMENTS * step.index
        (where / f"gone-{os.getpid()}").mkdir()

    def reader(comm, fl, where):
        with fl.open(stream_name(where), **SHORT) as series:
            return sums(series)

    def check(jobs):
        jobs.start("writer", "reader")
        wait_until(lambda: list(jobs.where.glob("*.fluvial")), timeout=30)
        jobs.start("guests")
        results = jobs.finish()
        assert results["reader"] == results["writer"]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_programs_that_fork_while_they_stream:
    """Children keep no connection: the end of each parent is noticed at once."""

    def writer(comm, fl, where):
        return write(comm, fl, where, steps=50, pause=0.002)

    def reader(comm, fl, where):
        seen = 0
        children = []
        with fl.open(stream_name(where), **SHORT) as series:
            for step in series:
                assert (step["x"].read() == step.index).all()
                seen += 1
                if seen in (5, 20):
                    children.append(in_a_child(lambda: time.sleep(60)))
                if seen == 30:
                    break
        (where / "left").mkdir()
        for child in children:
            os.kill(child, 0)  # it lives
            kill(child)
        return seen

    def check(jobs):
        jobs.start("writer", "reader")
        wait_until((jobs.where / "left").exists, timeout=30)
        left = time.monotonic()
        results = jobs.finish()
        assert time.monotonic() - left < 10
        assert results["reader"] == [30]
        assert results["writer"][0]["error"] is None
