# SPDX-License-Identifier: Apache-2.0
"""One rank of a job on two hosts: two producers on the first, two consumers on the second."""

import os
import pathlib
import signal
import sys
import time

from mpi4py import MPI

import fluvial as fl

what = sys.argv[1]  # "run", "kill" or "cut"
where = pathlib.Path(sys.argv[2])
comm = MPI.COMM_WORLD
COUNT = 200_000


def report(name, text):
    """Write a file that appears when it is whole."""
    new = where / f".{name}"
    new.write_text(text)
    new.rename(where / name)


def fail_late(batch):
    """Process; in the middle the first consumer dies, or asks for the link to be cut."""
    if what == "run" or comm.rank != 2 or batch[-1] < COUNT // 4:
        return
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if not (where / "cut").exists():
        report("cut", "now")
        time.sleep(1)  # until it is


begin = time.monotonic()
try:
    with fl.Channel(comm, producer=comm.rank < 2, consumer=comm.rank >= 2, timeout=4) as channel:
        # The buffer is much smaller than what is sent: producers depend on the other side.
        numbers = channel.stream(
            "numbers", dtype="i8", op=fail_late if what != "run" else "sum", buffer_bytes=65_536
        )
        if comm.rank < 2:
            for i in range(COUNT):
                numbers.send(i)
            numbers.terminate()
            told = "sent"
        else:
            told = f"sum {numbers.result()}" if what == "run" else str(numbers.operate())
except fl.Error as error:
    told = f"{type(error).__name__}: {error}"
report(f"rank-{comm.rank}", f"{time.monotonic() - begin:.3f}\n{told}")
if what != "run":
    os._exit(0)  # MPI_Finalize would wait for the dead
