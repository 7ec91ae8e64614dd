# SPDX-License-Identifier: Apache-2.0
"""A rank of the bench of one shared file: all write it, in several ways in turns.

python shared_file_worker.py TOPOLOGY RUNS FOLDER
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Callable

import numpy as np
from mpi4py import MPI

import fluvial as fl

_ROW = 3072
"""Bytes of a row of the field, of which each of six ranks can have 512."""
_ROWS = 8192
_Box = tuple[tuple[int, int], tuple[int, int]]
"""Offset and extent."""


def main() -> None:
    """Print {pattern: {contestant: seconds of each run}} on rank 0."""
    topology, runs, folder = sys.argv[1:]
    comm = MPI.COMM_WORLD
    figures: dict[str, dict[str, list[float]]] = {}
    for pattern, boxes in _patterns(comm.size).items():
        ways = _ways(comm, topology, folder, boxes)
        of_pattern = figures.setdefault(pattern, {name: [] for name in ways})
        for turn in range(-1, int(runs)):
            for name, way in ways.items():
                seconds = _timed(comm, way)
                if comm.rank == 0:
                    _check(folder, boxes, name)
                if turn >= 0:  # the first turn makes the connections
                    of_pattern[name].append(seconds)
    if comm.rank == 0:
        print(json.dumps(figures), flush=True)


def _patterns(ranks: int) -> dict[str, list[_Box]]:
    """Return what each rank has of the field, by the name of the pattern."""
    pareto = np.cumsum([1 / (rank + 1) ** 1.5 for rank in range(ranks)])
    ends = [0, *(int(_ROWS * share) for share in pareto / pareto[-1])]
    width = _ROW // ranks
    return {
        "one host has all": [((0, 0), (_ROWS if rank == 0 else 0, _ROW)) for rank in range(ranks)],
        "some have much": [((a, 0), (b - a, _ROW)) for a, b in itertools.pairwise(ends)],
        "columns": [((0, width * rank), (_ROWS, width)) for rank in range(ranks)],
    }


def _ways(
    comm: MPI.Comm, topology: str, folder: str, boxes: list[_Box]
) -> dict[str, Callable[[], None]]:
    offset, extent = boxes[comm.rank]
    mine = np.full(extent, comm.rank + 1, np.uint8)
    path = f"{folder}/field"
    net = fl.route.topology(topology)
    first = offset[0] * _ROW + offset[1]
    if extent[1] == _ROW:
        parts = {first: mine} if mine.size else {}
    else:
        parts = {first + row * _ROW: mine[row] for row in range(extent[0])}

    def sparse_write() -> None:
        fl.route.sparse_write(comm, path, parts)

    def planned() -> None:
        fl.route.sparse_write(comm, path, parts, network=net)

    def series() -> None:
        with (
            fl.open(f"{path}.h5", "w", comm=comm, aggregators=comm.size) as made,
            made.step() as step,
        ):
            step.put("x", mine, offset=offset, shape=(_ROWS, _ROW))

    def collective() -> None:
        # ROMIO would leave it to each rank where parts are not interleaved.
        info = MPI.Info.Create({"romio_cb_write": "enable"})
        file = MPI.File.Open(comm, path, MPI.MODE_WRONLY | MPI.MODE_CREATE, info)
        info.Free()
        if mine.size:
            piece = MPI.BYTE.Create_subarray((_ROWS, _ROW), extent, offset).Commit()
            file.Set_view(0, MPI.BYTE, piece)
            piece.Free()
        else:
            file.Set_view(0, MPI.BYTE, MPI.BYTE)
        file.Write_all(mine)
        file.Close()

    def own() -> None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT)
        for at, part in parts.items():
            os.pwrite(file, part, at)
        os.close(file)

    return {
        "sparse_write": sparse_write,
        "sparse_write along planned paths": planned,
        "a series of HDF5": series,
        "MPI-IO, collective": collective,
        "each its own": own,
    }


def _timed(comm: MPI.Comm, way: Callable[[], None]) -> float:
    comm.Barrier()
    begin = time.perf_counter()
    way()
    return comm.allreduce(time.perf_counter() - begin, MPI.MAX)


def _check(folder: str, boxes: list[_Box], name: str) -> None:
    """Raise unless the file has the field, and remove it."""
    expected = np.empty((_ROWS, _ROW), np.uint8)
    for rank, ((row, column), (rows, columns)) in enumerate(boxes):
        expected[row : row + rows, column : column + columns] = rank + 1
    found = next(path for path in (f"{folder}/field", f"{folder}/field.h5") if os.path.exists(path))
    if found.endswith(".h5"):
        with fl.open(found) as series:
            for step in series:
                there = step["x"].read()
    else:
        there = np.fromfile(found, np.uint8)
    if not (np.asarray(there).reshape(-1) == expected.reshape(-1)).all():
        raise RuntimeError(f"the file has something else by {name}")
    os.unlink(found)


if __name__ == "__main__":
    main()
