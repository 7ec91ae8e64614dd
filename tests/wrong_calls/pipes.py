# SPDX-License-Identifier: Apache-2.0
"""Calls of pipes, with right arguments."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
from wrong_calls.table import Call

import fluvial as fl


def pipes(folder: pathlib.Path) -> list[Call]:
    """Return pipes from a file to others."""
    source = str(folder / "source.h5")
    with fl.open(source, "w") as series, series.step(time=0.5) as step:
        step.put("meshes/E/x", np.ones((4, 3)), attrs={"axisLabels": ["y", "x"]})
    short = {"rendezvous_timeout": 0.05, "step_timeout": 1}
    right: dict[str, Any] = {
        **{"source": source, "destination": str(folder / "piped.h5"), "comm": None},
        **{"strategy": "blocks", "own": None, "steps": "0:4:2", "datasets": ["meshes/*"]},
        **{"isel": {"x": slice(0, 2)}, "sel": {"y": slice(0, 2)}, "dtype": "f4"},
        **{"rate": 1000.0, "original_timing": False, "speed": 1.0, "on_step": lambda report: None},
        **{"reading": short, "writing": short},
    }
    timed = right | {"rate": None, "original_timing": True, "speed": 1e6}
    return [Call("pipe", fl.pipe, right), Call("pipe", fl.pipe, timed)]
