# SPDX-License-Identifier: Apache-2.0
"""The contestant xarray with dask: chunks of some time steps, two threads or two processes.

python with_xarray.py NAME=VALUE …; words of its own: scheduler (threads or processes), chunk_steps,
engine.  Sums are asked for in float64; there are no missing values, and it is told so (skipna),
which makes it faster.
"""

from __future__ import annotations

import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import dask
import dask.array
import numpy as np
import xarray as xr

from bench.scan.task_words import Words, answer, memory_peak

_WORKERS = 2


def compute(words: Words) -> dict[str, Any]:
    """Open the file, compute, and close it."""
    chunks = {"time": words.number("chunk_steps", 1)}
    with xr.open_dataset(words["file"], engine=words["engine"], chunks=chunks) as dataset:
        array = dataset[words["variable"]]
        if not words.is_whole:
            array = array.isel(words.slices)
        if words["task"] == "summary":
            mean = array.mean(skipna=False, dtype=np.float64)
            total = array.sum(skipna=False, dtype=np.float64)
            found = dask.compute(total, array.min(skipna=False), array.max(skipna=False), mean)
            return dict(zip(("sum", "min", "max", "mean"), map(float, found), strict=True))
        if words["task"] == "steps":
            means = array.mean(("level", "lat", "lon"), skipna=False, dtype=np.float64).compute()
            return {"steps": [float(mean) * words.step_elements for mean in means]}
        edges = [float(words["low"]), float(words["high"])]
        counts, _ = dask.array.histogram(array.data, bins=int(words["bins"]), range=edges)
        return {"counts": [int(count) for count in counts.compute()]}


def main() -> None:
    """Do the task as often as asked."""
    words = Words.of(sys.argv[1:])
    threads = words["scheduler"] == "threads"
    with ProcessPoolExecutor(1 if threads else _WORKERS) as pool:
        if threads:
            dask.config.set(scheduler="threads", num_workers=_WORKERS)
        else:
            list(pool.map(_start, range(2 * _WORKERS)))
            dask.config.set(scheduler="processes", pool=pool)
        small = words.small()
        if small is not None:
            compute(small)
        result: dict[str, Any] = {}
        seconds = []
        for _ in range(words.number("repeats", 1)):
            begin = time.perf_counter()
            result = compute(words)
            seconds.append(time.perf_counter() - begin)
        peaks = [memory_peak()]
        if not threads:
            peaks += set(pool.map(_peak, range(2 * _WORKERS)))
    versions = {"xarray": xr.__version__, "dask": dask.__version__}
    answer(seconds, peaks, result, versions=versions)


def _start(_: int) -> int:
    """Make a worker import what it needs before the clock runs."""
    import netCDF4  # noqa: F401

    time.sleep(0.1)
    return os.getpid()


def _peak(_: int) -> int:
    time.sleep(0.02)
    return memory_peak()


if __name__ == "__main__":
    main()
