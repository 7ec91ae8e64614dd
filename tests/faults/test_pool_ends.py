# SPDX-License-Identifier: Apache-2.0
"""The lead ends a pool while tasks run in it, or leaves: what runs is done, and no rank waits."""

import pathlib
import subprocess
import sys

import pytest
from fluvial.launch import Launcher
from fluvial.launch.supervisor import supervised

PROGRAM = pathlib.Path(__file__).with_name("pool_ends_rank.py")
RANKS = 4

pytestmark = [pytest.mark.any_mpi, pytest.mark.timeout(90)]


def run(how, where):
    """Return how the job ended, and what the lead has told."""
    launcher = Launcher.detect()
    argv = launcher.command(RANKS, [sys.executable, str(PROGRAM), how, str(where)])
    ran = subprocess.run(
        supervised(argv, timeout=60),
        env=launcher.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    for rank in range(1, RANKS):
        assert (where / f"rank-{rank}").read_text() == "served\n", ran.stderr
    told = where / "rank-0"
    return ran, told.read_text().splitlines() if told.exists() else []


def ended(where):
    """Return how many tasks have begun, and how many have come to their end."""
    return len(list(where.glob("begun-*"))), len(list(where.glob("ended-*")))


def test_what_runs_is_done_and_what_waits_is_cancelled(tmp_path):
    ran, (futures, refused) = run("shut_down_and_cancel", tmp_path)
    assert ran.returncode == 0, ran.stderr
    done, results, cancelled = futures.split()
    assert (done, int(results) + int(cancelled)) == ("True", 8)
    assert int(results) >= 2
    assert int(cancelled) >= 4
    assert "got a pool that was shut down" in refused
    begun, at_end = ended(tmp_path)
    assert begun == at_end == int(results) + 1  # one task had two ranks


def test_all_is_done_though_the_lead_does_not_wait(tmp_path):
    ran, (before, after) = run("shut_down_without_waiting", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert before.startswith("False")
    assert after == "True 8 0"


def test_the_lead_raises_in_its_with_block(tmp_path):
    ran, told = run("raise_in_with", tmp_path)
    assert ran.returncode != 0
    assert "LookupError: the lead's own" in ran.stderr
    assert told == ["True 8 0"]  # as concurrent.futures has it
    assert ended(tmp_path) == (9, 9)


def test_the_lead_raises_while_a_task_is_too_long(tmp_path):
    ran, told = run("raise_with_a_task_that_never_ends", tmp_path)
    assert "LookupError: the lead's own" in ran.stderr
    assert told == ["TimedOut"]


@pytest.mark.parametrize(
    "how, code, said",
    [("raise_and_leave", 1, "LookupError: the lead's own"), ("exit_and_leave", 3, "")],
)
def test_the_lead_leaves_a_pool_that_it_has_not_shut_down(how, code, said, tmp_path):
    ran, _ = run(how, tmp_path)
    assert ran.returncode == code
    assert said in ran.stderr
    assert ended(tmp_path) == (9, 9)  # it ends with the program, and all is done


def test_a_callback_shuts_the_pool_down(tmp_path):
    ran, told = run("shut_down_in_a_callback", tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert told == ["True 8 0"]
