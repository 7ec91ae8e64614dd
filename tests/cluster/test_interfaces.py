# SPDX-License-Identifier: Apache-2.0
"""Hosts with two networks between them, of which one goes down."""

import os
import time

import numpy as np
from faults.roles import SHORT, read, write
from faults.traces import stream_name
from harness import scenario, wait_until

SECOND = "10.79.0"


def with_second_interfaces(box):
    """Give each host another interface, on the same switch."""
    for number in range(1, box.hosts + 1):
        box.add_interface(number, "eth1", f"{SECOND}.{number}")


@scenario("writer on 2 ranks of host 1, reader on 2 ranks of host 2", writer=write, reader=read)
def test_one_of_two_interfaces_goes_down(jobs):
    """The stream goes on over the other: no step is lost, and none comes twice."""
    with_second_interfaces(jobs.box)
    jobs.start("writer", queue_steps=3, steps=150, pause=0.01, stall_timeout=6)
    jobs.start("reader", stall_timeout=6)
    wait_until((jobs.where / "read-5").exists, timeout=30)
    before = jobs.box.sent_bytes(1, "eth1")
    jobs.box.unplug(1)
    results = jobs.finish()
    for result in results["reader"]:
        assert result["error"] is None
        assert result["seen"] == list(range(150))
    assert results["writer"][0]["error"] is None
    assert results["writer"][0]["readers_evicted"] == 0
    assert jobs.box.sent_bytes(1, "eth1") - before > 100_000


@scenario("writer on 1 process of host 1, reader on 1 process of host 2")
class test_an_interface_goes_down_in_the_middle_of_a_read:
    """The read begins again over the other interface.

    By libfabric only where FLUVIAL_TRY_LIBFABRIC is set: version 1.17 has once crashed in its own
    code when the cable of a read under way was pulled.
    """

    def writer(comm, fl, where):
        options = {**SHORT, "stall_timeout": 6}
        with fl.open(stream_name(where), "w", **options) as series, series.step() as step:
            step.put("x", np.arange(4_000_000))

    def reader(comm, fl, where, transport):
        options = {**SHORT, "stall_timeout": 6, "transport": transport}
        reads = after = 0
        with fl.open(stream_name(where), **options) as series:
            step = series.next()
            (where / f"reading-{transport}").touch()
            while after < 20:  # reads
                after += (where / f"cut-{transport}").exists()
                assert (step["x"][1:] == np.arange(1, 4_000_000)).all()
                reads += 1
        return reads

    def check(jobs):
        with_second_interfaces(jobs.box)
        for transport in ["tcp", *["libfabric"] * ("FLUVIAL_TRY_LIBFABRIC" in os.environ)]:
            jobs.start("writer")
            jobs.start("reader", transport=transport)
            wait_until((jobs.where / f"reading-{transport}").exists, timeout=30)
            time.sleep(0.2)
            jobs.box.unplug(1)
            (jobs.where / f"cut-{transport}").touch()
            assert jobs.finish()["reader"][0] >= 20
            jobs.box.plug_in(1)
