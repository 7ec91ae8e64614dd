# SPDX-License-Identifier: Apache-2.0
"""The engine "fluvial" of ``xarray.open_dataset``: xarray reads by Fluvial."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable

import numpy as np
import xarray as xr
from xarray.backends import (
    AbstractDataStore,
    BackendArray,
    BackendEntrypoint,
    StoreBackendEntrypoint,
)
from xarray.core import indexing

from .._core import UnknownName
from ..base.arguments import to_path
from ..base.messages import did_you_mean, listed, shown
from ..scan.decoded import read_stored
from ..scan.view import View
from ..store.joined_files import JoinedFiles, open_joined


class FluvialBackendEntrypoint(BackendEntrypoint):
    """What xarray finds as the engine "fluvial"; it opens what `fluvial.open` opens but raw files.

    Values are read when they are needed, and decoded by xarray. Datasets of groups are opened with
    ``group=``. Damaged ones, and those of a dtype that Fluvial does not have, are left out with a
    warning.
    """

    description = "Reads netCDF and HDF5 files, and reduces them while reading (ds.fluvial)"
    open_dataset_parameters = (
        *("filename_or_obj", "mask_and_scale", "decode_times", "concat_characters"),
        *("decode_coords", "drop_variables", "use_cftime", "decode_timedelta", "group"),
    )

    def open_dataset(  # type: ignore[override]
        self,
        filename_or_obj: str | os.PathLike[str],
        *,
        mask_and_scale: bool = True,
        decode_times: bool = True,
        concat_characters: bool = True,
        decode_coords: bool = True,
        drop_variables: str | Iterable[str] | None = None,
        use_cftime: bool | None = None,
        decode_timedelta: bool | None = None,
        group: str | None = None,
    ) -> xr.Dataset:
        """Open one file; see `xarray.open_dataset`. Local."""
        path = to_path(filename_or_obj, "the path of a file")
        files = open_joined([path], False)
        wanted = (group or "").strip("/")
        try:
            _check_group(files, wanted)
        except UnknownName:
            files.close()
            raise
        store = FluvialStore(files, wanted)
        return StoreBackendEntrypoint().open_dataset(
            store,
            mask_and_scale=mask_and_scale,
            decode_times=decode_times,
            concat_characters=concat_characters,
            decode_coords=decode_coords,
            drop_variables=drop_variables,
            use_cftime=use_cftime,
            decode_timedelta=decode_timedelta,
        )


def _check_group(files: JoinedFiles, group: str) -> None:
    """Refuse a group that has no dataset, neither itself nor in groups of it."""
    if not group or any(name.startswith(f"{group}/") for name in files.names):
        return
    parents = [name.split("/")[:-1] for name in files.names]
    groups = sorted({"/".join(of[:n]) for of in parents for n in range(1, len(of) + 1)})
    raise UnknownName(
        f"no such group in '{files.path}': got {shown(group)}; allowed: "
        f"{listed(groups) if groups else 'none, it has no groups'}{did_you_mean(group, groups)}"
    )


class FluvialStore(AbstractDataStore):
    """The datasets of one group of a file as variables of xarray."""

    def __init__(self, files: JoinedFiles, group: str) -> None:
        self._files = files
        self._group = group
        self._lengths: dict[str, int] = {}

    def get_variables(self) -> dict[str, xr.Variable]:
        """Return the variables, whose elements are not read yet."""
        broken = self._files.unreadable
        found = {}
        for name in self._files.names:
            group, _, short = name.rpartition("/")
            if group != self._group:
                continue
            if name in broken:
                warnings.warn(f"'{name}' is left out: {broken[name]}", UserWarning, stacklevel=2)
                continue
            found[short] = self._variable(name)
        return found

    def get_attrs(self) -> dict[str, object]:
        """Return the attributes of the group, or of the file."""
        if self._group:
            return dict(self._files.groups.get(self._group, {}))
        return dict(self._files.attrs)

    def get_dimensions(self) -> dict[str, int]:
        """Return the lengths of the dimensions."""
        return self._files.dims

    def close(self) -> None:
        """Close the file."""
        self._files.close()

    def _variable(self, name: str) -> xr.Variable:
        array = StoredArray(self._files, name)
        dims = [
            self._dim(name, dim, n) for dim, n in zip(array.view.dims, array.shape, strict=True)
        ]
        encoding: dict[str, object] = {"source": self._files.path, "original_shape": array.shape}
        chunk = self._files.parts_of(name)[0].layout.get("chunk")
        if chunk:
            encoding["chunksizes"] = tuple(chunk)
            encoding["preferred_chunks"] = dict(zip(dims, chunk, strict=True))
        lazy = indexing.LazilyIndexedArray(array)
        return xr.Variable(dims, lazy, self._files.attributes_of(name), encoding)

    def _dim(self, name: str, dim: str, length: int) -> str:
        """Return the name of a dimension; nameless ones of other lengths get names of their own."""
        known = self._lengths.setdefault(dim, length)
        return dim if known == length else f"{name.rpartition('/')[2]}_{dim}"


class StoredArray(BackendArray):
    """One dataset as xarray indexes it; it can be pickled, as its file can."""

    def __init__(self, files: JoinedFiles, name: str) -> None:
        self._files = files
        self.variable_name = name
        self.view = View.whole(files.dims_of(name), files.shape_of(name), False)
        self.shape = files.shape_of(name)
        self.dtype = np.dtype(files.parts_of(name)[0].dtype)

    @property
    def path(self) -> str:
        """Of the file."""
        return self._files.path

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(
            key, self.shape, indexing.IndexingSupport.BASIC, self._read
        )

    def _read(self, key: tuple[int | slice, ...]) -> np.ndarray:
        chosen = self.view.isel(dict(zip(self.view.dims, key, strict=True)))
        return read_stored(self._files, self.variable_name, chosen)
