# SPDX-License-Identifier: Apache-2.0
"""A reader on another host whose policy is its own: it loses steps, and nobody waits for it."""

import signal
import time

import pytest
from faults import test_reader_policies as policies
from faults.roles import read, write
from harness import scenario


@pytest.mark.parametrize("policy", ["discard-oldest", "discard-newest"])
@scenario(
    "writer on 2 ranks of hosts 1-2, archive on 1 process of host 2, drawing on 1 rank of host 3",
    writer=write,
    archive=read,
    drawing=policies.draw,
)
def test_a_reader_elsewhere_that_discards_is_slow(jobs, policy):
    policies.begin(jobs, policy, 2)
    policies.check_the_others(jobs)
    intact, seen, discarded = jobs.outcome("drawing").values[0]
    assert intact
    assert seen == sorted(set(seen))
    assert discarded > 0


@scenario(
    "writer on 1 process of host 1, archive on 1 process of host 1, drawing on 1 process of host 2",
    writer=write,
    archive=read,
    drawing=policies.draw,
)
def test_a_reader_elsewhere_that_discards_is_stopped(jobs):
    policies.begin(jobs, "discard-oldest", 1)
    jobs["drawing"].signal(signal.SIGSTOP)
    begin = time.monotonic()
    assert policies.check_the_others(jobs)["readers_evicted"] == 0
    assert time.monotonic() - begin < policies.STALL / 2
    jobs["drawing"].signal(signal.SIGCONT)
    jobs["drawing"].signal(signal.SIGTERM)
