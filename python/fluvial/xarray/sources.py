# SPDX-License-Identifier: Apache-2.0
"""Which files the values of an array of xarray lie in, unchanged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import xarray as xr

if TYPE_CHECKING:
    import zarr

_UNCHANGED = ("open_dataset-", "xarray-", "concatenate-", "getitem-", "transpose-", "rechunk-")
"""How dask calls the steps that bring values as they are from where they lie."""


def sources_of(array: xr.DataArray) -> list[str] | None:
    """Return the paths of the files that an array was opened from, in no certain order.

    None where the values come from elsewhere, or something was computed with them on the way: of
    chunked arrays, such as those of `xarray.open_mfdataset`, dask's graph says so.
    """
    data = array.variable._data
    if not hasattr(data, "__dask_graph__"):
        source = array.encoding.get("source", path_of(data))
        return None if source is None else [str(source)]
    paths: list[str | None] = []
    layers = data.__dask_graph__().layers
    for name, layer in layers.items():
        if name.startswith("original-"):
            paths += [path_of(value) for value in layer.values()]
        elif not name.startswith(_UNCHANGED):
            return None
    known = [path for path in paths if path is not None]
    return list(dict.fromkeys(known)) if known and len(known) == len(paths) else None


def names_in_files(array: xr.DataArray) -> set[str]:
    """Return what the files call the variable whose values these are, where that is known.

    Names are whole: that of a variable in a group begins with the group's.
    """
    data = array.variable._data
    if not hasattr(data, "__dask_graph__"):
        return _names_behind(data)
    return set().union(*(_names_behind(one) for one in originals_of(data).values()))


class OfFile(Protocol):
    """An array of xarray's that was not read yet."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements along each axis."""


def stored_shape(value: object) -> tuple[int, ...]:
    """Return the shape of what is in the file, whatever was selected of it."""
    *_, stored = wrapped(value)
    return tuple(map(int, stored.shape))  # type: ignore[attr-defined]


def originals_of(data: object) -> dict[str, OfFile]:
    """Return the arrays of files that a chunked array begins with, by their keys in its graph."""
    found: dict[str, OfFile] = {}
    for name, layer in data.__dask_graph__().layers.items():  # type: ignore[attr-defined]
        if name.startswith("original-"):
            found |= layer
    return found


def _names_behind(value: object) -> set[str]:
    for inner in wrapped(value):
        if (zarr_array := _zarr_array(inner)) is not None:
            return {zarr_array.path}
        name = getattr(inner, "variable_name", None)
        if isinstance(name, str):
            group = getattr(getattr(inner, "datastore", None), "_group", None) or ""
            return {f"{group}/{name}".strip("/")}
    return set()


def path_of(value: object) -> str | None:
    """Return the file behind xarray's wrappers of an array; None for one that is in memory.

    Of Zarr it is the outermost folder, if it is one of the file system.
    """
    for inner in wrapped(value):
        if (zarr_array := _zarr_array(inner)) is not None:
            root = getattr(zarr_array.store, "root", None)  # of other stores it is no Path
            return str(root) if isinstance(root, os.PathLike) else None
        store = getattr(inner, "datastore", None)
        for owner, name in ((inner, "path"), (store, "_filename"), (store, "filename")):
            path = getattr(owner, name, None)
            if isinstance(path, str):
                return path
    return None


def _zarr_array(value: object) -> zarr.Array | None:
    """Return what xarray's own wrapper of Zarr's arrays has in it."""
    return getattr(value, "_array", None) if type(value).__name__ == "ZarrArrayWrapper" else None


def wrapped(value: object) -> Iterator[object]:
    """Give an array, and what is wrapped in it, down to that of the file."""
    while value is not None:
        yield value
        value = getattr(value, "array", None)
