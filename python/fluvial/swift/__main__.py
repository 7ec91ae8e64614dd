# SPDX-License-Identifier: Apache-2.0
"""A rank of an MPI job that runs a script: `python -m fluvial.swift SCRIPT [ARGUMENTS]`."""

from __future__ import annotations

import contextlib
import os
import sys

from .._core import Error
from ..flow.pool import Pool
from .running import run_script
from .surroundings import NARROW, TRACE

_SWITCH_S = 2e-4  # so often the interpreter lets the thread go on that serves the pool


def set_up_interpreter() -> None:
    """Let threads take turns more often than Python does by itself."""
    sys.setswitchinterval(_SWITCH_S)


def main() -> int:
    """Run the script on the rank that leads, its tasks on the others."""
    path, *arguments = sys.argv[1:]
    set_up_interpreter()
    with Pool(trace=os.environ.get(TRACE) or False) as pool:
        if pool.leads:
            try:
                run_script(path, pool, arguments, narrow=bool(os.environ.get(NARROW)))
            except Error as error:
                print(f"fluvial: {error}", file=sys.stderr, flush=True)
                with contextlib.suppress(Error):  # a rank was lost: that has been said
                    pool.shutdown(cancel_futures=True)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
