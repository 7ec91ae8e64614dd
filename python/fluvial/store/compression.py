# SPDX-License-Identifier: Apache-2.0
"""How elements are compressed on their way into files, and the chunks that come of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import wrong_type
from ..base.messages import did_you_mean, shown
from .step_contents import Packing, Parts

PackedChunk = tuple[tuple[int, ...], bytes, int]
"""Where it begins in its dataset, its bytes as they lie in the file, and the filters left out."""

_LEVELS = {
    "hdf5": {"gzip": (4, 1, 9)},
    "netcdf4": {"gzip": (4, 1, 9)},
    "zarr": {"gzip": (5, 0, 9), "zstd": (3, 1, 22), "blosc": (5, 0, 9)},
}
"""The codecs of an engine with their usual, least and greatest level."""


class Compression(NamedTuple):
    """A codec and how hard it tries."""

    codec: str
    """ "none": elements lie as they are."""
    level: int = 0


def to_compression(said: object, engine: str) -> Compression | None:
    """Return what an option such as ``"gzip"`` or ``"gzip:9"`` says; None: as the engine does.

    Raises
    ------
    InvalidArgument
        The engine has no such codec, or the codec no such level.
    """
    if said is None:
        return None
    if not isinstance(said, str):
        raise wrong_type("compression", said, "a codec such as 'gzip' or 'gzip:9', or None")
    if said == "none":
        return Compression("none")
    codecs = _LEVELS.get(engine, {})
    match = re.fullmatch(r"([a-z]+)(?::(\d{1,2}))?", said)
    if not codecs:
        raise InvalidArgument(
            f"engine '{engine}' cannot compress: got {shown(said)}; allowed: 'none'. Write HDF5, "
            "netCDF-4 or Zarr"
        )
    if match is None or match[1] not in codecs:
        raise InvalidArgument(
            f"engine '{engine}' cannot compress so: got {shown(said)}; allowed: "
            f"{', '.join(codecs)}, none. Give 'gzip', for example, or 'gzip:9' to try harder"
            f"{did_you_mean(said.partition(':')[0], codecs)}"
        )
    usual, least, most = codecs[match[1]]
    level = usual if match[2] is None else int(match[2])
    if not least <= level <= most:
        raise InvalidArgument(
            f"{match[1]} has no such level: got {level}; allowed: {least} to {most}"
        )
    return Compression(match[1], level)


def packed(parts: Parts, packing: Packing) -> Iterator[PackedChunk]:
    """Give the chunks of parts that consist of whole ones, as HDF5 stores them. Local.

    A chunk at the end of the dataset is filled up with zeros.
    """
    for offset, array in parts:
        grid = [range(0, n, step) for n, step in zip(array.shape, packing.chunk, strict=True)]
        for cell in np.ndindex(*(len(axis) for axis in grid)):
            begin = tuple(axis[at] for axis, at in zip(grid, cell, strict=True))
            piece = array[tuple(slice(b, b + n) for b, n in zip(begin, packing.chunk, strict=True))]
            elements = _filled(piece, packing.chunk).reshape(-1).view(np.uint8)
            yield (
                tuple(o + b for o, b in zip(offset, begin, strict=True)),
                *_core.pack_chunk(elements, array.itemsize, packing.level),
            )


def _filled(piece: np.ndarray, chunk: tuple[int, ...]) -> np.ndarray:
    if piece.shape == chunk:
        return np.ascontiguousarray(piece)
    filled = np.zeros(chunk, piece.dtype)
    filled[tuple(slice(0, n) for n in piece.shape)] = piece
    return filled
