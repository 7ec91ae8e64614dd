# SPDX-License-Identifier: Apache-2.0
"""A writer and a reader that tell how far they are, for tests that kill or stop them there."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from faults.traces import stream_name

SHORT = {"rendezvous_timeout": 30, "step_timeout": 15, "stall_timeout": 1}


def write(comm, fl, where, steps=400, pause=0.01, **options: Any) -> dict[str, Any]:
    """Write steps of 1000 equal numbers a rank; touch `step-N` as each is done."""
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    longest = 0.0
    error = None
    series = fl.open(stream_name(where), "w", comm=comm, **{**SHORT, **options})
    try:
        with series:
            for index in range(steps):
                begin = time.monotonic()
                with series.step() as step:
                    step.put("x", np.full(1000, index), offset=(1000 * rank,), shape=(1000 * size,))
                longest = max(longest, time.monotonic() - begin)
                if rank == 0:
                    (where / f"step-{index}").touch()
                time.sleep(pause)
    except fl.Error as caught:
        error = (type(caught).__name__, str(caught))
    return {**series.stats, "longest_step_s": longest, "error": error}


def read(comm, fl, where, pause=0.0, **options: Any) -> dict[str, Any]:
    """Read until the end or an error; touch `read-N` as each step is read."""
    seen = []
    error = None
    with fl.open(stream_name(where), comm=comm, **{**SHORT, **options}) as series:
        try:
            for step in series:
                values = step["x"].read()
                assert (values == step.index).all()
                seen.append(step.index)
                (where / f"read-{step.index}").touch()
                last = time.monotonic()
                time.sleep(pause)
        except fl.Error as caught:
            error = (type(caught).__name__, str(caught))
        return {"seen": seen, "error": error, "after_s": time.monotonic() - last, **series.stats}
