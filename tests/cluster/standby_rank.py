# SPDX-License-Identifier: Apache-2.0
"""A rank of a writer that tells what became of its stream, and of which others may be killed.

usage: standby_rank.py FOLDER STEPS ELEMENTS PAUSE DATASETS
"""

import os
import pathlib
import sys
import time

import numpy as np
from faults.roles import SHORT
from mpi4py import MPI

import fluvial as fl

folder, pause = pathlib.Path(sys.argv[1]), float(sys.argv[4])
steps, elements, datasets = (int(sys.argv[at]) for at in (2, 3, 5))
comm = MPI.COMM_WORLD
(folder / f"writer-{comm.rank}").write_text(str(os.getpid()))
error, stats = "", {}
try:
    options = {**SHORT, "stall_timeout": 5, "queue_steps": 4, "directory": folder}
    with fl.open("taken-over", "w", comm=comm, **options) as series:
        try:
            for index in range(steps):
                with series.step() as step:
                    part = np.full(elements, index, "f8")
                    shape = (elements * comm.size,)
                    step.put("x", part, offset=(elements * comm.rank,), shape=shape)
                    for number in range(datasets - index % 2 if comm.rank == 2 else 0):
                        step.put(f"of_rank_2/field{number:05d}", np.full(2, index))
                time.sleep(pause)
        finally:
            stats = series.stats
except fl.Error as caught:
    error = f"{type(caught).__name__}: {caught}"
new = folder / f".told-{comm.rank}"
new.write_text(f"{stats['steps_written']}\n{error}")
new.rename(folder / f"told-{comm.rank}")
os._exit(0)  # MPI_Finalize would wait for the dead
