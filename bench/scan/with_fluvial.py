# SPDX-License-Identifier: Apache-2.0
"""The contestant Fluvial, as its users call it from Python under mpiexec; one thread a rank.

mpiexec -n 2 python with_fluvial.py NAME=VALUE …
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
import xarray  # noqa: F401 - results are its arrays: imported before the clock runs
from mpi4py import MPI

import fluvial as fl
from bench.scan.task_words import Words, answer, memory_peak


def compute(words: Words, options: dict[str, int]) -> dict[str, Any]:
    """Open the file and reduce; every rank has the result."""
    variable = fl.open(words["file"])[words["variable"]]
    if not words.is_whole:
        variable = variable.isel(words.slices)
    if words["task"] == "summary":
        found = variable.reduce(["sum", "min", "max", "mean"], **options)
        return {name: float(found[name]) for name in ("sum", "min", "max", "mean")}
    if words["task"] == "steps":
        means = variable.reduce("mean", over=("level", "lat", "lon"), **options)
        return {"steps": [float(mean) * words.step_elements for mean in np.asarray(means)]}
    edges = np.linspace(float(words["low"]), float(words["high"]), int(words["bins"]) + 1)
    counts = variable.reduce(fl.ops.Histogram(edges), **options)
    return {"counts": [int(count) for count in np.asarray(counts)]}


def main() -> None:
    """Do the task as often as asked; rank 0 answers with the longest time of the ranks."""
    words = Words.of(sys.argv[1:])
    comm = MPI.COMM_WORLD
    cores = words.words.get("cores", "")
    if cores:
        os.sched_setaffinity(0, {int(cores.split(",")[comm.rank % len(cores.split(","))])})
    options = {"threads": words.number("threads", 1)}
    if "buffer" in words.words:
        options["buffer_bytes"] = words.number("buffer", 0)
    small = words.small()
    if small is not None:
        compute(small, options)
    before = memory_peak()
    result: dict[str, Any] = {}
    seconds = []
    for _ in range(words.number("repeats", 1)):
        comm.Barrier()
        begin = time.perf_counter()
        result = compute(words, options)
        seconds.append(comm.allreduce(time.perf_counter() - begin, op=MPI.MAX))
    peaks = comm.gather(memory_peak())
    starts = comm.gather(before)
    if comm.rank == 0:
        answer(seconds, peaks, result, memory_before=starts)


if __name__ == "__main__":
    main()
