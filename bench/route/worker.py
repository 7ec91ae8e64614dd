# SPDX-License-Identifier: Apache-2.0
"""A rank of the route bench: sends by MPI and along paths in turns, and compares what comes.

python worker.py TOPOLOGY PATHS RUNS BYTES…
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import fluvial as fl


def main() -> None:
    """Print {bytes: {contestant: seconds of each run}} on rank 0."""
    topology, paths, runs, *sizes = sys.argv[1:]
    comm = MPI.COMM_WORLD
    plan = fl.route.plan(topology, [(0, 1)])
    figures: dict[str, dict[str, list[float]]] = {}
    for size in map(int, sizes):
        data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
        ways = {"direct": _direct, **{str(k): _paths(plan, k) for k in _counts(int(paths))}}
        of_size = figures.setdefault(str(size), {way: [] for way in ways})
        for turn in range(-1, int(runs)):
            for name, way in ways.items():
                seconds = _timed(comm, way, data)
                if turn >= 0:  # the first turn makes the connections
                    of_size[name].append(seconds)
    if comm.rank == 0:
        print(json.dumps(figures), flush=True)


def _counts(most: int) -> list[int]:
    """Return the numbers of paths to try; 0 is the model's choice."""
    return [0, *range(1, most + 1)]


_Way = Callable[[MPI.Comm, np.ndarray], np.ndarray | None]


def _direct(comm: MPI.Comm, data: np.ndarray) -> np.ndarray | None:
    if comm.rank == 0:
        comm.Send(data, 1)
    elif comm.rank == 1:
        come = np.empty_like(data)
        comm.Recv(come, 0)
        return come
    return None


def _paths(plan: fl.route.Plan, count: int) -> _Way:
    def way(comm: MPI.Comm, data: np.ndarray) -> np.ndarray | None:
        given = {0: data} if comm.rank == 0 else {}
        return fl.route.exchange(comm, plan, given, paths=count or None, costs="tcp").get(0)

    return way


def _timed(comm: MPI.Comm, way: _Way, data: np.ndarray) -> float:
    """Return seconds until the last rank is done; every byte is compared afterwards."""
    comm.Barrier()
    begin = time.perf_counter()
    come = way(comm, data)
    seconds = comm.allreduce(time.perf_counter() - begin, MPI.MAX)
    if not comm.allreduce(come is None or bool((come == data).all()), MPI.LAND):
        raise RuntimeError(f"{data.size} bytes came as others")
    return seconds


if __name__ == "__main__":
    main()
