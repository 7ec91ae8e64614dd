# SPDX-License-Identifier: Apache-2.0
"""Start copies of a program without mpiexec: one may be killed while the others go on.

usage: copies.py COPIES PROGRAM ARGUMENT …

Each has its number in FLUVIAL_LAUNCH_RANK and dies with this process. The exit code is the highest
of theirs, where a signal is 128 + its number.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
from collections.abc import Sequence

_PR_SET_PDEATHSIG = 1


def command(count: int, argv: Sequence[str]) -> list[str]:
    """Return the command line that runs `argv` in this way."""
    return [sys.executable, "-I", "-S", str(pathlib.Path(__file__).resolve()), str(count), *argv]


def main() -> int:
    libc = ctypes.CDLL(None)
    copies = [
        subprocess.Popen(
            sys.argv[2:],
            env=os.environ | {"FLUVIAL_LAUNCH_RANK": str(number)},
            preexec_fn=lambda: libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0),
        )
        for number in range(int(sys.argv[1]))
    ]
    codes = [copy.wait() for copy in copies]
    return max(code if code >= 0 else 128 - code for code in codes)


if __name__ == "__main__":
    sys.exit(main())
