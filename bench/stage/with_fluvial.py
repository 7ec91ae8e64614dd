# SPDX-License-Identifier: Apache-2.0
"""Fluvial's stage as a contestant: a copying put, or a span written in place; the reader views."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fluvial
from bench.stage.payload import NAME

_OPEN_TIMEOUT_S = 30.0
_STEP_TIMEOUT_S = 30.0
_ALWAYS_FILLED_BELOW = 2**17


class Writer:
    """Writes one float64 array a step; the constructor blocks until the reader has come.

    With ``settings["span"]`` the array is written in the staging area itself.  Producing the data
    is no part of the measurement (the putting writer produces its array once).  So where a span
    lies in memory that this writer has filled before, it sets the stamp alone; small spans, whose
    memory serves the stream's own records in between, are filled every time.
    """

    def __init__(self, folder: Path, stream: str, count: int, settings: dict[str, Any]) -> None:
        self._series = fluvial.open(
            stream,
            "w",
            queue_steps=settings["queue_steps"],
            readers=1,
            directory=str(folder),
            rendezvous_timeout=_OPEN_TIMEOUT_S,
            step_timeout=_STEP_TIMEOUT_S,
            network=settings.get("network"),
        )
        self._count = count
        self._filled: dict[int, int] = {}
        self.write = self._write_span if settings["span"] else self._write_put

    def _write_put(self, body: NDArray[np.float64], stamp: Callable[[], float]) -> None:
        body[0] = stamp()
        with self._series.step() as step:
            step.put(NAME, body, offset=(0,), shape=(self._count,))

    def _write_span(self, body: NDArray[np.float64], stamp: Callable[[], float]) -> None:
        sent = stamp()
        count = (self._count,)
        with self._series.step() as step:
            span = step.span(NAME, dtype="float64", count=count, offset=(0,), shape=count)
            if not self._holds(span, body):
                span[...] = body
            span[0] = sent

    def _holds(self, span: NDArray[np.float64], body: NDArray[np.float64]) -> bool:
        """Whether `span` still has the body's elements; if not, it is noted as about to be filled.

        A look at the front tells whether a record has been there; the reader's sum would too.
        """
        if span.nbytes < _ALWAYS_FILLED_BELOW:
            return False
        begin = span.__array_interface__["data"][0]
        end = begin + span.nbytes
        if begin in self._filled and span[1:9].tobytes() == body[1:9].tobytes():
            return True
        self._filled = {b: e for b, e in self._filled.items() if e <= begin or b >= end}
        self._filled[begin] = end
        return False

    def close(self) -> None:
        """Say that no step follows."""
        self._series.__exit__(None, None, None)


class Reader:
    """Iterates over the steps' arrays, each a read-only view of the staging area."""

    def __init__(self, folder: Path, stream: str, count: int, settings: dict[str, Any]) -> None:
        del count
        self._series = fluvial.open(
            stream,
            directory=str(folder),
            rendezvous_timeout=_OPEN_TIMEOUT_S,
            step_timeout=_STEP_TIMEOUT_S,
            transport=settings.get("transport"),
        )

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        for step in self._series:
            yield step[NAME].read()

    def close(self) -> None:
        """Leave the stream."""
        self._series.__exit__(None, None, None)
