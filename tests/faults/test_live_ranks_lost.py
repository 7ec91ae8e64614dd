# SPDX-License-Identifier: Apache-2.0
"""Reductions and shares of live steps of which a rank is stopped: no other one waits for ever."""

import signal
import time

import numpy as np
import pytest
from harness import scenario, wait_until

LIMIT = 2.0  # the least
USES = {"reduced": lambda x: x.reduce("sum"), "shared out": lambda x: x.mine("hyperslabs")}


def use_steps(comm, fl, where, use=""):
    """Two steps of a stream that the first rank writes; what the second one ends with."""
    if comm.rank == 0:
        writer = fl.open("live", "w", readers=0, queue_steps=4, directory=where)
        for _ in range(2):
            with writer.step() as step:
                step.put("x", np.arange(1000.0))
    comm.Barrier()
    series = fl.open("live", comm=comm, directory=where, stall_timeout=LIMIT)
    USES[use](series.next()["x"])
    time.sleep(1.5)  # so that beats were heard
    comm.Barrier()
    last = series.next()["x"]
    if comm.rank == 2:
        (where / "stop me").touch()
        wait_until((where / "it was stopped").exists, timeout=60)
    begin = time.monotonic()
    told = None
    try:
        USES[use](last)
    except fl.Error as error:
        told = type(error).__name__, str(error), time.monotonic() - begin
    (where / f"told {comm.rank}").touch()
    return told


@pytest.mark.parametrize("use", USES)
@scenario("job on 3 ranks", timeout=120, job=use_steps)
def test_a_rank_that_is_stopped(jobs, use):
    job = jobs.start("job", use=use)
    wait_until((jobs.where / "stop me").exists, timeout=60, what="the first step")
    pid = job.pid(2)
    job.signal(signal.SIGSTOP, rank=2)
    others = [jobs.where / f"told {rank}" for rank in range(2)]
    wait_until(lambda: all(file.exists() for file in others), timeout=40, what="the error")
    (jobs.where / "it was stopped").touch()
    job.signal(signal.SIGCONT, rank=2)
    # The one that was stopped may find that all others had come to what it asks.
    for kind, message, took in jobs.outcome("job").values[:2]:
        assert kind == "PeerStalled"
        assert f"rank 2 of 3: process {pid} on " in message
        assert took < 30
