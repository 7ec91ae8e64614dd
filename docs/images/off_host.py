# SPDX-License-Identifier: Apache-2.0
"""Draws off_host.png: what leaves its host in the example of staging, with and without by-host.

Run it as root, in ./run shell: the hosts are namespaces of this machine. The jobs are on the same
two hosts, and then on two each, of which they have one in common.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from fluvial.launch import Launcher

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from harness.box import Box  # noqa: E402

EXAMPLE = ROOT / "examples" / "14_staging"
RANKS = 4  # of each job


def main():
    """Run the jobs twice, and draw."""
    launcher = Launcher.detect()
    with tempfile.TemporaryDirectory() as where, Box(3) as box:
        # Hosts in a box have one memory, by which UCX would find a way around the network.
        env = os.environ | {"FLUVIAL_DIRECTORY": where, "UCX_TLS": "tcp,self"}
        words = ["--report", f"{where}/off_host.json", "--picture", str(HERE / "off_host.png")]
        for analysis in ((1, 2), (2, 3)):
            jobs = [
                subprocess.Popen(
                    box.command(launcher, hosts, RANKS, [sys.executable, *map(str, program)]),
                    env=launcher.environment(env),
                )
                for hosts, program in (
                    ((1, 2), (EXAMPLE / "simulation.py", "drop", "--outputs", "3")),
                    (analysis, (EXAMPLE / "off_host.py", "drop", *words)),
                )
            ]
            if any([job.wait() for job in jobs]):
                raise SystemExit("a job has failed")


if __name__ == "__main__":
    main()
