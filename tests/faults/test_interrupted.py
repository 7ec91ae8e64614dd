# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in each call that blocks: a KeyboardInterrupt within a second, and nothing broken."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest
from faults.traces import stream_name

import fluvial as fl
from fluvial import _core


@contextlib.contextmanager
def interrupted_in_time():
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    begin = time.monotonic()
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
        assert 0.15 < time.monotonic() - begin < 5
    finally:
        timer.cancel()  # of a call that did not block: else the signal would come to the next one
        timer.join()
        signal.signal(signal.SIGINT, previous)


@pytest.fixture
def name(tmp_path):
    return stream_name(tmp_path)


def test_a_writer_that_waits_for_readers(tmp_path, name):
    with interrupted_in_time():
        fl.open(name, "w", directory=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_reader_that_waits_for_the_writer(tmp_path, name):
    with interrupted_in_time():
        fl.open(name, directory=tmp_path)


def test_a_reader_that_waits_for_a_step(tmp_path, name):
    with (
        fl.open(name, "w", readers=0, directory=tmp_path) as writer,
        fl.open(name, directory=tmp_path) as reader,
    ):
        with interrupted_in_time():
            reader.next()
        with writer.step() as step:
            step.put("x", np.ones(1))
        assert reader.next().index == 0


def test_a_writer_that_waits_for_room(tmp_path, name):
    with (
        fl.open(name, "w", readers=0, directory=tmp_path, queue_steps=1, queue_bytes=100) as writer,
        fl.open(name, directory=tmp_path) as reader,
    ):
        with writer.step() as step:
            step.put("x", np.ones(10))
        with interrupted_in_time():
            writer.step()
        held = reader.next()["x"].read()
        with interrupted_in_time():
            writer.step()
        assert held.sum() == 10


def test_a_put_that_waits_for_bytes(tmp_path, name):
    with (
        fl.open(name, "w", readers=0, directory=tmp_path, queue_steps=4, queue_bytes=100) as writer,
        fl.open(name, directory=tmp_path) as reader,
    ):
        with writer.step() as step:
            step.put("x", np.ones(10))
        with writer.step() as step:
            with interrupted_in_time():
                step.put("x", np.ones(10))
            assert reader.next().index == 0
            reader.close()
            step.put("x", np.ones(10))
        assert writer.stats["steps_written"] == 2


def test_a_reader_that_waits_for_an_answer(tmp_path, name):
    """The writer's host is stopped: connecting works, but no process answers."""
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException), fl.open(name, "w", readers=0, directory=tmp_path):
            time.sleep(60)
        os._exit(0)
    try:
        deadline = time.monotonic() + 20
        while not list(tmp_path.glob("*.fluvial")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(1)  # or it is stopped before it listens
        os.kill(child, signal.SIGSTOP)
        os.waitpid(child, os.WUNTRACED)  # until then a thread of it may answer
        with interrupted_in_time():
            fl.open(name, directory=tmp_path)
        begin = time.monotonic()
        with pytest.raises(fl.TimedOut, match="does not let this process attach in time"):
            fl.open(name, directory=tmp_path, rendezvous_timeout=0.5)
        assert time.monotonic() - begin < 4
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


@pytest.mark.parametrize("planner", ["disjoint", "min-max"])
def test_a_plan_of_routes_that_takes_long(planner):
    network = fl.route.topology("torus:256x256" if planner == "disjoint" else "torus:64x64x64")
    flows = [(host, host + 3000) for host in range(1 if planner == "disjoint" else 3000)]
    with interrupted_in_time():
        fl.route.plan(network, flows, planner)


def test_a_simulation_of_a_flow():
    with interrupted_in_time():
        _core.simulate_flow("varying", 2**20, 10_000, 0.1, 0.9, 1)
