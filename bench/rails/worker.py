# SPDX-License-Identifier: Apache-2.0
"""One side of a run: ``python worker.py write|read FOLDER BYTES STEPS INTERFACES [RANKS]``.

The reader sums every step, on each of its ranks, and prints {"seconds": from the end of the first
step until the end of the last, "bytes_by_interface": …}; of several ranks the first prints.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import fluvial as fl

_TIMES = {"rendezvous_timeout": 30, "step_timeout": 60, "queue_steps": 4}


def main() -> None:
    """Do what the command line says."""
    side, folder, size, steps, interfaces, *ranks = sys.argv[1:]
    comm = None
    if ranks:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
    numbers = np.arange(int(size) // 8, dtype=np.float64)
    if side == "write":
        with fl.open("rails", "w", directory=folder, **_TIMES) as series:
            for index in range(int(steps)):
                with series.step() as step:
                    step.put("x", numbers + index)
        return
    del _TIMES["queue_steps"]
    ends = []
    with fl.open("rails", directory=folder, comm=comm, interfaces=interfaces, **_TIMES) as series:
        for index, step in enumerate(series):
            total = float(step["x"].read().sum())
            if comm:
                comm.Barrier()
            ends.append(time.perf_counter())
            expected = float((numbers + index).sum())
            if not np.isclose(total, expected, rtol=1e-12):
                raise RuntimeError(f"step {index}: got a sum of {total}, not {expected}")
        by_interface = series.stats["bytes_by_interface"]
    if comm is None or comm.rank == 0:
        print(json.dumps({"seconds": ends[-1] - ends[0], "bytes_by_interface": by_interface}))


if __name__ == "__main__":
    main()
