# SPDX-License-Identifier: Apache-2.0
"""The process of the spill bench: a stream and bare files take turns in one folder.

python -m bench.spill.worker SOCKET_FD
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fluvial
from bench.child import serve
from bench.spill.contestants import BARE, FLUVIAL


def bare(folder: Path, array: NDArray[np.float64], steps: int) -> tuple[float, float]:
    """Write and read `steps` times the array, one after the other in a file; seconds of each."""
    back = np.empty_like(array)
    with tempfile.TemporaryFile(dir=folder) as file:
        begin = time.perf_counter()
        for index in range(steps):
            os.pwrite(file.fileno(), memoryview(array).cast("B"), index * array.nbytes)
        wrote = time.perf_counter()
        for index in range(steps):
            os.preadv(file.fileno(), [back], index * array.nbytes)
            _check(float(back[0] + back[-1]), array, index)
        return wrote - begin, time.perf_counter() - wrote


def spilled(folder: Path, array: NDArray[np.float64], steps: int) -> tuple[float, float]:
    """Put the array into steps of a full queue, and read them back; seconds of each."""
    options: dict[str, Any] = {"directory": folder}
    writer = fluvial.open(
        "spill", "w", readers=0, queue_steps=1, full="spill", spill=folder, **options
    )
    with writer, fluvial.open("spill", **options) as reader:
        with writer.step() as step:  # which fills the queue
            step.put("x", array)
        begin = time.perf_counter()
        for _ in range(steps):
            with writer.step() as step:
                step.put("x", array)
        wrote = time.perf_counter()
        if writer.stats["steps_spilled"] != steps:
            raise RuntimeError(f"{writer.stats['steps_spilled']} of {steps} steps were spilled")
        reader.next()
        read = time.perf_counter()
        for index in range(steps):
            back = reader.next()["x"].read()
            _check(float(back[0] + back[-1]), array, index)
        return wrote - begin, time.perf_counter() - read


def _check(ends: float, array: NDArray[np.float64], index: int) -> None:
    if ends != array[0] + array[-1]:
        raise RuntimeError(f"step {index} came back as something else")


def main() -> None:
    """Answer the benchmark's commands."""

    def answer(command: dict[str, Any]) -> dict[str, Any]:
        array = np.random.default_rng(1).random(command["bytes"] // 8)
        contestant = {BARE: bare, FLUVIAL: spilled}[command["who"]]
        write_s, read_s = contestant(Path(command["folder"]), array, command["steps"])
        bytes_ = command["bytes"] * command["steps"]
        return {"write": bytes_ / write_s * 1e-9, "read": bytes_ / read_s * 1e-9}

    serve(int(sys.argv[1]), answer)


if __name__ == "__main__":
    main()
