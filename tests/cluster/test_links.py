# SPDX-License-Identifier: Apache-2.0
"""The line of a scenario says how fast the links between hosts are."""

import time

import numpy as np
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario

COUNT = 500_000  # numbers of 8 bytes: 4 MB, in 0.32 s by 100 Mbit/s


def write(comm, fl, where):
    each = COUNT // comm.size
    with fl.open(stream_name(where), "w", comm=comm, **SHORT) as series, series.step() as step:
        step.put("x", np.ones(each), offset=(each * comm.rank,), shape=(COUNT,))


def read(comm, fl, where):
    with fl.open(stream_name(where), comm=comm, fetch="once", **SHORT) as series:
        step = series.next()
        comm.Barrier()
        begin = time.monotonic()
        assert step["x"].read().sum() == COUNT
        return time.monotonic() - begin, series.stats["bytes_received"]


@scenario(
    "writer on 2 hosts x 2 ranks, reader on 1 host x 3 ranks, link 100 Mbit/s",
    writer=write,
    reader=read,
)
def test_data_is_as_slow_as_the_link_of_the_scenario(jobs):
    results = jobs.finish()["reader"]
    received = sum(received for _, received in results)
    assert received >= 8 * COUNT
    # A cable takes 64 KiB at once; the reader's end is the narrow one.
    assert max(took for took, _ in results) > 0.9 * (8 * COUNT - 4 * 65_536) / 12.5e6


def pings(comm, fl, where):
    comm.Barrier()
    begin = time.monotonic()
    for _ in range(5):
        comm.Barrier()
    return time.monotonic() - begin


@scenario("job on 2 hosts x 1 rank, link 100 Mbit/s with 20 ms of delay", job=pings)
def test_messages_take_the_delay_of_the_scenario(jobs):
    """Left out by name where the kernel delays nothing."""
    assert min(jobs.finish()["job"]) > 5 * 0.020
