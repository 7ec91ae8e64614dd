# SPDX-License-Identifier: Apache-2.0
"""Ranks that write files together, of which one is stopped: the others name it in time."""

import os
import signal
import socket
import time

import numpy as np
import pytest
from harness import scenario, wait_until, write_whole

LIMIT = 2.0  # the least
RANKS = 4
VICTIM = 3


def write_on(comm, fl, where, **said):
    """Write steps until there is an error; return it, how long it took, and how many there were."""
    socket.gethostname = lambda: f"node{comm.rank // 2}"
    options = {"step_timeout": 60, "stall_timeout": LIMIT, **said}
    steps, begin, told = 0, time.monotonic(), None
    try:
        with fl.open(str(where / "run.h5"), "w", comm=comm, **options) as series:
            time.sleep(1.5)  # so that beats were heard
            while True:
                begin = time.monotonic()
                with series.step() as step:
                    part = np.full(1000, comm.rank, "f8")
                    step.put("x", part, offset=(1000 * comm.rank,), shape=(1000 * comm.size,))
                steps += 1
                (where / f"wrote-{comm.rank}-{steps}").touch()
    except fl.Error as error:
        told = type(error).__name__, str(error), time.monotonic() - begin
    write_whole(where / f"told-{comm.rank}", repr((*told, steps)))
    wait_until((where / "it goes on").exists, timeout=60)
    os._exit(0)  # MPI_Finalize would wait for calls that never end


def told_by_others(where):
    files = [where / f"told-{rank}" for rank in range(RANKS) if rank != VICTIM]
    wait_until(lambda: all(file.exists() for file in files), timeout=40)
    return [eval(file.read_text()) for file in files]


@pytest.mark.any_mpi(cases=3)
@pytest.mark.parametrize("after_steps", [1, 7, 20])
@pytest.mark.parametrize(
    "said", [{"file_per": "host"}, {"aggregators": 0}, {"aggregators": 2}, {"aggregators": 4}]
)
@scenario(f"job on {RANKS} ranks", job=write_on, timeout=120)
def test_a_stopped_rank_is_named(jobs, said, after_steps):
    job = jobs.start("job", **said)
    wrote = jobs.where / f"wrote-{VICTIM}-{after_steps}"
    wait_until(wrote.exists, timeout=60, what="the first steps")
    pid = job.pid(VICTIM)
    job.signal(signal.SIGSTOP, rank=VICTIM)
    for kind, message, took, steps in told_by_others(jobs.where):
        assert kind == "PeerStalled", message
        assert f"rank {VICTIM} of {RANKS}: process {pid} on " in message
        assert f"stall_timeout={LIMIT:g} s" in message
        assert took < LIMIT + 15
        assert steps >= after_steps - 1
    job.signal(signal.SIGCONT, rank=VICTIM)
    victim = jobs.where / f"told-{VICTIM}"
    wait_until(victim.exists, timeout=40)
    assert eval(victim.read_text())[0] == "PeerStalled"
    (jobs.where / "it goes on").touch()
    jobs.outcome("job")
