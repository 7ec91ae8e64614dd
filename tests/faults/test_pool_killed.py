# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a rank of a pool: its task fails, the rest goes on, and the job ends with an error."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from fluvial.launch import Launcher

PROGRAM = pathlib.Path(__file__).with_name("pool_rank.py")
SERVERS_PROGRAM = PROGRAM.with_name("pool_servers_rank.py")
TEAM_PROGRAM = PROGRAM.with_name("pool_team_rank.py")
KEEPING_PROGRAM = PROGRAM.with_name("pool_keeping_rank.py")
AHEAD_PROGRAM = PROGRAM.with_name("pool_ahead_rank.py")

# Launchers end a job when one of their children dies, so each rank is the child of a shell, which
# waits until the lead has told what it saw.
SHELL = """
"$@"
for _ in $(seq 300); do [ -e "$SEEN/rank-0" ] && exit; sleep 0.1; done
"""

DYING = """
import os, sys
import fluvial as fl
from mpi4py import MPI

def die():
    os.kill(os.getpid(), 9)

with fl.Pool() as pool:
    if pool.leads and sys.argv[1] == "0":
        die()
    elif pool.leads:
        pool.submit(die).result(30)
"""


def seen_by_lead(program, ranks, words, folder):
    """Run a program that loses a rank, and return the lines that its lead has written."""
    launcher = Launcher.detect()
    rank = [sys.executable, str(program), *words]
    argv = launcher.command(ranks, ["sh", "-c", SHELL, "sh", *rank])
    environment = launcher.environment({"SEEN": str(folder)})
    subprocess.run(argv, env=environment, timeout=80, capture_output=True, check=False)
    return (folder / "rank-0").read_text().splitlines()


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize(
    "words, left",
    [([], "[1, 3]"), (["--lead-works"], "[0, 1, 3]"), (["--within-message"], "[1, 3]")],
    ids=["", "lead works", "within message"],
)
def test_the_rest_of_the_pool_goes_on(words, left, tmp_path):
    lost, again, rest, too_wide, end = seen_by_lead(
        PROGRAM, 4, ["2", str(tmp_path), *words], tmp_path
    )
    assert lost == "PeerLost: rank 2 of the pool: the process died"
    assert again == "True"
    assert rest == left
    assert too_wide in ("PeerLost", "InvalidArgument")
    assert end == "PeerLost: rank 2 of the pool: the process died"


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
def test_results_that_stayed_on_a_rank_are_lost_with_it(tmp_path):
    waits, dies, after, asked, part, lost_part, own, left, size, cancelled, end = seen_by_lead(
        KEEPING_PROGRAM, 4, [str(tmp_path)], tmp_path
    )
    assert waits.startswith("PeerLost: rank 2 of the pool: ")
    assert dies == "PeerLost: rank 2 of the pool: the process died"
    assert part == "int: 1"  # which rank 1 keeps
    for message in (after, asked, lost_part, own):
        assert "the result of a task stayed on a rank that is lost: got rank 2: the" in message
        assert message.startswith("PeerLost: rank 2 of the pool: ")
    assert (left, size) == ("{1, 3}", "1000000")
    assert cancelled.startswith("PeerLost: a task is to run strictly where a rank is lost")
    assert end.startswith("PeerLost: rank 2 of the pool: ")


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize("servers", [1, 3])
def test_the_first_rank_of_a_team_dies_and_the_others_go_on_at_once(servers, tmp_path):
    """They would be lost only after stuck_after=60 s, which this does not last."""
    first, kept, part, left, again, end = seen_by_lead(
        TEAM_PROGRAM, 5 + servers, [str(servers), str(tmp_path)], tmp_path
    )
    assert kept == part == f"PeerLost: rank {first} of the pool: the process died"
    assert left == "True"
    assert again == "1"
    assert end.startswith(f"PeerLost: rank {first} of the pool: ")


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize("servers", [1, 3])
def test_what_a_rank_was_sent_and_had_not_begun_runs_elsewhere(servers, tmp_path):
    np.zeros(100, "i4").tofile(tmp_path / "counts")
    lost, kinds, behind, counts, end = seen_by_lead(
        AHEAD_PROGRAM, 2 + 2 * servers, [str(servers), str(tmp_path)], tmp_path
    )
    assert "the process died" in lost
    assert (kinds, behind) == ("{'PeerLost'}", "[]")
    assert counts == str([1] * 100)  # once each, also those whose results were lost
    assert end.startswith("PeerLost: rank ")


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize(
    "victim, error, left",
    [
        ("worker", "PeerLost: rank 5 of the pool: the process died", [2, 3, 6]),
        (
            "server",
            "PeerLost: rank 5 of the pool: rank 5 has lost its server: got rank 4: ",
            [2, 3],
        ),
    ],
)
def test_of_several_servers_one_dies_or_a_rank_that_it_serves(victim, error, left, tmp_path):
    lost, again, rest, wide, end = seen_by_lead(
        SERVERS_PROGRAM, 7, [victim, str(tmp_path)], tmp_path
    )
    assert lost.startswith(error)
    assert int(again) in (2, 3, 6)
    assert rest == str(left)
    assert wide == "2"
    assert end.startswith(f"PeerLost: rank {4 if victim == 'server' else 5} of the pool")


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize("victim", [0, 1], ids=["lead", "worker"])
def test_under_a_plain_launcher_the_job_ends(victim, tmp_path):
    launcher = Launcher.detect()
    argv = launcher.command(3, [sys.executable, "-c", DYING, str(victim)])
    ended = subprocess.run(
        argv, env=launcher.environment(), timeout=60, capture_output=True, check=False
    )
    assert ended.returncode != 0
