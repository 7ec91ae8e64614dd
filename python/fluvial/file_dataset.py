# SPDX-License-Identifier: Apache-2.0
"""A dataset in files: selected by name and coordinate, computed on while it is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np
import numpy.typing as npt
import xarray as xr

from . import axis_weights, grouping, positions, predicates, scan_work, scanning
from ._core import InvalidArgument, WrongType
from .arguments import as_array
from .attributes import Attributes
from .decoded import read_decoded
from .scanning import PendingScan, ScanOptions
from .storage_attributes import plain_attributes
from .view import View

if TYPE_CHECKING:
    from .files import File

Method = Literal["nearest", "pad", "ffill", "backfill", "bfill"]


class FileDataset:
    """A dataset of a file, or one that is spread over several; lazy, immutable.

    What selects, masks and weights returns a new one; `reduce` reads and computes, `read` reads.

    Examples
    --------
    >>> t = fl.open("t.nc")["temperature"]                                # doctest: +SKIP
    >>> t.sel(lat=slice(-30, 30)).isel(level=0).reduce("mean", over=("lat", "lon"))
    ... # doctest: +SKIP
    """

    def __init__(self, file: File, name: str, view: View) -> None:
        self._file = file
        self._name = name
        self._view = view

    @property
    def name(self) -> str:
        """Path in the file: "temperature", "data/0/meshes/E/x"."""
        return self._name

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions that are left."""
        return self._view.kept

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the selection."""
        return tuple(positions.length(self._view.at(dim)) for dim in self.dims)

    @property
    def ndim(self) -> int:
        """Number of dimensions that are left."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """Number of selected elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values as operators see them: packed or possibly missing integers are float64."""
        stored = self._file.parts_of(self._name)[0].dtype
        decoding = self._file.decoding(self._name, self._view.decode)
        if decoding.drops_values or self._view.where:
            scan_work.promote(decoding, stored)
        return np.dtype(decoding.decoded(stored))

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes as they are in the file."""
        return Attributes(self._file.attributes_of(self._name))

    @property
    def coords(self) -> dict[str, xr.DataArray]:
        """Coordinates of the selection; read when asked for, times decoded."""
        return {
            k: xr.DataArray(v, name=k)
            for k, v in self._file.coords_of(self._name, self._view).items()
        }

    @property
    def layout(self) -> dict[str, Any]:
        """Where the (first) file's bytes lie: 'kind', strides or chunk and filters, byte order."""
        return self._file.parts_of(self._name)[0].layout

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Extents of the chunks in the file; None when it has none."""
        layout = self.layout
        return layout.get("chunk") or layout.get("granule") or None

    def sel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: Method | None = None,
        tolerance: Any = None,
        **labels: Any,
    ) -> FileDataset:
        """Select by coordinates, as xarray's `sel`: labels, slices of labels, ``"2000-01"``.

        Parameters
        ----------
        indexers, labels
            A label, a slice (both ends included) or a regular list for each dimension.
        method, tolerance
            For labels that are not there: "nearest" and others, as in xarray.

        Raises
        ------
        InvalidArgument
            An unknown dimension or label, or positions without a regular step.
        """
        view = self._view
        for key, label in {**(indexers or {}), **labels}.items():
            dim = view.check(key)
            variable = self._file.labels(self._name, dim)
            if variable is None:
                view = view.isel({dim: label})
            else:
                chosen = positions.by_label(view.at(dim), label, dim, variable, method, tolerance)
                view = view.replace(dim, chosen)
        return self._with(view)

    def isel(self, indexers: Mapping[Any, Any] | None = None, **numbers: Any) -> FileDataset:
        """Select by position, as xarray's `isel`: ints, slices (also backwards), regular lists."""
        return self._with(self._view.isel({**(indexers or {}), **numbers}))

    def where(self, condition: Any) -> FileDataset:
        """Let only elements count for which a condition holds; further conditions must hold too.

        Parameters
        ----------
        condition
            Text like ``"temperature > 273.15"`` or ``"0 < u10 < 5 and v10 > 0"``, whose names are
            datasets of the file with this one's shape (``value`` is this one); or a function of
            NumPy arrays (of decoded values) that returns an array of bool. Several threads call it.
        """
        found = (*self._view.where, *predicates.parse(condition))
        return self._with(dataclasses.replace(self._view, where=found))

    def weighted(self, weights: Any) -> FileDataset:
        """Give elements weights along axes; those of several axes multiply.

        Parameters
        ----------
        weights
            ``"cos(lat)"``, the name of a 1-D variable, a dict of dimensions to arrays, or a
            DataArray of one dimension.
        """
        found = axis_weights.to_factors(weights, self._view, self._labels)
        both = {d: w * self._view.weights.get(d, 1.0) for d, w in found.items()}
        return self._with(dataclasses.replace(self._view, weights={**self._view.weights, **both}))

    def groupby(self, key: str) -> GroupedDataset:
        """Group one axis by a coordinate ("lat") or a component of a time ("time.month")."""
        groups = grouping.by_coordinate(key, self._view, self._labels)
        return GroupedDataset(self._with(dataclasses.replace(self._view, groups=groups)))

    def resample(self, **period: str) -> GroupedDataset:
        """Group one axis of times by periods: ``resample(time="MS")`` for each month."""
        if len(period) != 1:
            raise InvalidArgument(
                f"resample takes one dimension: got {len(period)}; allowed: 1, as in time='MS'"
            )
        ((dim, words),) = period.items()
        groups = grouping.by_period(dim, words, self._view, self._labels)
        return GroupedDataset(self._with(dataclasses.replace(self._view, groups=groups)))

    def reduce(
        self,
        op: Any,
        over: Any = None,
        selection: Any = None,
        *,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Any = None,
        where: Any = None,
        **options: Unpack[ScanOptions],
    ) -> Any:
        """Reduce while reading; the result is on all ranks.

        Collective over `comm`, which is MPI.COMM_WORLD in a program of several ranks unless given;
        `local=True` makes it local. Every byte is read once in the job. Memory: some MiB a thread,
        and the results.

        Parameters
        ----------
        op
            A name ("mean"), an operator of `fluvial.ops`, or a list or dict of them: one pass over
            the data.
        over
            Dimension or dimensions to reduce, by name or number; None: all. The others are kept.
        selection
            What NumPy's basic indexing takes, as for a live stream's dataset.
        skipna
            What is missing in the file never counts. None: operators given by name also pass over
            NaN. False: what is missing, or masked, makes the result NaN, as in xarray.
        min_count
            Fewer elements that count make the result NaN, as in xarray: 1 for a sum of nothing.
        weights, where
            As for `weighted` and `where`.
        **options
            See `fluvial.scanning.ScanOptions`.

        Returns
        -------
        An xarray.DataArray with the coordinates and attributes that are left, or a Dataset for
        several operators. Extrema from argmin and argmax have their labels as coordinates, and
        positions in the file as ``lat_index`` …. Operators with a result of their own kind, like
        `StructureFactor`, give that.

        Raises
        ------
        InvalidArgument
            An argument is wrong, on any rank.
        DamagedFile, SystemError
            The file could not be read, on any rank; on all.
        """
        return self.start(
            op,
            over,
            selection,
            skipna=skipna,
            min_count=min_count,
            weights=weights,
            where=where,
            **options,
        ).wait()

    def start(
        self,
        op: Any,
        over: Any = None,
        selection: Any = None,
        *,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Any = None,
        where: Any = None,
        **options: Unpack[ScanOptions],
    ) -> PendingScan:
        """Start a reduction and return at once; parameters as for `reduce`. Collective."""

        def prepare() -> scan_work.Work:
            chosen = self._selected(selection, weights, where)
            names = [self._name]
            return scan_work.describe(
                self._file,
                chosen._view,
                names,
                op,
                None,
                over,
                skipna,
                min_count,
                self._name.rpartition("/")[2],
            )

        return scanning.begin(prepare, {"comm": self._file.comm, **options})

    def read(self, selection: Any = None) -> xr.DataArray:
        """Read the selection into memory, decoded; what is missing or masked is NaN. Local."""
        view = self._view if selection is None else self._view.getitem(selection)
        coords = self._file.coords_of(self._name, view)
        return xr.DataArray(
            read_decoded(self._file, self._name, view),
            dims=view.kept,
            coords={k: v for k, v in coords.items() if set(v.dims) <= set(view.kept)},
            name=self._name.rpartition("/")[2],
            attrs=plain_attributes(self.attrs) if view.decode else self.attrs,
        )

    def load(self) -> xr.DataArray:
        """Read the selection into memory, as `read`."""
        return self.read()

    def __getitem__(self, selection: Any) -> xr.DataArray:
        if selection is None:
            self._view.getitem(selection)  # refuses a new axis
        return self.read(selection)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return as_array(self.read().values, dtype, copy)

    def __len__(self) -> int:
        if not self.shape:
            raise WrongType("a dataset without dimensions has no length: got shape (); read it")
        return self.shape[0]

    def __iter__(self) -> Iterator[xr.DataArray]:
        """Iterate over the first axis, as over a NumPy array; each turn reads one entry."""
        return map(self.__getitem__, range(len(self)))

    def __repr__(self) -> str:
        sizes = ", ".join(f"{d}: {n}" for d, n in zip(self.dims, self.shape, strict=True))
        return f"<fluvial.FileDataset '{self._name}' {self.dtype} ({sizes}) of {self._file.path!r}>"

    def _selected(self, selection: Any, weights: Any, where: Any) -> FileDataset:
        chosen = self if selection is None else self._with(self._view.getitem(selection))
        chosen = chosen if weights is None else chosen.weighted(weights)
        return chosen if where is None else chosen.where(where)

    def _labels(self, name: str) -> xr.Variable | None:
        """Return any 1-D coordinate over one of the dimensions, all of it."""
        return self._file.labels(self._name, name)

    def _with(self, view: View) -> FileDataset:
        return FileDataset(self._file, self._name, view)


