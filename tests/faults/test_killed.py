# SPDX-License-Identifier: Apache-2.0
"""kill -9, of writers, of readers and of all processes."""

import os
import signal
import time

import numpy as np
import pytest
from faults.roles import read, write
from faults.traces import shared_memory_of, stream_name
from harness import scenario, wait_until

import fluvial as fl


def reached(jobs, step, what="read"):
    wait_until((jobs.where / f"{what}-{step}").exists, timeout=30, what=f"{what}-{step}")


@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read)
def test_a_killed_writer(jobs):
    """Every complete step, then an error that names the dead rank; the contact is stale at once."""
    name = stream_name(jobs.where)
    jobs.start("writer", queue_steps=100, pause=0.001)
    jobs.start("reader", pause=0.02)
    reached(jobs, 5)
    wait_until((jobs.where / "step-30").exists, timeout=30)
    pid = jobs["writer"].pid(0)
    assert {p for p, _ in shared_memory_of(name)} == {pid, jobs["reader"].pid(0)}
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    begin = time.monotonic()
    with pytest.raises(fl.StaleContact, match=f"left behind.*of process {pid}"):
        fl.open(name, directory=jobs.where, rendezvous_timeout=20)
    assert time.monotonic() - begin < 10  # and not the 20 s that a writer is waited for
    result = jobs.outcome("reader").values[0]
    done = max(int(path.name[5:]) for path in jobs.where.glob("step-*"))
    assert result["seen"] == list(range(len(result["seen"])))
    assert result["seen"][-1] in (done, done + 1)  # the one that was complete, but not yet told
    kind, message = result["error"]
    assert kind == "PeerLost"
    assert f"rank 0 of 1 of the writer of '{name}' (process {pid}) died" in message
    assert result["after_s"] < 2
    with fl.open(name, "w", directory=jobs.where, readers=0) as again:  # takes the stale file over
        with fl.open(name, directory=jobs.where) as reader, again.step() as step:
            step.put("x", np.ones(1))
        assert reader.stats["steps_read"] == 0
    assert not os.path.exists(again.contact_path)


@scenario("writer on 2 ranks, reader on 1 process", writer=write, reader=read)
def test_one_killed_rank_of_the_writer(jobs):
    jobs.start("writer")
    jobs.start("reader")
    reached(jobs, 3)
    os.kill(jobs["writer"].pid(1), signal.SIGKILL)
    result = jobs.outcome("reader").values[0]
    kind, message = result["error"]
    assert kind == "PeerLost"
    assert "of 2 of the writer" in message or "failed" in message
    assert result["after_s"] < 3
    assert jobs.outcome("writer").returncode != 0


@scenario(
    "writer on 1 process, doomed reader on 2 ranks, reader on 1 process", writer=write, reader=read
)
def test_one_killed_rank_of_a_reader(jobs):
    """The writer goes on, though its policy is to wait, and so does the other reader."""
    jobs.start("writer", readers=2, queue_steps=2, steps=150, pause=0.005)
    jobs.start("doomed_reader", "reader")
    reached(jobs, 5)
    os.kill(jobs["doomed_reader"].pid(1), signal.SIGKILL)
    result = jobs.outcome("reader").values[0]
    assert result["error"] is None
    assert result["seen"] == list(range(150))
    writer = jobs.outcome("writer").values[0]
    assert writer["error"] is None
    assert writer["readers_lost"] == 1
    assert writer["readers_joined"] == 2
    assert writer["steps_written"] == 150
    assert writer["longest_step_s"] < 5


@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read)
def test_a_killed_reader(jobs):
    jobs.start("writer", queue_steps=1, steps=100, pause=0.005)
    jobs.start("reader")
    reached(jobs, 5)
    os.kill(jobs["reader"].pid(0), signal.SIGKILL)
    writer = jobs.outcome("writer").values[0]
    assert writer["error"] is None
    assert writer["steps_written"] == 100
    assert writer["readers_lost"] == 1
    assert writer["longest_step_s"] < 5


@scenario("writer on 1 process, reader on 2 processes", writer=write, reader=read)
def test_everybody_is_killed_at_once(jobs):
    """Only the contact file is left, and it is stale; conftest.py looks for anything else."""
    name = stream_name(jobs.where)
    jobs.start("writer", readers=2)
    jobs.start("reader")
    reached(jobs, 3)
    assert len({pid for pid, _ in shared_memory_of(name)}) == 3
    for job in ("writer", "reader"):
        jobs[job].signal(signal.SIGKILL)
    assert (
        jobs.outcome("writer").returncode
        == jobs.outcome("reader").returncode
        == 128 + signal.SIGKILL
    )
    assert shared_memory_of(name) == []
    with pytest.raises(fl.StaleContact):
        fl.open(name, directory=jobs.where)
