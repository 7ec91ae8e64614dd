# SPDX-License-Identifier: Apache-2.0
"""Series that a Python library reads, as files of the core: Zarr and BP, which are folders.

Scans, selections and conventions are then those of any file. The core asks for one chunk after the
other; only the library knows where it lies and how it is encoded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from .. import _core
from .._core import DamagedFile
from ..base.messages import shown_text
from ..describe.attributes import plain

DTYPES = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
}
"""NumPy's names of those that the core has."""

Read = Callable[[str, tuple[int, ...], tuple[int, ...]], np.ndarray]


class LibraryDataset(NamedTuple):
    """What a library says of an array."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    dims: tuple[str, ...]
    """Of each axis; "" where it has no name."""
    attrs: Mapping[str, object]
    granule: tuple[int, ...]
    """Extents that are best read together: those of a chunk; () for none."""


class Unreadable(NamedTuple):
    """Why a library cannot open an array."""

    why: str
    allowed: str
    remedy: str
    damaged: bool
    """Else the library lacks something."""


class LibraryContents(NamedTuple):
    """What a library says of a file."""

    path: str
    format: str
    attrs: Mapping[str, object]
    groups: Mapping[str, Mapping[str, object]]
    """Attributes by path."""
    datasets: Sequence[LibraryDataset]
    records: str | None
    """The dimension that has a record for each step."""
    unreadable: Mapping[str, Unreadable] = MappingProxyType({})
    """Arrays that the library cannot open, by name."""
    left_out: Mapping[str, str] = MappingProxyType({})
    """Why what else is there is no dataset, by name; of `datasets` the dtype says it."""


def file_by_library(contents: LibraryContents, read: Read) -> _core.File:
    """Return a file of the core. `read` gives a part of a dataset by name, start and count.

    What `read` raises, but for errors of Fluvial, is a DamagedFile that names the file.
    """
    known = [dataset for dataset in contents.datasets if dataset.dtype in DTYPES]

    def checked(name: str, start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
        try:
            found = np.asarray(read(name, start, count))
        except _core.Error:
            raise
        except Exception as error:
            raise cannot_read(contents.path, f"'{name}'", error) from error
        return found.astype(found.dtype.newbyteorder("="), order="C", copy=False)

    return _core.file_by_library(
        contents.path,
        contents.format,
        simple(contents.attrs),
        _dimensions(known, contents.records),
        {path: simple(attrs) for path, attrs in contents.groups.items()},
        [(d.name, d.dtype, d.shape, [*d.dims], simple(d.attrs), d.granule) for d in known],
        checked,
        [(name, *unreadable) for name, unreadable in contents.unreadable.items()],
        {
            **contents.left_out,
            **{d.name: f"dtype {d.dtype}" for d in contents.datasets if d not in known},
        },
    )


def cannot_read(path: str, what: str, error: Exception) -> DamagedFile:
    """Return the error for what a library cannot read."""
    return DamagedFile(
        f"{what} of '{shown_text(path)}' cannot be read: got "
        f"{type(error).__name__}: {shown_text(str(error))}; allowed: what its library reads. Copy "
        "or write it again"
    )


def simple(attrs: Mapping[str, object]) -> dict[str, object]:
    """Return attributes as the core has them; what it has not becomes text of JSON.

    >>> simple({"a": [1, 2], "b": {"c": None}})
    {'a': [1, 2], 'b': '{"c": null}'}
    """
    found: dict[str, object] = {}
    for name, value in attrs.items():
        try:
            found.update(plain({name: value}))
        except _core.Error:
            found[str(name)] = json.dumps(value, default=str)
    return found


def _dimensions(
    datasets: Iterable[LibraryDataset], records: str | None
) -> list[tuple[str, int, bool]]:
    """Return name, length and whether it is that of records of each dimension.

    One that has another length in a group is that group's own.
    """
    found: dict[str, int] = {}
    for dataset in datasets:
        group = dataset.name.rpartition("/")[0]
        for dim, length in zip(dataset.dims, dataset.shape, strict=True):
            if dim and found.setdefault(dim, length) != length:
                found[f"{group}/{dim}" if group else dim] = length
    return [(dim, length, dim == records) for dim, length in found.items()]
