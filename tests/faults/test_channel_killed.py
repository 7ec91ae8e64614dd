# SPDX-License-Identifier: Apache-2.0
"""kill -9 of one rank of a channel: an error on the others, in time."""

import pathlib
import subprocess
import sys

import pytest
from fluvial.launch import Launcher

PROGRAM = pathlib.Path(__file__).with_name("channel_rank.py")


# Launchers end a job when one of their children dies, so each rank is the child of a shell, which
# waits until the others have told what they saw.
SHELL = """
"$@"
for _ in $(seq 300); do [ "$(ls "$SEEN" | wc -l)" -ge 3 ] && exit; sleep 0.1; done
"""


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize("victim", [0, 3], ids=["producer", "consumer"])
def test_the_others_learn_of_it(victim, tmp_path):
    launcher = Launcher.detect()
    rank = [sys.executable, str(PROGRAM), str(victim), str(tmp_path)]
    argv = launcher.command(4, ["sh", "-c", SHELL, "sh", *rank])
    environment = launcher.environment({"SEEN": str(tmp_path)})
    subprocess.run(argv, env=environment, timeout=60, capture_output=True, check=False)
    for rank in {0, 1, 2, 3} - {victim}:
        waited, told = (tmp_path / f"rank-{rank}").read_text().split("\n", 1)
        assert told == f"PeerLost: rank {victim} of 4: the process died"
        assert float(waited) < 30
