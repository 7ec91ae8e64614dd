# SPDX-License-Identifier: Apache-2.0
"""Ranks that wait while other hosts measure, on a clock of the test's own."""

import numpy as np
import pytest

import fluvial as fl
from fluvial.route import timed_transfers


class Clock:
    """Goes on when somebody waits."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def serve(self, seconds):
        self.now += 0.5


class Waiting:
    """A call of MPI that is complete at a time."""

    def __init__(self, clock, end):
        self._clock, self._end = clock, end

    def Test(self):  # noqa: N802
        return self._clock.now >= self._end


class OtherRanks:
    """A communicator whose other ranks measure until a time."""

    def __init__(self, clock, rank, end):
        self._clock, self._rank, self._end = clock, rank, end

    def Get_rank(self):  # noqa: N802
        return self._rank

    def Ibcast(self, what):  # noqa: N802
        return Waiting(self._clock, 0)

    def Ibarrier(self):  # noqa: N802
        return Waiting(self._clock, self._end)

    def Irecv(self, what, rank, tag):  # noqa: N802
        return Waiting(self._clock, self._end)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(timed_transfers, "time", clock)
    monkeypatch.setattr(timed_transfers, "serve", clock.serve)
    return clock


def test_a_rank_waits_while_one_host_measures_with_many(clock):
    """Fifty share the cable of one, and are measured three times."""
    hosts = 50
    others = OtherRanks(clock, hosts, 3.0 * hosts)
    transfers = timed_transfers.Transfers(others, range(hosts), seconds=1.0, timeout=1.0)
    transfers.at_once([(7, host) for host in range(hosts) if host != 7], np.ones((hosts, hosts)))
    assert clock.now >= 3.0 * hosts


def test_the_first_host_waits_while_two_others_measure(clock):
    transfers = timed_transfers.Transfers(
        OtherRanks(clock, 0, 10.0), range(3), seconds=1.0, timeout=1.0
    )
    transfers.alone(1, 2)
    assert clock.now >= 10


def test_a_rank_does_not_wait_for_ever(clock):
    others = OtherRanks(clock, 3, np.inf)
    transfers = timed_transfers.Transfers(others, range(3), seconds=1.0, timeout=1.0)
    with pytest.raises(fl.TimedOut, match="a host has not answered"):
        transfers.alone(1, 2)
