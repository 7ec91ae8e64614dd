# SPDX-License-Identifier: Apache-2.0
"""Where in their file the elements of an array of xarray lie: by how it was indexed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from xarray.core.indexing import ExplicitIndexer, VectorizedIndexer

from .sources import originals_of, path_of, stored_shape, wrapped


def positions_of(
    array: xr.DataArray, dims: Sequence[str], paths: Sequence[str]
) -> list[np.ndarray] | None:
    """Return, by axis of the file, the positions along it; 0-d where the array does not have it.

    Parameters
    ----------
    array
        Not in memory, and of the file (`sources_of`).
    dims
        Of the dataset in the file, or in several, which are joined along the first.
    paths
        Of the files, in their order.

    Returns
    -------
    list of numpy.ndarray or None
        None where that cannot be told: axes have other names, were indexed by points, or in a way
        that is not known here; and of most arrays without elements.
    """
    axes = [array.dims.index(dim) if dim in array.dims else None for dim in dims]
    if hasattr(array.variable._data, "__dask_graph__"):
        return _of_chunked(array, axes, paths) if array.size else None
    return _of_lazy(array.variable._data, axes, array.shape)


def _of_lazy(
    data: object, axes: Sequence[int | None], size: Sequence[int]
) -> list[np.ndarray] | None:
    shape = stored_shape(data)
    given = (getattr(inner, "key", None) for inner in wrapped(data))
    keys = [key for key in given if isinstance(key, ExplicitIndexer)]
    moving = [key for key in keys if any(one != slice(None) for one in _plain(key))]
    if len(moving) > 1:
        return None
    if not moving:
        return _orthogonal([slice(None)] * len(shape), axes, shape)
    if isinstance(moving[0], VectorizedIndexer):
        return _by_arrays(moving[0].tuple, axes, size)
    return _orthogonal(moving[0].tuple, axes, shape)


def _plain(key: ExplicitIndexer) -> list[object]:
    """Return a key with something that is no slice in the place of arrays."""
    return [None if isinstance(one, np.ndarray) else one for one in key.tuple]


def _orthogonal(
    key: Sequence[object], axes: Sequence[int | None], shape: Sequence[int]
) -> list[np.ndarray] | None:
    """Of one key for each axis, which stand in the order of the array's."""
    if len(key) != len(shape):
        return None
    numbers = [np.arange(n) for n in shape]
    found = [np.asarray(axis[one]) for axis, one in zip(numbers, key, strict=True)]  # type: ignore[call-overload]
    left = iter(range(len(shape)))
    return found if list(axes) == [next(left) if one.ndim else None for one in found] else None


def _by_arrays(
    key: Sequence[object], axes: Sequence[int | None], size: Sequence[int]
) -> list[np.ndarray] | None:
    """Of one array for each axis, which say for each element of the result where it is."""
    found = []
    if not all(size):
        return None
    for positions, axis in zip(key, axes, strict=True):
        if not isinstance(positions, np.ndarray):
            return None
        places = positions.reshape((1,) * (len(size) - positions.ndim) + positions.shape)
        line = _line(places, axis)
        if not np.array_equal(places, np.broadcast_to(line, places.shape)):
            return None
        found.append(line.reshape(()) if axis is None else _as_long_as(line.ravel(), size[axis]))
    return found


def _line(places: np.ndarray, axis: int | None) -> np.ndarray:
    return places[tuple(slice(None) if n == axis else slice(1) for n in range(places.ndim))]


def _as_long_as(line: np.ndarray, size: int) -> np.ndarray:
    return np.broadcast_to(line, size)


def _of_chunked(
    array: xr.DataArray, axes: Sequence[int | None], paths: Sequence[str]
) -> list[np.ndarray] | None:
    """Let dask index positions in the place of values; what it does to one axis it does alike."""
    import dask.array as da
    from dask.base import compute

    data = array.data
    originals = originals_of(data)
    known: dict[str, list[np.ndarray]] = {}
    lengths: dict[str | None, int] = {}
    for name, value in originals.items():
        own = _of_lazy(value, range(len(axes)), value.shape)
        if own is None or len(own) != len(axes):
            return None
        known[name] = own
        lengths[path_of(value)] = stored_shape(value)[0] if axes else 0
    starts = dict(zip(paths, np.cumsum([0, *map(lengths.__getitem__, paths)]), strict=False))
    graph = dict(data.__dask_graph__())
    found = []
    for axis, mine in enumerate(axes):
        for name, value in originals.items():
            places = known[name][axis] + (starts[str(path_of(value))] if axis == 0 else 0)
            alone = [-1 if n == axis else 1 for n in range(len(axes))]
            graph[name] = np.broadcast_to(places.reshape(alone), value.shape)
        indexed = da.Array(dict(graph), data.name, data.chunks, dtype=np.int64)
        ways = [None, *range(data.ndim)]
        corner, *lines = compute(  # of this axis alone: the keys of others are the same
            *(indexed[_along(way, data.ndim)] for way in ways), scheduler="synchronous"
        )
        if any((line != corner).any() for n, line in enumerate(lines) if n != mine):
            return None
        found.append(np.asarray(corner if mine is None else lines[mine]))
    return found


def _along(axis: int | None, axes: int) -> tuple[int | slice, ...]:
    return tuple(slice(None) if n == axis else 0 for n in range(axes))
