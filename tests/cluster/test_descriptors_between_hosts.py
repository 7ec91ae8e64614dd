# SPDX-License-Identifier: Apache-2.0
"""A writer, or a reader on another host, that has no free descriptor when data is read."""

import contextlib
import os
import resource
import time

import numpy as np
import pytest
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario, wait_until
from harness.rails import join_by_networks

NUMBERS = 500_000
TIMES = {**SHORT, "stall_timeout": 5}


@contextlib.contextmanager
def descriptors_left(count):
    """Leave this process so many."""
    highest = max(map(int, os.listdir("/proc/self/fd")))
    taken = [os.open("/dev/null", os.O_RDONLY)]
    while taken[-1] <= highest:
        taken.append(os.dup(taken[-1]))
    usual = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[-1] + 1, usual[1]))
    # Other threads may have had one for a moment while the rest was taken.
    for _ in range(10):
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(taken[0]))
        time.sleep(0.02)
    for descriptor in taken[1 : 1 + count]:
        os.close(descriptor)
    del taken[1 : 1 + count]
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, usual)
        for descriptor in taken:
            os.close(descriptor)


def write_until_read(fl, where):
    """Write two steps, and stay until the reader has what it wants."""
    with fl.open(stream_name(where), "w", **TIMES) as series:
        for index in range(2):
            with series.step() as step:
                step.put("x", np.arange(NUMBERS) + index)
        wait_until((where / "has-step").exists, timeout=30)
        yield
        wait_until((where / "done").exists, timeout=60)


def is_whole(step, index):
    return bool((step["x"].read() == np.arange(NUMBERS) + index).all())


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_writer_without_descriptors_for_data:
    """The read waits until there is one: another thread may let one go at any time."""

    def writer(comm, fl, where):
        for _ in write_until_read(fl, where):
            with descriptors_left(0):
                (where / "none-free").mkdir()
                wait_until((where / "reads").exists, timeout=30)
                time.sleep(1)

    def reader(comm, fl, where):
        with fl.open(stream_name(where), **TIMES) as series:
            step = series.next()
            (where / "has-step").mkdir()
            wait_until((where / "none-free").exists, timeout=30)
            (where / "reads").mkdir()
            whole = is_whole(step, 0) and is_whole(series.next(), 1)
            (where / "done").mkdir()
            return whole

    def check(jobs):
        assert jobs.finish()["reader"] == [True]


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_a_reader_without_descriptors_for_data:
    """The read says so; with one more it goes over one network, and over all with more."""

    def writer(comm, fl, where):
        for _ in write_until_read(fl, where):
            pass

    def reader(comm, fl, where):
        with fl.open(stream_name(where), **TIMES) as series:
            step = series.next()
            (where / "has-step").mkdir()
            with (
                descriptors_left(0),
                pytest.raises(fl.PeerLost, match="Too many open files"),
            ):
                step["x"].read()
            with descriptors_left(1):
                whole = is_whole(step, 0)
                alone = [c > 1_000_000 for c in series.stats["bytes_by_interface"].values()]
            step = series.next()
            whole = whole and is_whole(step, 1)
            deadline = time.monotonic() + 20
            while len(series.stats["bytes_by_interface"]) < 3 and time.monotonic() < deadline:
                whole = whole and is_whole(step, 1)
            (where / "done").mkdir()
            return whole, alone.count(True), sorted(series.stats["bytes_by_interface"])

    def check(jobs):
        join_by_networks(jobs.box, None)
        jobs.start("writer", "reader")
        ((whole, alone, used),) = jobs.finish()["reader"]
        assert whole
        assert alone < 3
        assert used == ["eth0", "eth1", "eth2"]
