# SPDX-License-Identifier: Apache-2.0
"""A dataset in files whose axis is in groups."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, Unpack, overload

import numpy as np
import xarray as xr

from ..compute.reductions import Reductions
from ..compute.registry import Reduced
from ..compute.specs import Specs
from ..describe.attributes import Attributes
from ..describe.selection import Over, one_of
from ..describe.storage_attributes import plain_attributes
from .kept_attributes import with_attrs
from .options import ReductionOptions
from .pending_scan import PendingScan
from .view import Groups


class Startable(Protocol):
    """A dataset with groups whose reduction can be started."""

    @property
    def attrs(self) -> Attributes:
        """Its attributes."""

    def start(
        self, op: Specs, over: Over | None = None, **options: Unpack[ReductionOptions]
    ) -> PendingScan:
        """Start a reduction and return at once."""


class GroupedDataset(Reductions[xr.DataArray]):
    """A dataset whose axis is in groups, each of which has a result of its own."""

    def __init__(self, dataset: Startable, groups: Groups) -> None:
        self._dataset = dataset
        self._groups = groups

    @property
    def groups(self) -> dict[Hashable, int]:
        """Number of selected positions in each group, by label."""
        found = self._groups
        sizes = np.bincount(found.group[found.group >= 0], minlength=found.labels.size)
        return dict(zip(found.labels.values.tolist(), sizes.tolist(), strict=True))

    @overload
    def reduce(
        self,
        op: str,
        over: Over | None = None,
        *,
        keep_attrs: bool | None = None,
        **options: Unpack[ReductionOptions],
    ) -> xr.DataArray: ...
    @overload
    def reduce(
        self,
        op: Specs,
        over: Over | None = None,
        *,
        keep_attrs: bool | None = None,
        **options: Unpack[ReductionOptions],
    ) -> Reduced: ...
    def reduce(
        self,
        op: Specs,
        over: Over | None = None,
        *,
        keep_attrs: bool | None = None,
        **options: Unpack[ReductionOptions],
    ) -> Reduced:
        """Reduce each group; `over` has the grouped dimension, and is that alone unless given.

        Everything else as `FileDataset.reduce`; results have a dimension of the groups ("month").
        """
        found = self.start(op, over, **options).wait()
        return with_attrs(found, plain_attributes(self._dataset.attrs), keep_attrs)

    def start(
        self, op: Specs, over: Over | None = None, **options: Unpack[ReductionOptions]
    ) -> PendingScan:
        """Start a reduction of each group, as `FileDataset.start`."""
        over = one_of(over, options.pop("axis", None), options.pop("dim", None))
        over = self._groups.dim if over is None else over
        return self._dataset.start(op, over, **options)

    def __repr__(self) -> str:
        return f"<fluvial.GroupedDataset of {len(self.groups)} groups, {self._dataset!r}>"
