# SPDX-License-Identifier: Apache-2.0
"""One rank of a job in which one dies: the last consumer or the first producer, by kill -9."""

import os
import pathlib
import signal
import sys
import time

from mpi4py import MPI

import fluvial as fl

victim = int(sys.argv[1])
where = pathlib.Path(sys.argv[2])
comm = MPI.COMM_WORLD


def die_late(batch):
    """Process, but for the victim, which dies in the middle."""
    if comm.rank == victim and batch[-1] > 50_000:
        os.kill(os.getpid(), signal.SIGKILL)


begin = time.monotonic()
told = "nothing"
try:
    with fl.Channel(comm, producer=comm.rank < 2, consumer=comm.rank >= 2) as channel:
        stream = channel.stream("numbers", dtype="i8", op=die_late, buffer_bytes=65_536)
        if comm.rank < 2:
            for i in range(2_000_000):
                stream.send(i)
                if comm.rank == victim and i == 100_000:
                    os.kill(os.getpid(), signal.SIGKILL)
            stream.terminate()
        else:
            stream.operate()
except fl.Error as error:
    told = f"{type(error).__name__}: {error}"
report = where / f".rank-{comm.rank}"  # appears under its name when it is whole
report.write_text(f"{time.monotonic() - begin:.3f}\n{told}")
report.rename(where / f"rank-{comm.rank}")
deadline = time.monotonic() + 30
while len(list(where.glob("rank-*"))) < 3 and time.monotonic() < deadline:
    time.sleep(0.05)  # a rank that leaves before the others know of the victim is lost, too
os._exit(0)  # MPI_Finalize would wait for the dead
