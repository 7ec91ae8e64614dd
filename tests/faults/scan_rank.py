# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that scans a file twice; the last one dies between the two."""

import os
import pathlib
import signal
import sys
import time

from mpi4py import MPI

import fluvial as fl

path, where = map(pathlib.Path, sys.argv[1:])
comm = MPI.COMM_WORLD
with fl.open(path) as file:
    file["x"].reduce("sum", comm=comm)
    if comm.rank == comm.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    begin = time.monotonic()
    try:
        told = str(file["x"].reduce("sum", comm=comm))
    except fl.Error as error:
        told = f"{type(error).__name__}: {error}"
new = where / f".rank-{comm.rank}"
new.write_text(f"{time.monotonic() - begin:.3f}\n{told}")
new.rename(where / f"rank-{comm.rank}")
until = time.monotonic() + 30
while len(list(where.glob("rank-*"))) < comm.size - 1 and time.monotonic() < until:
    time.sleep(0.01)  # who ends is dead, too, for those that have not looked yet
os._exit(0)  # MPI_Finalize would wait for the dead
