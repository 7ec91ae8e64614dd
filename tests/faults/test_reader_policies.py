# SPDX-License-Identifier: Apache-2.0
"""A reader with a policy of its own is killed or stopped: nobody else notices.

The writer evicts a stopped reader after STALL seconds, which no test here takes: what passes it by
does so by that policy.
"""

import signal
import time

import pytest
from faults.roles import read, write
from faults.traces import stream_name
from harness import scenario, wait_until

STEPS = 200
STALL = 50


def draw(comm, fl, where, **options):
    """Read slowly; hold the data of each step while the next one comes."""
    seen, held = [], []
    with fl.open(stream_name(where), comm=comm, stall_timeout=STALL, **options) as series:
        for step in series:
            held = [*held[-2:], (step.index, step["x"].read())]
            seen.append(step.index)
            (where / f"drawn-{len(seen)}").touch()
            time.sleep(0.05)
        intact = all(bool((values == index).all()) for index, values in held)
        return intact, seen, series.stats["steps_discarded"]


def begin(jobs, policy, queue_steps):
    """Start the jobs; return when the one that draws has begun its third step.

    The writer has more than a second left then.
    """
    options = {"queue_steps": queue_steps, "readers": 2, "stall_timeout": STALL}
    jobs.start("writer", steps=STEPS, pause=0.01, **options)
    jobs.start("drawing", full=policy)
    jobs.start("archive", stall_timeout=STALL)
    wait_until((jobs.where / "drawn-3").exists, timeout=30)


def check_the_others(jobs):
    """Neither writer nor archive have lost a step, or waited for one."""
    writer, archive = jobs.outcome("writer").values[0], jobs.outcome("archive").values[0]
    assert (writer["error"], archive["error"]) == (None, None)
    assert archive["seen"] == list(range(STEPS))
    assert (writer["steps_written"], writer["steps_discarded"]) == (STEPS, 0)
    assert writer["longest_step_s"] < STALL / 2
    return writer


@pytest.mark.parametrize("policy", ["discard-oldest", "discard-newest"])
@pytest.mark.parametrize("queue_steps", [1, 4])
@scenario(
    "writer on 1 process, archive on 1 process, drawing on 1 process",
    writer=write,
    archive=read,
    drawing=draw,
)
def test_a_reader_that_discards_is_stopped(jobs, policy, queue_steps):
    begin(jobs, policy, queue_steps)
    jobs["drawing"].signal(signal.SIGSTOP)
    assert check_the_others(jobs)["readers_evicted"] == 0
    jobs["drawing"].signal(signal.SIGCONT)
    intact, seen, discarded = jobs.outcome("drawing").values[0]
    assert intact
    assert seen == sorted(set(seen))
    assert len(seen) + discarded == STEPS
    assert discarded > 0
    assert policy == "discard-newest" or seen[-1] == STEPS - 1


@pytest.mark.parametrize("policy", ["discard-oldest", "discard-newest"])
@scenario(
    "writer on 2 ranks, archive on 1 process, drawing on 1 process",
    writer=write,
    archive=read,
    drawing=draw,
)
def test_a_reader_that_discards_is_killed(jobs, policy):
    begin(jobs, policy, 1)
    jobs["drawing"].signal(signal.SIGKILL)
    writer = check_the_others(jobs)
    assert writer["readers_lost"] == 1
    # What the archive has not finished yet: the last step, and arrays of the one before.
    assert writer["queue_depth"] <= 1
    assert writer["bytes_in_use"] <= 2 * 16_000
