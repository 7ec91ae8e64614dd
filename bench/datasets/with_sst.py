# SPDX-License-Identifier: Apache-2.0
"""SST as a contestant: each element of the array is a variable of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.datasets.names import names_of
from bench.stage import with_sst


class Writer(with_sst.Writer):
    """Puts `count` variables of one float64 a step, deferred; the constructor waits."""

    def define(self, io: Any, count: int) -> None:
        """Define a variable for each element."""
        empty = np.empty(0, dtype=np.float64)
        self._variables = [
            io.DefineVariable(name, empty, [1], [0], [1], True) for name in names_of(count)
        ]

    def put(self, engine: Any, body: NDArray[np.float64]) -> None:
        """Put each element as a variable."""
        for at, variable in enumerate(self._variables):
            engine.Put(variable, body[at : at + 1])


class Reader(with_sst.Reader):
    """Gathers the variables of each step in one array, by deferred gets and one PerformGets."""

    step_timeout_s = 60.0

    def __init__(self, folder: Path, stream: str, count: int, settings: dict[str, Any]) -> None:
        super().__init__(folder, stream, count, settings)
        self._names = names_of(count)

    def get(self, io: Any, engine: Any, target: NDArray[np.float64]) -> None:
        """Ask for each variable, into an element."""
        for at, name in enumerate(self._names):
            engine.Get(io.InquireVariable(name), target[at : at + 1])
