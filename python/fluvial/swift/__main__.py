# SPDX-License-Identifier: Apache-2.0
"""A rank of an MPI job that runs a script: `python -m fluvial.swift SCRIPT [ARGUMENTS]`."""

from __future__ import annotations

import os
import sys

from .._core import Error
from ..flow.pool import Pool
from .running import run_script
from .surroundings import NARROW


def main() -> int:
    """Run the script on the rank that leads, its tasks on the others."""
    path, *arguments = sys.argv[1:]
    with Pool() as pool:
        if pool.leads:
            try:
                run_script(path, pool, arguments, narrow=bool(os.environ.get(NARROW)))
            except Error as error:
                print(f"fluvial: {error}", file=sys.stderr, flush=True)
                pool.shutdown(cancel_futures=True)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
