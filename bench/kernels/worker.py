# SPDX-License-Identifier: Apache-2.0
"""The pinned process of the kernels bench: every contestant reduces the same array in turn.

python -m bench.kernels.worker LIBRARY SOCKET_FD
"""

from __future__ import annotations

import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fluvial
from bench.child import serve
from bench.kernels import scattering
from bench.native import Native

READ_LOOP = "read loop"
NUMPY = "NumPy"
FLUVIAL = "Fluvial"

_NUMPY_CALLS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "min": np.min,
    "max": np.max,
    "mean": np.mean,
}


@functools.cache
def values(dtype: str, bytes_: int) -> NDArray[Any]:
    """Return an array of `bytes_` bytes; the last one asked for stays, so that turns share it."""
    values.cache_clear()
    count = bytes_ // np.dtype(dtype).itemsize
    return (np.random.default_rng(1).random(count) + 0.5).astype(dtype)


@functools.cache
def atoms(count: int, order_max: int) -> dict[str, tuple[int, Callable[[], float]]]:
    """Return the structure factor's contestants."""
    return scattering.contestants(count, order_max)


@functools.cache
def check(op: str, dtype: str, bytes_: int) -> None:
    """Raise RuntimeError unless Fluvial's result is NumPy's to the dtype's precision."""
    array = values(dtype, bytes_)
    found = float(fluvial.reduce(op, array))
    exact = float(
        _NUMPY_CALLS[op](array, dtype=np.float64)
        if op in ("sum", "mean")
        else _NUMPY_CALLS[op](array)
    )
    if not np.isclose(found, exact, rtol=4 * np.finfo(dtype).eps, atol=0.0):
        raise RuntimeError(f"Fluvial's {op} of {array.size} {dtype} is {found}, not {exact}")


def reduction(native: Native, who: str, op: str, dtype: str, bytes_: int) -> Callable[[], Any]:
    """Return the call that one contestant makes."""
    array = values(dtype, bytes_)
    if who == READ_LOOP:
        return lambda: native.read(array)
    if who == NUMPY:
        return lambda: _NUMPY_CALLS[op](array)
    check(op, dtype, bytes_)
    return functools.partial(fluvial.reduce, op, array)


def seconds_per_call(call: Callable[[], Any], budget_s: float) -> float:
    """Return the mean time of a call over `budget_s` seconds and two calls at least."""
    call()
    begin = time.perf_counter()
    calls = 0
    while calls < 2 or time.perf_counter() - begin < budget_s:
        call()
        calls += 1
    return (time.perf_counter() - begin) / calls


def measure(native: Native, command: dict[str, Any]) -> dict[str, Any]:
    """Answer ``{"seconds": a call, "q": vectors, "value": result}`` for one contestant's turn."""
    if command["op"] == "structure factor":
        count, call = atoms(command["atoms"], command["order_max"])[command["who"]]
        answer = {"q": count, "value": call()}
    else:
        wanted = command["who"], command["op"], command["dtype"], command["bytes"]
        call = reduction(native, *wanted)
        answer = {}
    return {**answer, "seconds": seconds_per_call(call, command["budget_s"])}


def main() -> None:
    """Answer the benchmark's commands."""
    native = Native(Path(sys.argv[1]))
    serve(int(sys.argv[2]), lambda command: measure(native, command))


if __name__ == "__main__":
    main()
