# SPDX-License-Identifier: Apache-2.0
"""Datasets and attributes of HDF5, made without what h5py looks up for each of them."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..describe.attributes import array_of
from .chunk_grid import chunk_of
from .compression import Compression, PackedChunk
from .output_file import cannot_write
from .step_contents import Packing, Region

if TYPE_CHECKING:
    import h5py
    from h5py import h5d, h5g, h5s, h5t

OBJECT_BYTES_MAX = 4096
"""Of a group or dataset with its attributes; mostly much less."""
_CHUNK_BYTES_MAX = 4 << 20
_COMPRESSED_BYTES_MIN = (
    4096  # of what a step has of a dataset: below, chunks cost more than they gain
)
_INDEX_BYTES_MAX = 256  # of a chunk in the index of its dataset, at rank 32


def new_file(path: str) -> h5py.File:
    """Make a file of what older programs read, without a cache of data, which others write.

    Raises
    ------
    SystemError
        It cannot be made.
    """
    import h5py

    try:
        return h5py.File(path, "w", libver=("earliest", "v110"))
    except OSError as error:
        raise cannot_write(path, error) from None


def close_file(file: h5py.File | None, path: str) -> None:
    """Close a file that there may be. Idempotent.

    Raises
    ------
    SystemError
        It cannot be written.
    """
    try:
        if file is not None:
            file.close()
    except (OSError, RuntimeError) as error:
        raise cannot_write(path, error) from None


def packing_of(
    compression: Compression | None,
    shape: tuple[int, ...],
    dtype: np.dtype,
    regions: Sequence[Region],
) -> Packing | None:
    """Return how what a step has of a dataset is compressed; None: not at all, as it is small."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if compression is None or compression.level == 0 or not shape or size < _COMPRESSED_BYTES_MIN:
        return None
    return Packing(chunk_of(shape, regions, dtype.itemsize, _CHUNK_BYTES_MAX), compression.level)


def room_of(chunks: Iterable[PackedChunk]) -> int:
    """Return the bytes that chunks take at most, with their places in the index."""
    return sum(len(data) + _INDEX_BYTES_MAX for _, data, _ in chunks) + OBJECT_BYTES_MAX


def make_dataset(
    group: h5g.GroupID,
    path: str,
    dtype: np.dtype,
    space: h5s.SpaceID,
    packing: Packing | None = None,
    chunk: tuple[int, ...] | None = None,
) -> h5d.DatasetID:
    """Make a dataset with nothing written into it, and the groups on the way to it.

    Unless it is compressed it has all its room then, in one piece or in chunks.
    """
    from h5py import h5d, h5p

    properties = h5p.create(h5p.DATASET_CREATE)
    properties.set_fill_time(h5d.FILL_TIME_NEVER)
    if packing is not None:
        properties.set_chunk(packing.chunk)
        properties.set_shuffle()
        properties.set_deflate(packing.level)
    else:
        properties.set_alloc_time(h5d.ALLOC_TIME_EARLY)
        if chunk is None:
            properties.set_layout(h5d.CONTIGUOUS)
        else:
            properties.set_chunk(chunk)
    with_groups = h5p.create(h5p.LINK_CREATE)
    with_groups.set_create_intermediate_group(True)
    return h5d.create(group, path.encode(), type_of(dtype), space, properties, with_groups)


def set_attributes(target: h5d.DatasetID | h5g.GroupID, attrs: Mapping[str, object]) -> None:
    """Give attributes to an object that has none of these."""
    from h5py import h5a

    for name, value in attrs.items():
        data = array_of(_stored(value))
        made = h5a.create(target, name.encode(), type_of(data.dtype), space_of(data.shape))
        made.write(data)


@functools.lru_cache(maxsize=256)
def type_of(dtype: np.dtype) -> h5t.TypeID:
    """Return the type of HDF5 for one of NumPy."""
    from h5py import h5t

    if dtype.kind == "b":  # as h5py, but with the words in the order of openPMD's own library
        words = h5t.enum_create(h5t.NATIVE_INT8)
        words.enum_insert(b"TRUE", 1)
        words.enum_insert(b"FALSE", 0)
        return words
    return h5t.py_create(dtype, logical=True)


def space_of(shape: tuple[int, ...]) -> h5s.SpaceID:
    """Return the space of a dataset that keeps its shape."""
    from h5py import h5s

    return h5s.create_simple(shape) if shape else h5s.create(h5s.SCALAR)


def _stored(value: object) -> object:
    """Return a value in the form that openPMD's programs read: text of fixed length."""
    if isinstance(value, str):
        return np.bytes_(value.encode())
    if isinstance(value, list | tuple) and value and all(isinstance(v, str) for v in value):
        return np.array([v.encode() for v in value], "S")
    return value
