# SPDX-License-Identifier: Apache-2.0
"""A made-up climate: temperature(time, level, lat, lon), smooth fields with noise on top."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NAME = "temperature"
DIMENSIONS = ("time", "level", "lat", "lon")
ATTRIBUTES = {
    "standard_name": "air_temperature",
    "long_name": "Temperature",
    "units": "K",
    "cell_methods": "time: point",
}
FILE_ATTRIBUTES = {"Conventions": "CF-1.10", "title": "Made-up climate: smooth plus noise"}
_COORDINATE_ATTRIBUTES = {
    "time": {
        "standard_name": "time",
        "units": "hours since 2000-01-01 00:00:00",
        "calendar": "standard",
        "axis": "T",
    },
    "level": {
        "standard_name": "air_pressure",
        "units": "hPa",
        "positive": "down",
        "axis": "Z",
    },
    "lat": {"standard_name": "latitude", "units": "degrees_north", "axis": "Y"},
    "lon": {"standard_name": "longitude", "units": "degrees_east", "axis": "X"},
}
_STEP_HOURS = 6


@dataclass(frozen=True)
class Shape:
    """Extents of the four dimensions, slowest first."""

    time: int
    level: int
    lat: int
    lon: int

    @property
    def extents(self) -> tuple[int, int, int, int]:
        """The extents in the order of `DIMENSIONS`."""
        return self.time, self.level, self.lat, self.lon

    @property
    def step_bytes(self) -> int:
        """Bytes of one time step of float32."""
        return 4 * self.level * self.lat * self.lon

    @property
    def bytes(self) -> int:
        """Bytes of the whole variable, uncompressed."""
        return self.time * self.step_bytes


class Climate:
    """Time steps on demand, in any order; the same `seed` and shape give the same values.

    Noise is one block of normal deviates that every level of every step reads from another place,
    so that a step costs three passes over memory; it takes a step's bytes and twice a level's.
    """

    def __init__(self, shape: Shape, seed: int = 0, noise: float = 0.5) -> None:
        self.shape = shape
        self._seed = seed
        plane = shape.lat * shape.lon
        rng = np.random.default_rng(seed)
        self._noise = noise * rng.standard_normal(2 * plane, dtype=np.float32)
        self._step = np.empty(shape.extents[1:], dtype=np.float32)
        lat = np.deg2rad(self.coordinate("lat"))[:, None]
        height = np.linspace(0.0, 1.0, shape.level)[:, None, None]
        self._base = (298.0 - 38.0 * np.sin(lat) ** 2 - 58.0 * height).astype(np.float32)
        self._swing = (4.0 - 2.5 * height).astype(np.float32)

    def coordinate(self, dimension: str) -> NDArray[np.float64]:
        """Return the values along one dimension, in the units of its attributes."""
        count = self.shape.extents[DIMENSIONS.index(dimension)]
        if dimension == "time":
            return _STEP_HOURS * np.arange(count, dtype=np.float64)
        if dimension == "level":
            return np.linspace(1000.0, 10.0, count)
        if dimension == "lat":
            return -90.0 + 180.0 / count * (np.arange(count) + 0.5)
        return 360.0 / count * np.arange(count)

    @staticmethod
    def coordinate_attributes(dimension: str) -> dict[str, str]:
        """Return the CF attributes of one dimension's coordinates."""
        return dict(_COORDINATE_ATTRIBUTES[dimension])

    def step(self, number: int) -> NDArray[np.float32]:
        """Return time step `number` (level, lat, lon); the array is used again by the next call."""
        shape = self.shape
        plane = shape.lat * shape.lon
        phase = 2.0 * np.pi * number / 120.0
        lon = np.deg2rad(self.coordinate("lon"))
        lat = np.deg2rad(self.coordinate("lat"))[:, None]
        wave = (np.cos(lat) * np.sin(3.0 * lon + phase)).astype(np.float32)
        places = np.random.default_rng([self._seed, number]).integers(0, plane + 1, shape.level)
        for level, place in enumerate(places):
            field = self._step[level]
            np.multiply(wave, self._swing[level], out=field)
            field += self._base[level]
            field += self._noise[place : place + plane].reshape(field.shape)
        return self._step
