# SPDX-License-Identifier: Apache-2.0
"""Files of one kind, joined along their first axis: what is in them before a selection."""

from __future__ import annotations

import contextlib
import functools
import os
import warnings
import weakref
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import unknown_name
from ..base.messages import listed
from ..base.weak_methods import weakly
from ..describe.attributes import Attributes
from ..describe.axis_labels import axis_labels
from ..describe.engines import kind_of_folder, refuse_what_is_no_file
from . import bp_file, grid_coordinates
from .bp_file import open_bp
from .coordinates import CoordinateVariables, are_times, not_in_order, typed
from .joined_dimension import joined_dimension, path_of
from .stored_alike import (
    check_same_axes,
    check_stored_alike,
    check_that_only_the_last_grows,
)
from .zarr_file import open_zarr

UNNAMED = ""  # as the name of a dimension: unlimited first axes that have none


def open_joined(
    paths: Sequence[str],
    decode: bool | str,
    layouts: list[tuple[object, ...]] | None = None,
    unnamed_records: bool = False,
) -> JoinedFiles:
    """Open files as one, by their first bytes, or raw ones of these layouts.

    With `unnamed_records`, where no dimension is that of time, an unlimited first axis without a
    name is: HDF5 of programs that name no axes.
    """
    opened = [_open(path) if layouts is None else _core.open_raw(path, layouts) for path in paths]
    return JoinedFiles(opened, decode, layouts, unnamed_records)


def _open(path: str) -> _core.File:
    if not os.path.isdir(path):
        return _core.open_file(path)
    refuse_what_is_no_file(path)
    return open_bp(path) if kind_of_folder(path) == "bp" else open_zarr(path)


