# SPDX-License-Identifier: Apache-2.0
"""One rank of a job on two hosts: two producers on the first, two consumers on the second."""

import faulthandler
import json
import os
import pathlib
import resource
import signal
import sys
import time

import mpi4py
import numpy as np

what = sys.argv[1]  # "run", "slow", "kill", "stop" or "cut"
if what == "kill":
    # Open MPI 4.1 damages its list of events where two threads are in it as a connection breaks,
    # and goes around in that list for ever; here one thread calls MPI, which makes it rare.
    mpi4py.rc.thread_level = "serialized"
from mpi4py import MPI  # noqa: E402

import fluvial as fl  # noqa: E402

faulthandler.dump_traceback_later(35)  # before the test gives up
where = pathlib.Path(sys.argv[2])
comm = MPI.COMM_WORLD
COUNT = 200_000
SLOW_COUNT = 24_000


def report(name, text):
    """Write a file that appears when it is whole."""
    new = where / f".{name}"
    new.write_text(text)
    new.rename(where / name)


def fail_late(batch):
    """Process; in the middle the first consumer dies, is stopped, or asks for a cut of the link."""
    if what == "run" or comm.rank != 2 or batch[-1] < COUNT // 4:
        return
    if what in ("kill", "stop"):
        os.kill(os.getpid(), signal.SIGKILL if what == "kill" else signal.SIGSTOP)
    if not (where / "cut").exists():
        report("cut", "now")
        deadline = time.monotonic() + 25
        while not (where / "is cut").exists() and time.monotonic() < deadline:
            time.sleep(0.01)


def peak_bytes():
    """Return the most memory that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def send_slowly():
    """Send numbers of 1 KiB to both consumers in turn; return what was seen, as JSON."""
    seen = {0: [0, 0], 1: [0, 0]}  # of each producer: elements, and the sum of their numbers
    last = {0: -1, 1: -1}
    disorder = 0
    options = {"association": "round_robin", "buffer_bytes": 1 << 20}
    with fl.Channel(comm, producer=comm.rank < 2, consumer=comm.rank >= 2, timeout=20) as channel:
        numbers = channel.stream("numbers", dtype="i8", shape=128, **options)
        before = peak_bytes()
        if comm.rank < 2:
            element = np.zeros(128, "i8")
            for i in range(SLOW_COUNT):
                element[:] = i
                numbers.send(element)
            numbers.terminate()
        else:
            for producer, batch in numbers.batches():
                disorder += int(np.count_nonzero(batch != batch[:, :1]))
                order = np.concatenate([[last[producer]], batch[:, 0]])
                disorder += int(np.count_nonzero(np.diff(order) <= 0))
                last[producer] = int(order[-1])
                seen[producer][0] += len(batch)
                seen[producer][1] += int(batch[:, 0].sum())
                if comm.rank == 2 and last[producer] > SLOW_COUNT // 2:
                    report("middle", "now")
        told = {"seen": seen, "disorder": disorder, "grown_bytes": peak_bytes() - before}
        for name in ("sent_bytes", "memory_bytes", "stalled_s"):
            told[name] = numbers.stats[name]
    return json.dumps(told)


report(f"pid-{comm.rank}", str(os.getpid()))
begin = time.monotonic()
if what == "slow":
    told = send_slowly()
    report(f"rank-{comm.rank}", f"{time.monotonic() - begin:.3f}\n{told}")
    sys.exit()
try:
    # No rank waits so long without a heartbeat of the other host, or its word of a stopped rank.
    limits = {"timeout": 4 if what == "kill" else 60, "stall_timeout": 1}
    with fl.Channel(comm, producer=comm.rank < 2, consumer=comm.rank >= 2, **limits) as channel:
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
while what == "stop" and len(list(where.glob("rank-*"))) < 3:
    comm.Iprobe()  # messages of this rank are under way, and MPI moves them only when it is called
if what != "run":
    os._exit(0)  # MPI_Finalize would wait for the dead
