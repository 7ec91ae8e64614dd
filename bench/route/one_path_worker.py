# SPDX-License-Identifier: Apache-2.0
"""A rank of the bench of one path: two ranks send to each other, by MPI and by Fluvial in turns.

python one_path_worker.py TOPOLOGY RUNS BYTES…
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import fluvial as fl

_TURN_S = 0.03
"""Of one contestant: so many calls that it takes about that long."""


def main() -> None:
    """Print {bytes: {contestant: seconds of a call, in each run}} on rank 0."""
    topology, runs, *sizes = sys.argv[1:]
    comm = MPI.COMM_WORLD
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cores[comm.rank % len(cores)]})
    figures: dict[str, dict[str, list[float]]] = {}
    for size in map(int, sizes):
        ways, check, coupling = _ways(comm, topology, size)
        of_size = figures.setdefault(str(size), {way: [] for way in ways})
        calls = dict.fromkeys(ways, 1)
        for turn in range(-3, int(runs)):
            for name, way in ways.items():
                seconds = _timed(comm, way, calls[name])
                check(name)
                if turn < 0:  # these find how many calls a turn has
                    calls[name] = comm.bcast(max(1, round(_TURN_S / seconds)))
                else:
                    of_size[name].append(seconds)
        coupling.close()
    if comm.rank == 0:
        print(json.dumps(figures), flush=True)


def _ways(
    comm: MPI.Comm, topology: str, size: int
) -> tuple[dict[str, Callable[[], object]], Callable[[str], None], fl.route.Redistribution]:
    me, other = comm.rank, 1 - comm.rank
    data = np.random.default_rng(me).integers(0, 256, size, np.uint8)
    theirs = np.random.default_rng(other).integers(0, 256, size, np.uint8)
    come = np.empty_like(data)
    last: list[np.ndarray] = [come]
    plan = fl.route.plan(topology, [(0, 1), (1, 0)], "direct")
    coupling = fl.route.Redistribution(
        comm, 2 * size, "u1", has=[((me * size,), (size,))], wants=[((other * size,), (size,))]
    )
    counts = [0, 0]
    counts[other] = size

    def isend_irecv() -> None:
        MPI.Request.Waitall([comm.Irecv(come, other), comm.Isend(data, other)])
        last[0] = come

    def alltoallv() -> None:
        comm.Alltoallv([data, counts, [0, 0], MPI.BYTE], [come, counts, [0, 0], MPI.BYTE])
        last[0] = come

    def exchange() -> None:
        last[0] = fl.route.exchange(comm, plan, {me: data})[other]

    def redistribution() -> None:
        last[0] = coupling.move([data], [come])[0]

    def check(name: str) -> None:
        if not (last[0] == theirs).all():
            raise RuntimeError(f"{size} bytes came as others by {name}")
        come[:] = 0

    ways = {
        "Isend, Irecv": isend_irecv,
        "Alltoallv": alltoallv,
        "exchange": exchange,
        "Redistribution": redistribution,
    }
    return ways, check, coupling


def _timed(comm: MPI.Comm, way: Callable[[], object], calls: int) -> float:
    comm.Barrier()
    begin = time.perf_counter()
    for _ in range(calls):
        way()
    return comm.allreduce(time.perf_counter() - begin, MPI.MAX) / calls


if __name__ == "__main__":
    main()
