# SPDX-License-Identifier: Apache-2.0
"""Fluvial as a contestant: each element of the array is a dataset of its own.

With the setting `together` a step is put by one call and read by one, else each dataset by its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fluvial
from bench.datasets.names import names_of

_TIMEOUT_S = 60.0


class Writer:
    """Puts `count` datasets of one float64 a step; the constructor waits for the reader."""

    def __init__(self, folder: Path, stream: str, count: int, settings: dict[str, Any]) -> None:
        self._series = fluvial.open(
            stream,
            "w",
            queue_steps=settings["queue_steps"],
            directory=str(folder),
            rendezvous_timeout=_TIMEOUT_S,
            step_timeout=_TIMEOUT_S,
            network=settings.get("network"),
        )
        self._names = names_of(count)
        self._together = settings.get("together", True)

    def write(self, body: NDArray[np.float64], stamp: Callable[[], float]) -> None:
        """Put each element as a dataset."""
        body[0] = stamp()
        with self._series.step() as step:
            if self._together:
                step.put({name: body[at : at + 1] for at, name in enumerate(self._names)})
                return
            for at, name in enumerate(self._names):
                step.put(name, body[at : at + 1])

    def close(self) -> None:
        """Say that no step follows."""
        self._series.close()


class Reader:
    """Gathers the datasets of each step in one array."""

    def __init__(self, folder: Path, stream: str, count: int, settings: dict[str, Any]) -> None:
        self._together = settings.get("together", True)
        self._series = fluvial.open(
            stream,
            directory=str(folder),
            rendezvous_timeout=_TIMEOUT_S,
            step_timeout=_TIMEOUT_S,
            transport=settings.get("transport"),
        )
        self._names = names_of(count)
        self._target = np.zeros(count)

    def __iter__(self) -> Iterator[NDArray[np.float64]]:
        for step in self._series:
            if self._together:
                for at, array in enumerate(step.read(self._names).values()):
                    self._target[at] = array[0]
                yield self._target
                continue
            for at, name in enumerate(self._names):
                self._target[at] = step[name].read()[0]
            yield self._target

    def close(self) -> None:
        """Leave the stream."""
        self._series.close()
