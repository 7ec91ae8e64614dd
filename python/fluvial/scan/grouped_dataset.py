# SPDX-License-Identifier: Apache-2.0
"""A dataset in files whose axis is in groups."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol, Unpack, cast, overload

import numpy as np
import xarray as xr

from ..base.html_table import html_table
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

_ROWS_SHOWN = 12  # at either end of a table: a year of months


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
        """Number of selected positions in each group, by label: times are datetime64."""
        labels = self._groups.labels.values
        keys = list(labels) if labels.dtype.kind in "mM" else labels.tolist()
        return dict(zip(keys, self._sizes(), strict=True))

    def _sizes(self) -> list[int]:
        """Return the number of selected positions in each group."""
        found = self._groups
        sizes = np.bincount(found.group[found.group >= 0], minlength=found.labels.size)
        return cast("list[int]", sizes.tolist())

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
        found = self._groups
        groups = f"{found.labels.size} groups along '{found.dim}'"
        return f"<fluvial.GroupedDataset by '{self._name()}', {groups}, of {self._dataset!r}>"

    def _repr_html_(self) -> str:
        """Return a table of the groups and their sizes; of many, the first and the last ones."""
        rows = [
            (_shown(label), str(size))
            for label, size in zip(self._groups.labels.values, self._sizes(), strict=True)
        ]
        if (more := len(rows) - 2 * _ROWS_SHOWN) > 0:
            rows[_ROWS_SHOWN:-_ROWS_SHOWN] = [(f"… {more} more …", "")]
        return html_table(repr(self), (self._name(), f"positions along {self._groups.dim}"), rows)

    def _name(self) -> str:
        """Return what the groups are called, which is a dimension of the results."""
        return str(self._groups.labels.dims[0])


def _shown(label: object) -> str:
    """Return a label as text, a time no finer than it is.

    >>> _shown(np.datetime64("2000-01-01", "ns")), _shown(np.int64(7))
    ('2000-01-01', '7')
    """
    if isinstance(label, np.datetime64):
        return str(np.datetime_as_string(label, unit="auto"))
    return str(label)
