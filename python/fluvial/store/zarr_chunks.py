# SPDX-License-Identifier: Apache-2.0
"""Reading the chunks of an array of Zarr; which of them is damaged."""

from __future__ import annotations

import itertools
import math
import os
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import zarr

Box = tuple[slice, ...]

_BLOSC_HEADER = 16
"""Bytes; the last four are the length of the chunk as it is stored."""
_NO_CHUNK = 2**64 - 1
"""In the index of a shard: the chunk is not there, its elements are the fill value."""


class DamagedChunkError(Exception):
    """A chunk cannot be read; its text names the chunk."""

    def __init__(self, chunk: str, why: Exception) -> None:
        super().__init__(f"chunk {chunk}")
        self.why = why


def read_chunks(folder: str, array: zarr.Array, box: Box) -> np.ndarray:
    """Return a part of an array that is in a folder. Local.

    Raises
    ------
    DamagedChunkError
        The first one that cannot be read alone.
    Exception
        Of the library, where there is none.
    """
    try:
        return _read(folder, array, box)
    except Exception:
        for chunk in _chunks_of(array, box):
            alone = zip(chunk, stored_together(array), strict=True)
            try:
                _read(folder, array, tuple(slice(at * n, (at + 1) * n) for at, n in alone))
            except Exception as error:
                raise DamagedChunkError(array.metadata.encode_chunk_key(chunk), error) from error
        raise


def stored_together(array: zarr.Array) -> tuple[int, ...]:
    """Return the extents of what one file has: a chunk, or a shard of several."""
    return _shards_of(array) or tuple(array.chunks)


def _shards_of(array: zarr.Array) -> tuple[int, ...] | None:
    return getattr(array, "shards", None)


def _read(folder: str, array: zarr.Array, box: Box) -> np.ndarray:
    if _is_blosc(array):
        check = _check_blosc if _shards_of(array) is None else _check_shard
        for chunk in _chunks_of(array, box):
            check(os.path.join(folder, array.metadata.encode_chunk_key(chunk)), array)
    return np.asarray(array[box])


def _chunks_of(array: zarr.Array, box: Box) -> Iterator[tuple[int, ...]]:
    """Give the numbers of those that have elements of a region."""
    return itertools.product(
        *(
            range(along.start // n, -(-along.stop // n)) if along.stop > along.start else ()
            for along, n in zip(box, stored_together(array), strict=True)
        )
    )


def _is_blosc(array: zarr.Array) -> bool:
    """Return whether each chunk is what Blosc made, whose library does not ask for its length.

    It takes for bytes that are missing what lies behind in memory.
    """
    codecs = array.compressors
    return bool(codecs) and type(codecs[-1]).__name__ in ("Blosc", "BloscCodec")


def _check_blosc(file: str, _array: object) -> None:
    """Raise ValueError where bytes of a chunk are missing."""
    try:
        with open(file, "rb", buffering=0) as chunk:
            header = chunk.read(_BLOSC_HEADER)
            stored = os.fstat(chunk.fileno()).st_size
    except FileNotFoundError:
        return  # its elements are the fill value, as the format has it
    if len(header) < _BLOSC_HEADER:
        raise ValueError(f"{stored} bytes, fewer than a header of {_BLOSC_HEADER}")
    (promised,) = struct.unpack("<I", header[12:])
    if stored < promised:
        raise ValueError(f"{stored} bytes, fewer than the {promised} that its header says")


def _check_shard(file: str, array: Any) -> None:
    """Raise ValueError where bytes of a shard are missing whose index stands in front.

    An index at the end has a checksum, and does not stand there any more.
    """
    shards = next(codec for codec in array.metadata.codecs if hasattr(codec, "index_location"))
    endian = getattr(shards.index_codecs[0], "endian", None)
    if _word(shards.index_location) != "start" or _word(endian) != "little":
        return
    chunks = math.prod(n // m for n, m in zip(array.shards, array.chunks, strict=True))
    try:
        places = np.fromfile(file, np.dtype("<u8"), 2 * chunks).reshape(-1, 2)
        stored = os.stat(file).st_size
    except FileNotFoundError:
        return
    ends = places[places[:, 0] != _NO_CHUNK].sum(1)
    if ends.size and stored < ends.max():
        raise ValueError(f"{stored} bytes, fewer than the {ends.max()} that its index says")


def _word(value: object) -> object:
    """Return the value of an enumeration, and what is none as it is."""
    return getattr(value, "value", value)