class JoinedFiles:
    """One file or several as one; knows where each dataset lies and what its attributes mean.

    The joined dimension is the unlimited one, or where there is none the first of the dataset with
    the most dimensions. Datasets that do not begin with it come from the first file.
    """

    def __init__(
        self,
        parts: Sequence[_core.File],
        decode: bool | str,
        layouts: list[tuple[object, ...]] | None = None,
        unnamed_records: bool = False,
    ) -> None:
        self.decode = decode
        self._layouts = layouts
        self.unnamed_records = unnamed_records
        """Whether unlimited first axes without a name are that of the records."""
        self._parts = list(parts)
        check_that_only_the_last_grows(self._parts)
        self.names = self._parts[0].names
        """Of the datasets, those among them that cannot be opened."""
        self._datasets: dict[str, list[_core.FileDataset]] = {}
        self._warned: set[str] = set()
        self._order_is_known = False
        self._iterations: weakref.WeakSet[JoinedFiles] = weakref.WeakSet()
        # Weakly, so that files are closed when they are not used any more, and not some time later.
        self._variables = CoordinateVariables(
            weakly(self._first),
            weakly(self.parts_of),
            weakly(self._everywhere),
            weakly(self._of_group),
            self.names,
            bool(decode),
        )

    @property
    def first(self) -> _core.File:
        """The (first) file."""
        return self.opened()[0]

    @property
    def path(self) -> str:
        """Of the (first) file."""
        return self.opened()[0].path

    @property
    def paths(self) -> list[str]:
        """Of all files."""
        return [part.path for part in self._parts]

    @property
    def format(self) -> str:
        """Of the (first) file, e.g. "netCDF classic (CDF-5)", "netCDF-4"."""
        return self.opened()[0].format

    @property
    def unreadable(self) -> dict[str, str]:
        """Why datasets cannot be opened, by name: what is damaged. Using them raises this, too."""
        return {
            name: why for part in reversed(self.opened()) for name, why in part.unreadable.items()
        }

    @property
    def left_out(self) -> dict[str, str]:
        """Why what else is stored in the (first) file is no dataset, by name."""
        return dict(self.opened()[0].left_out)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the (first) file."""
        return Attributes(self.opened()[0].attributes)

    @property
    def groups(self) -> dict[str, Attributes]:
        """Attributes of groups of the (first) file by their paths, of those that have some."""
        first = self.opened()[0]
        found = {path: Attributes(first.group_attributes(path)) for path in first.groups}
        return {path: attrs for path, attrs in found.items() if attrs}

    @property
    def dims(self) -> dict[str, int]:
        """Lengths of the dimensions; of the joined one, over all files."""
        joined = self.joined_dimension
        return {
            name: sum(self._length(p, name) for p in self.opened()) if name == joined else length
            for name, length, _ in self.opened()[0].dimensions
        }

    @property
    def dimensions(self) -> list[tuple[str, int, bool]]:
        """Name, length, and whether it is unlimited, of the dimensions of the (first) file."""
        return self.opened()[0].dimensions

    @property
    def grows(self) -> bool:
        """Whether it was being written when it was opened, in a way that lets others read."""
        return any(part.grows for part in self.opened())

    @property
    def is_openpmd(self) -> bool:
        """Whether the (first) file is one of openPMD."""
        return self.opened()[0].is_openpmd

    @property
    def has_iterations(self) -> bool:
        """Whether its steps stand by themselves: the iterations of openPMD, the steps of BP."""
        return self.is_openpmd or self.format == bp_file.FORMAT

    def iterations(self) -> list[tuple[int, JoinedFiles]]:
        """Return number and contents of each such step, in ascending order. Local."""
        first = self.opened()[0]
        of_bp = self.format == bp_file.FORMAT
        of_file = bp_file.steps_of_bp if of_bp else _core.iterations_of
        found: list[tuple[int, JoinedFiles]] = [
            (index, _Iteration(index, contents, self)) for index, contents in of_file(first)
        ]
        self._iterations.update(files for _, files in found)
        return found

    def joined_with(self, behind: JoinedFiles) -> JoinedFiles:
        """Return these files and those behind them as one; both remain usable as they are."""
        parts = [*self.opened(), *behind.opened()]
        return JoinedFiles(parts, self.decode, self._layouts, self.unnamed_records)

    def axis_of(self, name: str, dimension: str) -> int | None:
        """Return the axis of a dataset along a dimension of the file; None where it has none.

        Datasets name dimensions as their group does: the nearest one outwards is meant. UNNAMED is
        an unlimited first axis without a name.
        """
        if dimension == UNNAMED:
            first = self.parts_of(name)[0]
            return 0 if first.unlimited[:1] == [True] and not self.dims_of(name)[0] else None
        for axis, short in enumerate(self.dims_of(name)):
            if dimension in (short, self._path_of(name, short)):
                return axis
        return None

    def find(self, name: str, dataset: str) -> str:
        """Return the dataset that a condition on `dataset` calls `name`; "value" is itself."""
        group = dataset.rpartition("/")[0]
        for path in (name, f"{group}/{name}"):
            if path in self.names:
                return path
        if name in ("value", dataset.rpartition("/")[2]):
            return dataset
        raise unknown_name("no such dataset in the condition", name, ["value", *self.names])

    def parts_of(self, name: str) -> list[_core.FileDataset]:
        """Return the dataset of the first file, or of each file where they are joined. Local."""
        known = self._datasets  # another thread may close the file meanwhile
        if name not in known:
            parts = self.opened()
            dims = parts[0].dataset(name).dimensions
            along = self.joined_dimension
            own = [self._path_of(name, dim) for dim in dims] if len(parts) > 1 else []
            joined = bool(own) and own[0] == along
            if not joined and along and along in own:
                raise InvalidArgument(
                    f"'{name}' cannot be joined: got dimensions {listed(dims)}; allowed: "
                    f"'{along}', along which the files are joined, as the first. Open the files "
                    "one by one"
                )
            found = [part.dataset(name) for part in (parts if joined else parts[:1])]
            check_same_axes(name, found)
            known[name] = found
        return known[name]

    def dims_of(self, name: str) -> list[str]:
        """Return the dimensions of a dataset: the file's names, or openPMD's axisLabels."""
        first = self.parts_of(name)[0]
        if any(first.dimensions):
            return first.dimensions
        labels = axis_labels(len(first.shape), first.attributes, self.opened()[0].attributes)
        return first.dimensions if labels is None else list(labels)

    def shape_of(self, name: str) -> tuple[int, ...]:
        """Return the shape of a dataset over all files."""
        parts = self.parts_of(name)
        shape = parts[0].shape
        return (sum(part.shape[0] for part in parts), *shape[1:]) if len(parts) > 1 else shape

    def attributes_of(self, name: str) -> dict[str, object]:
        """Return the attributes of a dataset in the first file."""
        first = self.parts_of(name)[0]
        return typed(first.attributes, np.dtype(first.dtype))

    def labels(self, dataset: str, name: str) -> xr.Variable | None:
        """Return a coordinate of a dataset, along a whole axis; None when there is none."""
        found = self._along(dataset, name)
        return found if found is not None else self._variables.named(dataset, name)

    def coordinates(
        self, dataset: str, dims: Sequence[str], unseen: Sequence[str] = ()
    ) -> dict[str, xr.Variable]:
        """Return the coordinates of a dataset along whole axes, and scalar ones.

        Those along the dimensions `unseen` are neither read nor returned.
        """
        found = self._variables.auxiliary(dataset, self.attributes_of(dataset), unseen)
        for dim in (d for d in dims if d not in unseen):
            if (variable := self._along(dataset, dim)) is not None:
                found[dim] = variable
        return found

    def decoded_dtype(self, name: str, decode: bool | str) -> np.dtype:
        """Return what the elements are when they are decoded."""
        return np.dtype(self.decoding(name, decode).decoded(self.parts_of(name)[0].dtype))

    def decoding(self, name: str, decode: bool | str) -> _core.Decoding:
        """Return a new decoding of a dataset, as its attributes say; warns once of useless ones."""
        if not decode:
            return _core.Decoding()
        parts = self.parts_of(name)
        if len(parts) > 1:
            self._warn_of_order(name)
        decoding, found = _core.cf_decoding(parts[0])
        if name not in self._warned:
            check_stored_alike(name, parts)  # anew until they are
            self._warned.add(name)
            for text in found:
                warnings.warn(text, UserWarning, stacklevel=5)
        if decode == "xarray":
            decoding.forget_valid_range()
        return decoding

    def _warn_of_order(self, name: str) -> None:
        """Warn, once, of a file that does not begin behind the one before it.

        What a run has written anew after a restart is there twice, and counts twice.
        """
        along = self.joined_dimension
        if along is None or self._order_is_known:
            return
        self._order_is_known = True
        # What is damaged is said where it is wanted, and so is what counts in other calendars.
        with contextlib.suppress(_core.Error):
            labels = self._variables.of_dim(name, along.rpartition("/")[2])
            lengths = [part.shape[0] for part in self.parts_of(name)]
            if labels is not None and labels.size == sum(lengths) and are_times(labels):
                found = not_in_order(labels.values, lengths)
                if found is not None:
                    before, after, end, begin = found
                    warnings.warn(
                        f"the files are not in order along '{along}': got {begin} as the first of "
                        f"{self.paths[after]!r}, and {end} as the last of {self.paths[before]!r} "
                        "before it. What both have counts twice; name files in their order, and "
                        "leave out by isel what a restarted run has written again",
                        UserWarning,
                        stacklevel=5,
                    )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the paths: the process that unpickles this opens the files."""
        paths = [os.path.abspath(part.path) for part in self.opened()]
        return open_joined, (paths, self.decode, self._layouts, self.unnamed_records)

    def close(self) -> None:
        """Close the files; what other threads have begun ends, or raises. Idempotent."""
        self._parts = []
        self._datasets = {}
        for files in list(self._iterations):
            files.close()

    @property
    def closed(self) -> bool:
        """Whether they are."""
        return not self._parts

    def opened(self) -> list[_core.File]:
        """Return the files; raises InvalidArgument when they are closed."""
        if parts := self._parts:
            return parts
        raise InvalidArgument("the file is closed; use it inside its `with` block")

    def _along(self, dataset: str, dim: str) -> xr.Variable | None:
        """Return the coordinate along a dimension: a variable, or of a regular grid of openPMD."""
        found = self._variables.of_dim(dataset, dim)
        dims, parts = self.dims_of(dataset), self.parts_of(dataset)
        if dim not in dims:
            return found
        axis = dims.index(dim)
        if found is not None and found.size == self.shape_of(dataset)[axis]:
            return found
        if len(parts) > 1:
            return None
        of_group = self._of_group(dataset.rpartition("/")[0])
        attributes = parts[0].attributes, of_group, self.opened()[0].attributes
        return grid_coordinates.along(axis, tuple(dims), parts[0].shape, *attributes)

    def _first(self, name: str) -> _core.FileDataset:
        return self.opened()[0].dataset(name)

    def _everywhere(self, name: str) -> list[_core.FileDataset]:
        return [part.dataset(name) for part in self.opened()]

    def _of_group(self, group: str) -> Mapping[str, object]:
        first = self.opened()[0]
        return first.group_attributes(group) if group in first.groups else {}

    @functools.cached_property
    def joined_dimension(self) -> str | None:
        """The dimension along which several files are one."""
        first, *others = self.opened()
        return joined_dimension(first) if others else None

    def _path_of(self, dataset: str, dim: str) -> str:
        return path_of(self.opened()[0], dataset, dim)

    def _length(self, part: _core.File, dim: str) -> int:
        lengths = {name: length for name, length, _ in part.dimensions}
        if dim not in lengths:
            raise InvalidArgument(
                f"'{part.path}' has not the dimension along which files are joined: got "
                f"{listed(lengths)}; allowed: '{dim}', as in '{self.path}'. Open files that have "
                "the same dimensions together"
            )
        return lengths[dim]


class _Iteration(JoinedFiles):
    """An iteration of a file of openPMD; closed when that file is."""

    def __init__(self, number: int, contents: _core.File, whole: JoinedFiles) -> None:
        super().__init__([contents], whole.decode)
        self._number = number
        self._whole = whole

    def __reduce__(self) -> tuple[object, ...]:
        return _open_iteration, (self._whole, self._number)

    def opened(self) -> list[_core.File]:
        self._whole.opened()
        return super().opened()


def _open_iteration(files: JoinedFiles, number: int) -> JoinedFiles:
    return dict(files.iterations())[number]
