# SPDX-License-Identifier: Apache-2.0
"""Writes netCDF-4 (HDF5) files: contiguous, or in chunks with shuffle and deflate.

Chunks are compressed by several threads and stored as they are; HDF5's own way has one thread.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5netcdf
import numpy as np
from climate import ATTRIBUTES, DIMENSIONS, FILE_ATTRIBUTES, NAME, Climate
from numpy.typing import NDArray


class HierarchicalFile:
    """The climate's file, open for writing; steps are written in any order.

    Without `chunks` it is contiguous; else chunks of these extents (one step high, at most) are
    shuffled and deflated at `level`.
    """

    def __init__(
        self, path: Path, climate: Climate, chunks: Sequence[int] | None, level: int, record: bool
    ) -> None:
        self._level = level
        self._chunks = None if chunks is None else tuple(chunks)
        self._threads = ThreadPoolExecutor()
        self._file = h5netcdf.File(path, "w")
        self._file.attrs.update(_fixed(FILE_ATTRIBUTES))
        extents = dict(zip(DIMENSIONS, climate.shape.extents, strict=True))
        self._file.dimensions = {
            name: None if record and name == "time" else extent for name, extent in extents.items()
        }
        if record:
            self._file.resize_dimension("time", extents["time"])
        for name in DIMENSIONS:
            coordinate = self._file.create_variable(name, (name,), np.float64)
            coordinate[:] = climate.coordinate(name)
            coordinate.attrs.update(_fixed(climate.coordinate_attributes(name)))
        settings = (
            {}
            if chunks is None
            else {
                "chunks": self._chunks,
                "compression": "gzip",
                "compression_opts": level,
                "shuffle": True,
            }
        )
        variable = self._file.create_variable(NAME, DIMENSIONS, np.float32, **settings)
        variable.attrs.update(_fixed(ATTRIBUTES))
        self._dataset = variable._h5ds

    def append(self, number: int, step: NDArray[np.float32]) -> None:
        """Write time step `number`."""
        if self._chunks is None:
            self._dataset[number] = step
            return
        chunk = self._chunks[1:]
        corners = list(
            itertools.product(*(range(0, n, c) for n, c in zip(step.shape, chunk, strict=True)))
        )
        encoded = self._threads.map(lambda corner: self._encode(step, corner), corners)
        for corner, data in zip(corners, encoded, strict=True):
            self._dataset.id.write_direct_chunk((number, *corner), data)

    def close(self) -> None:
        """Close the file."""
        self._threads.shutdown()
        self._file.close()

    def _encode(self, step: NDArray[np.float32], corner: Sequence[int]) -> bytes:
        """Return the chunk at `corner`, whole even at the edge, as HDF5's filters would."""
        assert self._chunks is not None
        extent = self._chunks[1:]
        part = step[tuple(slice(o, o + n) for o, n in zip(corner, extent, strict=True))]
        if part.shape != extent:
            whole = np.zeros(extent, dtype=np.float32)
            whole[tuple(slice(0, n) for n in part.shape)] = part
            part = whole
        shuffled = np.ascontiguousarray(part).view(np.uint8).reshape(-1, 4).T.tobytes()
        return zlib.compress(shuffled, self._level)


def _fixed(attributes: Mapping[str, str]) -> dict[str, np.bytes_]:
    """Return texts as strings of fixed length, as the netCDF library writes them."""
    return {name: np.bytes_(text) for name, text in attributes.items()}
