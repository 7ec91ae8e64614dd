# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that opens and closes channels, until one rank dies by kill -9."""

import os
import pathlib
import signal
import sys
import threading
import time

from mpi4py import MPI

import fluvial as fl

victim = int(sys.argv[1])
delay_s = float(sys.argv[2]) / 1000
timeout = float(sys.argv[3])
where = pathlib.Path(sys.argv[4])
comm = MPI.COMM_WORLD


def die():
    time.sleep(delay_s)
    (where / ".dying").write_text(str(time.monotonic()))
    os.kill(os.getpid(), signal.SIGKILL)


def open_and_close():
    with fl.Channel(
        comm, producer=comm.rank < 2, consumer=comm.rank >= 2, timeout=timeout
    ) as channel:
        stream = channel.stream("numbers", dtype="i8", op="sum")
        if channel.producer:
            stream.send(comm.rank)


open_and_close()  # so that all are here
comm.Barrier()
if comm.rank == victim:
    threading.Thread(target=die, daemon=True).start()
kind, told = "nothing", ""
try:
    while True:
        open_and_close()
except fl.Error as error:
    kind, told = type(error).__name__, str(error)
waited = time.monotonic() - float((where / ".dying").read_text())
report = where / f".rank-{comm.rank}"  # appears under its name when it is whole
report.write_text(f"{waited:.3f}\n{kind}\n{told}")
report.rename(where / f"rank-{comm.rank}")
deadline = time.monotonic() + 30
while len(list(where.glob("rank-*"))) < 3 and time.monotonic() < deadline:
    time.sleep(0.05)  # a rank that leaves before the others know of the victim is lost, too
os._exit(0)  # MPI_Finalize would wait for the dead
