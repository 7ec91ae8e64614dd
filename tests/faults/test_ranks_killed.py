# SPDX-License-Identifier: Apache-2.0
"""Ranks that scan or write a file together, of which one is killed: the others name it."""

import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest
from faults.test_channel_killed import SHELL
from fluvial.launch import Launcher

PROGRAM = pathlib.Path(__file__).with_name("rank_that_dies.py")
RANKS = 4


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize(
    "work",
    [
        *("scan", "live, reduced", "live, shared out", "write", "write, compressed"),
        *("write, shared out", "write on, shared out", "write on, by two"),
        *("write on, others stopped", "stream"),
    ],
)
def test_a_rank_that_is_killed_is_named(work, tmp_path):
    path, seen = tmp_path / "x.h5", tmp_path / "seen"
    seen.mkdir()
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(4000.0).reshape(1000, 4)
    launcher = Launcher.detect()
    rank = [sys.executable, str(PROGRAM), work, str(path), str(seen)]
    argv = launcher.command(RANKS, ["sh", "-c", SHELL, "sh", *rank])
    environment = launcher.environment({"SEEN": str(seen)})
    subprocess.run(argv, env=environment, timeout=60, capture_output=True, check=False)
    for rank in range(RANKS - 1):
        took, told = (seen / f"rank-{rank}").read_text().split("\n", 1)
        assert told == f"PeerLost: rank {RANKS - 1} of {RANKS}: the process died"
        assert float(took) < 30