class GroupedDataset:
    """A dataset whose axis is in groups, each of which has a result of its own."""

    def __init__(self, dataset: FileDataset) -> None:
        self._dataset = dataset

    @property
    def groups(self) -> dict[Hashable, int]:
        """Number of selected positions in each group, by label."""
        found = self._dataset._view.groups
        if found is None:
            raise AssertionError("bug in Fluvial: groups without groups")
        sizes = np.bincount(found.group[found.group >= 0], minlength=found.labels.size)
        return dict(zip(found.labels.values.tolist(), sizes.tolist(), strict=True))

    def reduce(self, op: Any, over: Any = None, **options: Any) -> Any:
        """Reduce each group; `over` has the grouped dimension, and is that alone unless given.

        Everything else as `FileDataset.reduce`; results have a dimension of the groups ("month").
        """
        return self.start(op, over, **options).wait()

    def start(self, op: Any, over: Any = None, **options: Any) -> PendingScan:
        """Start a reduction of each group, as `FileDataset.start`."""
        groups = self._dataset._view.groups
        over = groups.dim if over is None and groups is not None else over
        return self._dataset.start(op, over, **options)

    def __repr__(self) -> str:
        return f"<fluvial.GroupedDataset of {len(self.groups)} groups, {self._dataset!r}>"
