# SPDX-License-Identifier: Apache-2.0
"""One rank of a job that scans a file, or writes one, twice; the last one dies between the two.

Or it writes on and on, and the last one dies at any time.
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from mpi4py import MPI

import fluvial as fl

work, path, where = sys.argv[1], *map(pathlib.Path, sys.argv[2:])
comm = MPI.COMM_WORLD
processes = comm.allgather(os.getpid())


def die_if_chosen():
    """The last rank dies here."""
    if comm.rank == comm.size - 1:
        os.kill(os.getpid(), signal.SIGKILL)


def told_by(call):
    """Return what a call ends with, and how long it took."""
    begin = time.monotonic()
    try:
        told = str(call())
    except fl.Error as error:
        told = f"{type(error).__name__}: {error}"
    return told, time.monotonic() - begin


def scan():
    """The file is reduced by all ranks."""
    with fl.open(path) as file:
        file["x"].reduce("sum", comm=comm)
        die_if_chosen()
        return told_by(lambda: file["x"].reduce("sum", comm=comm))


def write(**options):
    """The file gets a step from all ranks."""
    series = fl.open(path.with_name("written.h5"), "w", comm=comm, step_timeout=60, **options)

    def a_step():
        with series.step() as step:
            part = np.full(1000, comm.rank, "f8")
            step.put("x", part, offset=(1000 * comm.rank,), shape=(1000 * comm.size,))

    a_step()
    die_if_chosen()
    return told_by(a_step)


def die_within_messages():
    """The last rank dies with messages that the others, which are stopped, cannot have taken."""
    if comm.rank == comm.size - 1:
        others = [str(process) for process in processes[:-1]]
        for other in others:
            os.kill(int(other), signal.SIGSTOP)
        time.sleep(0.2)
        subprocess.Popen(["sh", "-c", 'sleep 0.3; kill -CONT "$@"', "sh", *others])
        os.kill(os.getpid(), signal.SIGKILL)


def write_on(die=die_if_chosen, **options):
    """Step follows step, and the last rank dies in one of them, or between two."""
    columns = 3
    series = fl.open(path.with_name("written.h5"), "w", comm=comm, step_timeout=60, **options)
    part = np.full((500_000, columns), comm.rank, "f4")
    shape = part.shape[0], columns * comm.size

    def steps():
        while True:
            with series.step() as step:
                step.put("x", part, offset=(0, columns * comm.rank), shape=shape)
            if series.stats["steps"] == 2:
                threading.Timer(0.3, die).start()

    return told_by(steps)


def stream():
    """Consumers have a result of 1 MiB each to bring together."""
    last, first = comm.rank == comm.size - 1, comm.rank == 0

    def result():
        with fl.Channel(comm, producer=first, consumer=not first) as channel:
            stream = channel.stream("numbers", shape=(131_072,), op="sum")
            if first:
                for _ in range(2 * comm.size):
                    stream.send(np.ones(131_072))
                stream.terminate()
            if last:
                time.sleep(0.3)
                threading.Thread(target=die_within_messages).start()
                time.sleep(0.1)
            return None if first else stream.operate()

    return told_by(result)


def live(use):
    """The steps of a stream, which the first rank writes, are used by all ranks together."""
    where = {"directory": path.parent}
    if comm.rank == 0:
        writer = fl.open("live", "w", readers=0, queue_steps=4, **where)
        for _ in range(2):
            with writer.step() as step:
                step.put("x", np.arange(1000.0))
    comm.Barrier()
    series = fl.open("live", comm=comm, **where)
    use(series.next()["x"])
    die_if_chosen()
    return told_by(lambda: use(series.next()["x"]))


works = {
    "live, reduced": lambda: live(lambda x: x.reduce("sum")),
    "live, shared out": lambda: live(lambda x: x.mine("hyperslabs")),
    "stream": stream,
    "scan": scan,
    "write": write,
    "write, compressed": lambda: write(compression="gzip:1"),
    "write, shared out": lambda: write(aggregators=2),
    "write on, shared out": write_on,
    "write on, by two": lambda: write_on(aggregators=2),
    "write on, others stopped": lambda: write_on(die_within_messages),
}
told, took = works[work]()
new = where / f".rank-{comm.rank}"
new.write_text(f"{took:.3f}\n{told}")
new.rename(where / f"rank-{comm.rank}")
until = time.monotonic() + 30
while len(list(where.glob("rank-*"))) < comm.size - 1 and time.monotonic() < until:
    time.sleep(0.01)  # a rank that ends is dead, too, for those that have not looked yet
os._exit(0)  # MPI_Finalize would wait for the dead
