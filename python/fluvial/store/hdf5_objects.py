# SPDX-License-Identifier: Apache-2.0
"""Datasets and attributes of HDF5, made without what h5py looks up for each of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from .step_contents import Packing

if TYPE_CHECKING:
    from h5py import h5d, h5g, h5s, h5t


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
        data = np.asarray(_stored(value))
        made = h5a.create(target, name.encode(), type_of(data.dtype), space_of(data.shape))
        made.write(data)


@functools.lru_cache(maxsize=256)
def type_of(dtype: np.dtype) -> h5t.TypeID:
    """Return the type of HDF5 for one of NumPy."""
    from h5py import h5t

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
