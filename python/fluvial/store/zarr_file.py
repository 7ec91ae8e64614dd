# SPDX-License-Identifier: Apache-2.0
"""Reading Zarr, versions 2 and 3, by its own library."""

from __future__ import annotations

import base64
import json
import os
import struct
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from .. import _core
from ..base.messages import shown_text
from ..describe.dates import TIME
from .file_by_library import (
    LibraryContents,
    LibraryDataset,
    Unreadable,
    cannot_read,
    file_by_library,
)
from .zarr_chunks import DamagedChunkError, read_chunks, stored_together

if TYPE_CHECKING:
    import zarr

_Found: TypeAlias = "zarr.Group | zarr.Array | Exception"
"""What is in a folder; an exception for what cannot be opened."""
_DIMS = "_ARRAY_DIMENSIONS"
_MARKS = ("zarr.json", ".zgroup", ".zarray")
_OF_ARRAYS = (
    {"shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs"},
    {"shape", "dtype", "chunks", "fill_value", "compressor", "filters", "order"},
)
"""What the metadata of an array must have, in version 3 and in version 2."""


def open_zarr(path: str) -> _core.File:
    """Open a folder of Zarr. Local; reads metadata only, the consolidated ones where there are.

    Raises
    ------
    DamagedFile
        The library cannot open it. Arrays that it cannot open are `unreadable` instead.
    InvalidArgument
        It is one array, of a codec or dtype that the library does not have.
    """
    import zarr

    try:
        root, members = _members(path)
        groups = {n: dict(found.attrs) for n, found in members if isinstance(found, zarr.Group)}
        attrs = dict(root.attrs) if isinstance(root, zarr.Group) else {}
        version = root.metadata.zarr_format
    except Exception as error:  # of the library, of JSON, of the system
        if (reason := _reason(path, error)).damaged:
            raise cannot_read(path, "metadata", error) from error
        raise _core.InvalidArgument(
            f"'{shown_text(path)}' cannot be opened: got {reason.why}; allowed: {reason.allowed}. "
            f"{reason.remedy}"
        ) from error
    arrays, datasets, unreadable = {}, [], {}
    for name, found in members:
        if isinstance(found, zarr.Group):
            continue
        try:
            if isinstance(found, Exception):
                raise found
            datasets.append(_described(name, found))
            arrays[name] = found
        except Exception as error:
            unreadable[name] = _reason(os.path.join(path, name), error)

    def read(name: str, start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
        folder = os.path.join(path, name) if isinstance(root, zarr.Group) else path
        box = tuple(slice(b, b + n) for b, n in zip(start, count, strict=True))
        try:
            found = read_chunks(folder, arrays[name], box)
        except DamagedChunkError as error:
            raise cannot_read(path, f"{error} of '{name}'", error.why) from error
        return found.view(np.uint8) if found.dtype.kind == "b" else found

    by_time = any(dataset.dims[:1] == (TIME,) for dataset in datasets)
    records = TIME if by_time else None
    contents = LibraryContents(
        path, f"Zarr (version {version})", attrs, groups, datasets, records, unreadable
    )
    return file_by_library(contents, read)


def _members(path: str) -> tuple[zarr.Group | zarr.Array, list[tuple[str, _Found]]]:
    """Return the root, and what is in it by name; an exception for what cannot be opened."""
    import zarr

    _check_version(path)
    try:
        root = zarr.open(path, mode="r")
        if not isinstance(root, zarr.Group):
            return root, [("data", root)]
        if root.metadata.consolidated_metadata is not None:
            return root, sorted(root.members(max_depth=None))
    except Exception:  # of one of the arrays, perhaps
        root = zarr.open(path, mode="r", use_consolidated=False)
    return root, list(_walk(path, ""))


def _walk(path: str, group: str) -> Iterator[tuple[str, _Found]]:
    """Give what is in a group and below it, one by one: one that fails does not hide others."""
    import zarr

    with os.scandir(os.path.join(path, group)) as entries:
        folders = sorted(entry.name for entry in entries if entry.is_dir())
    for folder in folders:
        name = f"{group}/{folder}" if group else folder
        whole = os.path.join(path, name)
        if not any(os.path.exists(os.path.join(whole, mark)) for mark in _MARKS):
            continue
        found: _Found
        try:
            found = zarr.open(whole, mode="r", use_consolidated=False)
        except Exception as error:
            found = error
        yield name, found
        if isinstance(found, zarr.Group):
            yield from _walk(path, name)


def _reason(folder: str, error: Exception) -> Unreadable:
    """Return why an array cannot be opened: damaged, unless its metadata are those of an array."""
    import zarr

    why = f"{type(error).__name__}: {shown_text(str(error))}"
    if isinstance(error, ValueError) and _is_whole(folder):
        return Unreadable(
            why,
            f"codecs and dtypes that zarr {zarr.__version__} knows, as it is installed here",
            "Install the package that has this one, or a newer zarr, or write the array with "
            "another",
            False,
        )
    return Unreadable(
        why, "metadata that the format's library reads", "Copy or write it again", True
    )


def _is_whole(folder: str) -> bool:
    """Return whether metadata are JSON and have all that those of an array must have."""
    for mark, needed in zip(("zarr.json", ".zarray"), _OF_ARRAYS, strict=True):
        try:
            with open(os.path.join(folder, mark), "rb") as file:
                said = json.load(file)
            return isinstance(said, dict) and needed <= said.keys()
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return False
    return False


def _check_version(path: str) -> None:
    """Raise ValueError unless the metadata of the root say a version; the library asks for none."""
    for mark in _MARKS:
        try:
            with open(os.path.join(path, mark), "rb") as file:
                said = json.load(file)
        except FileNotFoundError:
            continue
        if not isinstance(said, dict) or said.get("zarr_format") not in (2, 3):
            raise ValueError(f"{mark} without a zarr_format of 2 or 3")
        return


def _described(name: str, array: zarr.Array) -> LibraryDataset:
    attrs: dict[str, object] = dict(array.attrs)
    said = attrs.pop(_DIMS, None) or getattr(array.metadata, "dimension_names", None) or ()
    dims = cast("Sequence[object]", said)
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
        stored_together(array),
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
    said = attrs.get("_FillValue")
    given = said if isinstance(said, list) else [said]
    texts = [text for text in given if isinstance(text, str)]
    if dtype.kind in "fc" and len(texts) == len(given):
        try:
            numbers = [struct.unpack("<d", base64.standard_b64decode(text))[0] for text in texts]
            attrs["_FillValue"] = numbers[0] if dtype.kind == "f" else numbers
        except (ValueError, struct.error):
            del attrs["_FillValue"]


def _parts(value: complex) -> list[float]:
    return [value.real, value.imag]
