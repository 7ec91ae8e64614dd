# SPDX-License-Identifier: Apache-2.0
"""ADIOS2's SST engine as a contestant, through its thinnest Python layer and its best settings.

BP5 marshalling without min/max statistics, loopback as the interface, one global array a step,
deferred put and get, and a reader that reuses one target array.  Definitions and selections are
not locked: with preload off that makes SST push the data after all, and small steps wait for
delayed acknowledgements (44 ms) where they otherwise take 0.1 ms.  The wheel has no data transport
but sockets (WAN).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import adios2.bindings as adios2
import numpy as np
from numpy.typing import NDArray

from bench.stage.payload import NAME

_OPEN_TIMEOUT_S = 30


class _End:
    """What the two ends have in common."""

    def parameters(
        self, folder: Path, stream: str, settings: dict[str, Any]
    ) -> tuple[str, dict[str, str]]:
        """Return the engine and what it is told."""
        del folder, stream
        return "SST", {
            "MarshalMethod": "BP5",
            "StatsLevel": "0",
            "RendezvousReaderCount": "1",
            "QueueLimit": str(settings["queue_steps"]),
            "QueueFullPolicy": "Block",
            "DataTransport": "WAN",
            "NetworkInterface": settings.get("network", "lo"),
            "OpenTimeoutSecs": str(_OPEN_TIMEOUT_S),
            "SpeculativePreloadMode": settings["preload"],
        }

    def declare(self, folder: Path, stream: str, settings: dict[str, Any]) -> tuple[Any, Any]:
        """Return ADIOS2 and an IO with that engine."""
        adios = adios2.ADIOS()
        io = adios.DeclareIO("bench")
        engine, parameters = self.parameters(folder, stream, settings)
        io.SetEngine(engine)
        io.SetParameters(parameters)
        return adios, io


class Writer(_End):
    """Puts one float64 array a step; the constructor blocks until the reader has come."""

    def __init__(self, folder: Path, stream: str, count: int, settings: dict[str, Any]) -> None:
        self._adios, io = self.declare(folder, stream, settings)
        self.define(io, count)
        self._engine = io.Open(str(folder / stream), adios2.Mode.Write)

    def define(self, io: Any, count: int) -> None:
        """Define what a step has."""
        shape = [count]
        self._variable = io.DefineVariable(
            NAME, np.empty(0, dtype=np.float64), shape, [0], shape, True
        )

    def put(self, engine: Any, body: NDArray[np.float64]) -> None:
        """Put `body` into the step that has begun."""
        engine.Put(self._variable, body)

    def write(self, body: NDArray[np.float64], stamp: Callable[[], float]) -> None:
        """Stamp `body` and write it as one step."""
        body[0] = stamp()
        self._engine.BeginStep()
        self.put(self._engine, body)
        self._engine.EndStep()

    def close(self) -> None:
        """Say that no step follows."""
        self._engine.Close()


class Reader(_End):
    """Iterates over the steps' arrays; the array is the same one each time, refilled."""

    step_timeout_s = 30.0

    def __init__(self, folder: Path, stream: str, count: int, settings: dict[str, Any]) -> None:
        self._adios, self._io = self.declare(folder, stream, settings)
        self._engine = self._io.Open(str(folder / stream), adios2.Mode.Read)
        self._target = np.zeros(count, dtype=np.float64)

    def get(self, io: Any, engine: Any, target: NDArray[np.float64]) -> None:
        """Ask for what the step has, into `target`."""
        engine.Get(io.InquireVariable(NAME), target)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        while True:
            status = self._engine.BeginStep(adios2.StepMode.Read, self.step_timeout_s)
            if status == adios2.StepStatus.EndOfStream:
                return
            if status != adios2.StepStatus.OK:
                raise RuntimeError(f"SST's BeginStep gave {status} in {self.step_timeout_s} s")
            self.get(self._io, self._engine, self._target)
            self._engine.PerformGets()
            yield self._target
            self._engine.EndStep()

    def close(self) -> None:
        """Leave the stream."""
        with contextlib.suppress(Exception):
            self._engine.Close()
