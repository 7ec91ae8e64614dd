# SPDX-License-Identifier: Apache-2.0
"""Run one test program for CTest, with a time limit, and leave no process behind.

usage: run_program.py --timeout SECONDS [--mpiexec PATH -n RANKS] -- PROGRAM …

It becomes the program's supervisor, so the exit code is the program's, or 124 after the time limit,
which FLUVIAL_TEST_SECONDS lengthens: that long the program goes on with further seeds.
The package need not be built: of it only `launch` is used, which needs the standard library alone.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "fluvial"))

from launch.launcher import Launcher
from launch.supervisor import supervised


def main() -> None:
    parser = argparse.ArgumentParser(description="run a test program with a time limit")
    parser.add_argument("--timeout", type=float, required=True, help="seconds until it is killed")
    parser.add_argument("--mpiexec", help="what starts its ranks; without it, it is one process")
    parser.add_argument("-n", dest="ranks", type=int, default=1, help="number of ranks")
    parser.add_argument("command", nargs="+", help="program and arguments, after --")
    options = parser.parse_args()
    command, env = options.command, dict(os.environ)
    if options.mpiexec is not None:
        launcher = Launcher.detect(options.mpiexec)
        command, env = launcher.command(options.ranks, command), launcher.environment()
    further_s = float(os.environ.get("FLUVIAL_TEST_SECONDS", "0"))
    words = supervised(command, timeout=options.timeout + further_s)
    os.execve(words[0], words, env)


if __name__ == "__main__":
    main()
