# SPDX-License-Identifier: Apache-2.0
"""Reductions of several datasets of files in one pass."""

from __future__ import annotations

from typing import Unpack, overload

import xarray as xr

from ..compute.registry import Reduced
from ..compute.specs import Inputs, Specs
from ..describe.selection import Indexers, Over, Selection, one_of, to_indexers
from ..mpi.communicator import Communicator
from ..store.joined_files import JoinedFiles
from . import pending_scan, request
from .axis_weights import Weights
from .datasets_of import datasets_of
from .file_dataset import FileDataset
from .options import ReductionOptions, ScanOptions
from .pending_scan import PendingScan
from .predicates import Condition


class JointReductions:
    """What a file and a step of files do with several of their datasets at once."""

    comm: Communicator | None
    """Over which reductions run unless they say otherwise."""
    _files: JoinedFiles

    def __getitem__(self, name: str) -> FileDataset:
        raise NotImplementedError

    @overload
    def reduce(
        self,
        op: str,
        inputs: Inputs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        sel: Indexers | None = None,
        isel: Indexers | None = None,
        **options: Unpack[ReductionOptions],
    ) -> xr.DataArray: ...
    @overload
    def reduce(
        self,
        op: Specs,
        inputs: Inputs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        sel: Indexers | None = None,
        isel: Indexers | None = None,
        **options: Unpack[ReductionOptions],
    ) -> Reduced: ...
    def reduce(
        self,
        op: Specs,
        inputs: Inputs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        sel: Indexers | None = None,
        isel: Indexers | None = None,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Weights | None = None,
        where: Condition | None = None,
        axis: Over | None = None,
        dim: Over | None = None,
        **options: Unpack[ScanOptions],
    ) -> Reduced:
        """Reduce several datasets of equal shape with several operators, in one pass. Collective.

        Parameters are those of `FileDataset.reduce`, and:

        Parameters
        ----------
        inputs
            Names of datasets: one, or as many as the operator has inputs, for all operators; or a
            dict of them by operator name.
        sel, isel
            Selections by coordinate and by position, as for a dataset's methods.

        Examples
        --------
        >>> f.reduce({"speed": fl.ops.Apply(np.hypot, "max")}, ["u10", "v10"], over="time")
        ... # doctest: +SKIP
        """
        return self.start(
            *(op, inputs, one_of(over, axis, dim), selection),
            sel=sel,
            isel=isel,
            skipna=skipna,
            min_count=min_count,
            weights=weights,
            where=where,
            **options,
        ).wait()

    def start(
        self,
        op: Specs,
        inputs: Inputs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        sel: Indexers | None = None,
        isel: Indexers | None = None,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Weights | None = None,
        where: Condition | None = None,
        axis: Over | None = None,
        dim: Over | None = None,
        **options: Unpack[ScanOptions],
    ) -> PendingScan:
        """Start a reduction of several datasets and return at once, as `reduce`. Collective."""

        def prepare() -> request.Request:
            names, wanted = datasets_of(op, inputs)
            first = self[names[0]].isel(to_indexers(isel, "isel")).sel(to_indexers(sel, "sel"))
            chosen = first._selected(selection, weights, where)
            name = names[0] if len(names) == 1 else None
            return request.describe(
                self._files,
                chosen._view,
                names,
                op,
                wanted,
                one_of(over, axis, dim),
                skipna,
                min_count,
                name,
            )

        return pending_scan.begin(prepare, {"comm": self.comm, **options})
