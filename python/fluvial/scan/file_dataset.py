# SPDX-License-Identifier: Apache-2.0
"""A dataset in files: selected by name and coordinate, computed on while it is read."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Self, Unpack, overload

import numpy as np
import xarray as xr

from .._core import InvalidArgument
from ..compute.arithmetic import (
    Arithmetic,
    LazyOperators,
    is_number,
    refuse_dataset,
    with_array,
    with_labelled,
)
from ..compute.reductions import Reductions
from ..compute.registry import Reduced
from ..compute.specs import Specs
from ..describe.records import unit_of
from ..describe.selection import Indexers, Method, Over, Selection, by_dimension, one_of, slab_of
from ..describe.storage_attributes import plain_attributes
from ..distribute.assignment import Strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece
from ..mpi.communicator import Communicator
from ..store.joined_files import JoinedFiles
from . import axis_weights, grouping, pending_scan, positions, predicates, request
from .array_mask import ArrayMask
from .axis_weights import Weights
from .comparisons import Comparisons, JointRequest, compare, narrowed
from .described_dataset import DescribedDataset
from .file_share import share_of_files
from .grouped_dataset import GroupedDataset
from .kept_attributes import with_attrs
from .options import ReductionOptions, ScanOptions
from .pending_scan import PendingScan
from .predicates import Condition, Predicate
from .view import Groups, View


class FileDataset(
    Reductions[xr.DataArray], LazyOperators["FileDataset", Comparisons], DescribedDataset
):
    """A dataset of a file, or one that is spread over several; lazy, immutable.

    What selects, masks and weights returns a new one; `reduce` reads and computes, `read` reads.

    Examples
    --------
    >>> t = fl.open("t.nc")["temperature"]                                # doctest: +SKIP
    >>> t.sel(lat=slice(-30, 30)).isel(level=0).reduce("mean", over=("lat", "lon"))
    ... # doctest: +SKIP
    """

    def __init__(
        self, files: JoinedFiles, name: str, view: View, comm: Communicator | None
    ) -> None:
        self._files = files
        self._name = name
        self._view = view
        self._comm = comm

    @property
    def si(self) -> FileDataset:
        """The same in SI units: times openPMD's attribute `unitSI`, where it has one."""
        return self * unit_of(self._files.attributes_of(self._name), self._name)

    def sel(
        self,
        indexers: Indexers | None = None,
        method: Method | None = None,
        tolerance: object = None,
        **labels: object,
    ) -> Self:
        """Select by coordinates, as xarray's `sel`: labels, slices of labels, ``"2000-01"``.

        Parameters
        ----------
        indexers, labels
            A label, a slice (both ends included) or a regular list for each dimension.
        method, tolerance
            For labels that are not there: "nearest" and others, as in xarray.

        Raises
        ------
        UnknownName, InvalidArgument
            An unknown dimension or label; an unknown method, or positions without a regular step.
        """
        view = self._view
        for key, label in by_dimension(indexers, labels).items():
            dim = view.check(key)
            variable = self._files.labels(self._name, dim)
            if variable is None:
                positions.refuse_text(label, dim, self._name, self._files.left_out)
                view = view.isel({dim: label})
            else:
                chosen = positions.by_label(view.at(dim), label, dim, variable, method, tolerance)
                view = view.replace(dim, chosen)
        return self._with(view)

    def isel(self, indexers: Indexers | None = None, **numbers: object) -> Self:
        """Select by position, as xarray's `isel`: ints, slices (also backwards), regular lists."""
        return self._with(self._view.isel(by_dimension(indexers, numbers)))

    def where(self, condition: Condition | Comparisons) -> Self:
        """Let only elements count for which a condition holds; further conditions must hold too.

        Parameters
        ----------
        condition
            Text like ``"temperature > 273.15"`` or ``"0 < u10 < 5 and v10 > 0"``, whose names are
            datasets of the file with this one's shape (``value`` is this one); or a function of
            NumPy arrays (of decoded values) that returns an array of bool. Several threads call it.
            Or comparisons of datasets of the file: ``(file["u10"] > 0) & (file["v10"] > 0)``.
            Or an array of bool: a NumPy array with the shape of this dataset, as it is selected, or
            a DataArray with some of its dimensions, in any order, and equal coordinates, which is
            spread over the others. It takes one bit an element. All ranks that reduce together give
            the same: with selections of their own (`shuffle`), that of the whole dataset, before
            they select.

        Raises
        ------
        InvalidArgument
            A condition that cannot be read; an array of another dtype than bool, another shape, or
            other dimensions or coordinates; comparisons of a dataset of another file or shape.
        """
        if isinstance(condition, Comparisons):
            return self._with(narrowed(self._view, self._files, self._name, condition))
        view = self._view
        if isinstance(condition, np.ndarray | np.bool_ | xr.DataArray):
            more: Sequence[Predicate] = [
                ArrayMask.of(condition, view.dims, view.axes, self._labels)
            ]
        else:
            more = predicates.parse(condition)
        return self._with(dataclasses.replace(view, where=(*view.where, *more)))

    def weighted(self, weights: Weights) -> Self:
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
        return self._grouped(groups)

    def resample(self, **period: str) -> GroupedDataset:
        """Group one axis of times by periods: ``resample(time="MS")`` for each month."""
        if len(period) != 1:
            raise InvalidArgument(
                f"resample takes one dimension: got {len(period)}; allowed: 1, as in time='MS'"
            )
        ((dim, words),) = period.items()
        groups = grouping.by_period(dim, words, self._view, self._labels)
        return self._grouped(groups)

    @overload
    def reduce(
        self,
        op: str,
        over: Over | None = None,
        selection: Selection = None,
        *,
        keep_attrs: bool | None = None,
        **options: Unpack[ReductionOptions],
    ) -> xr.DataArray: ...
    @overload
    def reduce(
        self,
        op: Specs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        keep_attrs: bool | None = None,
        **options: Unpack[ReductionOptions],
    ) -> Reduced: ...
    def reduce(
        self,
        op: Specs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Weights | None = None,
        where: Condition | None = None,
        axis: Over | None = None,
        dim: Over | None = None,
        keep_attrs: bool | None = None,
        **options: Unpack[ScanOptions],
    ) -> Reduced:
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
        axis, dim
            The same as `over`.
        selection
            What NumPy's basic indexing takes, as for a live stream's dataset.
        skipna
            None: what is missing in the file does not count, nor does NaN for operators that are
            given by name. False: what is missing, or masked, is NaN and makes the result NaN, as
            in xarray; "count" counts what is there all the same.
        min_count
            Fewer elements that count make the result NaN, as in xarray: 1 for a sum of nothing.
        weights, where
            As for `weighted` and `where`.
        keep_attrs
            True: the result has the dataset's attributes, as in xarray; False: none. None: those
            that hold for the result, and how it was made (CF's cell_methods).
        **options
            See `fluvial.scan.options.ScanOptions`.

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
        found = self.start(
            op,
            one_of(over, axis, dim),
            selection,
            skipna=skipna,
            min_count=min_count,
            weights=weights,
            where=where,
            **options,
        ).wait()
        return with_attrs(found, plain_attributes(self.attrs), keep_attrs)

    def start(
        self,
        op: Specs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Weights | None = None,
        where: Condition | None = None,
        axis: Over | None = None,
        dim: Over | None = None,
        **options: Unpack[ScanOptions],
    ) -> PendingScan:
        """Start a reduction and return at once; parameters as for `reduce`. Collective."""

        def prepare() -> request.Request:
            chosen = self._selected(selection, weights, where)
            names = [self._name]
            return request.describe(
                self._files,
                chosen._view,
                names,
                op,
                None,
                one_of(over, axis, dim),
                skipna,
                min_count,
                self._name.rpartition("/")[2],
            )

        return pending_scan.begin(prepare, {**self._taking_part(), **options})

    def slab(self, rank: int, size: int) -> tuple[slice, ...]:
        """Return the `rank`-th of `size` equal parts of the selection along its first axis.

        >>> mine = dataset[dataset.slab(comm.rank, comm.size)]            # doctest: +SKIP
        """
        return slab_of(self.shape, rank, size)

    def mine(
        self, strategy: Strategy = "hyperslabs", *, own: Mapping[str, Own] | None = None
    ) -> list[Piece]:
        """Return this rank's parts of the dataset, by a strategy. Collective: see `FileStep.mine`.

        >>> sum(dataset[piece.selection].sum() for piece in dataset.mine())  # doctest: +SKIP
        """
        return share_of_files({self._name: self}, None, self._comm, strategy, own)[self._name]

    def _taking_part(self) -> ScanOptions:
        """Return which ranks reduce, unless a call says so."""
        return {"comm": self._comm}

    def _grouped(self, groups: Groups) -> GroupedDataset:
        return GroupedDataset(self._with(dataclasses.replace(self._view, groups=groups)), groups)

    def _after(
        self, sign: str, number: object, before: bool = False
    ) -> Self | np.ndarray | xr.DataArray:
        """Return the dataset after an operation; with an array it is read."""
        if isinstance(number, np.ndarray | xr.DataArray):
            if number.ndim:
                return self._with_elements(sign, number, before)
            number = np.asarray(number)[()]
        if not is_number(number):
            refuse_dataset(sign, number)
            return NotImplemented
        return self._computed((self._view.arithmetic or Arithmetic()).then(sign, number, before))

    def _with_elements(
        self, sign: str, array: np.ndarray | xr.DataArray, before: bool
    ) -> np.ndarray | xr.DataArray:
        """Read the dataset, and compute with an array as NumPy does, or xarray."""
        if isinstance(array, xr.DataArray):
            return with_labelled(sign, self.read(), array, before)
        return with_array(sign, self.read().values, array, before)

    @property
    def variable(self) -> xr.Variable:
        """All elements; xarray asks for it where its arrays are computed with a dataset."""
        return self.read().variable

    def _absolute(self) -> Self:
        return self._computed((self._view.arithmetic or Arithmetic()).absolute())

    def _negative(self) -> Self:
        return self._computed((self._view.arithmetic or Arithmetic()).negative())

    def _decoded_as(self, decode: bool | str) -> Self:
        """Return the same, of values that are decoded in another way than the coordinates."""
        return self._with(dataclasses.replace(self._view, decode=decode))

    def _computed(self, arithmetic: Arithmetic) -> Self:
        return self._with(dataclasses.replace(self._view, arithmetic=arithmetic))

    def _comparison(self, sign: str, bound: object) -> Comparisons | np.ndarray | xr.DataArray:
        if isinstance(bound, np.ndarray | xr.DataArray):
            if bound.ndim:
                return self._with_elements(sign, bound, False)
            bound = np.asarray(bound)[()]
        if not is_number(bound):
            if sign not in ("==", "!="):  # which tell whether they are the same dataset
                refuse_dataset(sign, bound)
            return NotImplemented
        return compare(self, sign, float(bound))

    def _reduced_together(self, describe: JointRequest, options: ScanOptions) -> Reduced:
        """Reduce this and other datasets of its file, selected alike, by one operator. Collective.

        What is missing, or left out by a condition, is NaN; nothing is computed with elements but
        what the operator does.
        """
        return pending_scan.begin(
            lambda: self._described_together(describe), {**self._taking_part(), **options}
        ).wait()

    def _described_together(self, describe: JointRequest) -> request.Request:
        """Return the request of what `describe` gives."""
        names, op, over = describe()
        view = dataclasses.replace(self._view, arithmetic=None)
        name = self._name.rpartition("/")[2] if len(names) == 1 else None
        return request.describe(self._files, view, names, op, None, over, False, None, name)

    def _selected(
        self, selection: Selection, weights: Weights | None, where: Condition | None
    ) -> Self:
        chosen = self if selection is None else self._with(self._view.getitem(selection))
        chosen = chosen if weights is None else chosen.weighted(weights)
        return chosen if where is None else chosen.where(where)

    def _labels(self, name: str) -> xr.Variable | None:
        """Return any 1-D coordinate over one of the dimensions, all of it."""
        return self._files.labels(self._name, name)

    def _with(self, view: View) -> Self:
        return type(self)(self._files, self._name, view, self._comm)
