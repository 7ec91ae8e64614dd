# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a rank of a job with helper ranks: those that exchange and the helpers name it."""

import pathlib
import subprocess
import sys

import pytest
from faults.test_channel_killed import SHELL
from fluvial.launch import Launcher

PROGRAM = pathlib.Path(__file__).with_name("helper_ranks_rank.py")
GIVEN_UP = "TimedOut: another rank of the exchange has given up. Its own error says why"


def told_of(victim, when, tmp_path):
    """What each of the others was told."""
    seen = tmp_path / "seen"
    seen.mkdir()
    launcher = Launcher.detect()
    rank = [sys.executable, str(PROGRAM), str(victim), when, str(seen)]
    argv = launcher.command(4, ["sh", "-c", SHELL, "sh", *rank])
    environment = launcher.environment({"SEEN": str(seen)})
    done = subprocess.run(argv, env=environment, timeout=60, capture_output=True, check=False)
    assert b"a Request was destroyed" not in done.stderr  # that is no fault of the program
    told = {}
    for rank in {0, 1, 2, 3} - {victim}:
        took, told[rank] = (seen / f"rank-{rank}").read_text().split("\n", 1)
        assert float(took) < 15, told  # and not only after stall_timeout
    return told


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize("when", ["moving", "idle"])
@pytest.mark.parametrize("victim", [1, 2], ids=["one that exchanges", "a helper"])
def test_the_others_name_it(victim, when, tmp_path):
    """One that hears of it by another's end may have heard no more than that."""
    told = told_of(victim, when, tmp_path)
    named = {f"PeerLost: rank {victim} of {ranks}: the process died" for ranks in (2, 4)}
    assert set(told.values()) <= {*named, GIVEN_UP}
    assert set(told.values()) & named


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
def test_helpers_are_told_who_died(tmp_path):
    """Not that the one that tells it was lost, which had counted among those that exchange."""
    told = told_of(1, "told", tmp_path)
    dead = "PeerLost: rank 1 of {}: the process died"
    assert told == {0: dead.format(2), 2: dead.format(4), 3: dead.format(4)}
