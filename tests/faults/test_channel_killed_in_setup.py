# SPDX-License-Identifier: Apache-2.0
"""kill -9 of one rank while all open, attach to and close channels: the others learn of it."""

import pathlib
import subprocess
import sys

import pytest
from fluvial.launch import Launcher

PROGRAM = pathlib.Path(__file__).with_name("channel_setup_rank.py")
TIMEOUT = 5

# As for a rank that is killed later (test_channel_killed.py).
SHELL = """
"$@"
for _ in $(seq 300); do [ "$(ls "$SEEN" | wc -l)" -ge 3 ] && exit; sleep 0.1; done
"""


@pytest.mark.any_mpi
@pytest.mark.timeout(90)
@pytest.mark.parametrize("delay_ms", [0, 7, 31, 83, 151, 333])
def test_the_others_learn_of_it(delay_ms, tmp_path):
    victim = delay_ms % 4
    launcher = Launcher.detect()
    rank = [sys.executable, str(PROGRAM), str(victim), str(delay_ms), str(TIMEOUT), str(tmp_path)]
    argv = launcher.command(4, ["sh", "-c", SHELL, "sh", *rank])
    environment = launcher.environment({"SEEN": str(tmp_path)})
    subprocess.run(argv, env=environment, timeout=60, capture_output=True, check=False)
    for rank in {0, 1, 2, 3} - {victim}:
        waited, kind, told = (tmp_path / f"rank-{rank}").read_text().split("\n", 2)
        assert kind in ("PeerLost", "TimedOut"), told
        assert float(waited) < TIMEOUT + 5, told
