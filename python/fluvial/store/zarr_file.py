# SPDX-License-Identifier: Apache-2.0
"""Reading Zarr, versions 2 and 3, by its own library."""

from __future__ import annotations

import base64
import json
import os
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _core
from ..describe.dates import TIME
from .file_by_library import LibraryContents, LibraryDataset, cannot_read, file_by_library

if TYPE_CHECKING:
    import zarr

_DIMS = "_ARRAY_DIMENSIONS"


def open_zarr(path: str) -> _core.File:
    """Open a folder of Zarr. Local; reads metadata only, the consolidated ones where there are.

    Raises
    ------
    DamagedFile
        The library cannot open it.
    """
    import zarr

    try:
        _check_version(path)
        root: Any = zarr.open(path, mode="r")
        if isinstance(root, zarr.Array):
            members = [("data", root)]
            attrs: dict[str, object] = {}
        else:
            members = sorted(root.members(max_depth=None))
            attrs = dict(root.attrs)
        arrays = {name: found for name, found in members if isinstance(found, zarr.Array)}
        groups = {name: dict(found.attrs) for name, found in members if name not in arrays}
        datasets = [_described(name, array) for name, array in arrays.items()]
        version = root.metadata.zarr_format
    except Exception as error:  # of the library, of JSON, of the system
        raise cannot_read(path, "metadata", error) from error

    def read(name: str, start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
        box = tuple(slice(b, b + n) for b, n in zip(start, count, strict=True))
        found = np.asarray(arrays[name][box])
        return found.view(np.uint8) if found.dtype.kind == "b" else found

    by_time = any(dataset.dims[:1] == (TIME,) for dataset in datasets)
    records = TIME if by_time else None
    format_ = f"Zarr (version {version})"
    return file_by_library(LibraryContents(path, format_, attrs, groups, datasets, records), read)


def _check_version(path: str) -> None:
    """Raise ValueError unless the metadata of the root say a version; the library asks for none."""
    for mark in ("zarr.json", ".zgroup", ".zarray"):
        try:
            with open(os.path.join(path, mark), "rb") as file:
                said = json.load(file)
        except FileNotFoundError:
            continue
        if not isinstance(said, dict) or said.get("zarr_format") not in (2, 3):
            raise ValueError(f"{mark} without a zarr_format of 2 or 3")
        return


def _described(name: str, array: Any) -> LibraryDataset:
    attrs = dict(array.attrs)
    dims = attrs.pop(_DIMS, None) or getattr(array.metadata, "dimension_names", None) or ()
    if len(dims) != len(array.shape):
        dims = ("",) * len(array.shape)
    dtype = np.dtype(array.dtype)
    _add_fill_value(attrs, array, dtype)
    return LibraryDataset(
        name,
        "uint8" if dtype.kind == "b" else dtype.newbyteorder("=").name,
        tuple(array.shape),
        tuple(str(dim or "") for dim in dims),
        attrs,
        tuple(getattr(array, "shards", None) or array.chunks),
    )


def _add_fill_value(attrs: dict[str, object], array: zarr.Array, dtype: np.dtype) -> None:
    """Have the attribute _FillValue say what xarray takes for missing; two numbers if complex.

    That is the fill value of version 2, and of version 3 this attribute, in base64 for floats.
    """
    if array.metadata.zarr_format == 2:
        if array.fill_value is not None and dtype.kind in "iufc":
            value = np.asarray(array.fill_value).astype(dtype)
            attrs["_FillValue"] = _parts(value.item()) if dtype.kind == "c" else value.item()
        return
    said: Any = attrs.get("_FillValue")
    texts = said if isinstance(said, list) else [said]
    if dtype.kind in "fc" and all(isinstance(text, str) for text in texts):
        try:
            numbers = [struct.unpack("<d", base64.standard_b64decode(text))[0] for text in texts]
            attrs["_FillValue"] = numbers[0] if dtype.kind == "f" else numbers
        except (ValueError, struct.error):
            del attrs["_FillValue"]


def _parts(value: complex) -> list[float]:
    return [value.real, value.imag]
