# SPDX-License-Identifier: Apache-2.0
"""The language of files for a live dataset: by name and coordinate, and arithmetic."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from ..compute.arithmetic import LazyOperators, is_labelled, is_number, refuse_dataset
from ..compute.specs import Specs
from ..describe.selection import Indexers, Method, Over
from .lazy_dataset import LazyComparison, LazyDataset, LazyGroups, Pending
from .step_views import Weighting

if TYPE_CHECKING:
    import xarray as xr


class ByName(LazyOperators[LazyDataset, LazyComparison]):
    """What a dataset leaves to the one with labels that stands for it."""

    @abstractmethod
    def _lazily(self) -> LazyDataset:
        """Return the dataset that stands for this one."""

    @property
    def coords(self) -> xr.Coordinates:
        """Coordinates: those of a regular grid of openPMD, or 1-D datasets called as the axes."""
        return self._lazily().coords

    def sel(
        self,
        indexers: Indexers | None = None,
        method: Method | None = None,
        tolerance: object = None,
        **labels: object,
    ) -> LazyDataset:
        """Select by coordinates, as `FileDataset.sel`."""
        return self._lazily().sel(indexers, method, tolerance, **labels)

    def isel(self, indexers: Indexers | None = None, **numbers: object) -> LazyDataset:
        """Select by position, as `FileDataset.isel`."""
        return self._lazily().isel(indexers, **numbers)

    def where(self, condition: object) -> LazyDataset:
        """Let only elements count for which a condition holds, as `FileDataset.where`."""
        return self._lazily().where(condition)

    def weighted(self, weights: Weighting) -> LazyDataset:
        """Give elements weights along axes, as `FileDataset.weighted`."""
        return self._lazily().weighted(weights)

    def groupby(self, key: str) -> LazyGroups:
        """Group one axis by a coordinate, as `FileDataset.groupby`."""
        return self._lazily().groupby(key)

    def resample(self, **period: str) -> LazyGroups:
        """Group one axis of times by periods, as `FileDataset.resample`."""
        return self._lazily().resample(**period)

    def start(self, op: Specs, over: Over | None = None, **options: object) -> Pending:
        """Start a reduction and return at once, as `FileDataset.start`. Collective.

        The step must not end before `wait` has returned.
        """
        return self._lazily().start(op, over, **options)

    @property
    def variable(self) -> xr.Variable:
        """All elements; xarray asks for it where its arrays are computed with a dataset."""
        return self._lazily().variable

    def _after(
        self, sign: str, number: object, before: bool = False
    ) -> LazyDataset | np.ndarray | xr.DataArray:
        if not (is_number(number) or isinstance(number, np.ndarray) or is_labelled(number)):
            refuse_dataset(sign, number)
            return NotImplemented
        return self._lazily()._after(sign, number, before)

    def _absolute(self) -> LazyDataset:
        return self._lazily()._absolute()

    def _negative(self) -> LazyDataset:
        return self._lazily()._negative()

    def _comparison(self, sign: str, bound: object) -> LazyComparison | np.ndarray | xr.DataArray:
        if not (is_number(bound) or isinstance(bound, np.ndarray) or is_labelled(bound)):
            if sign not in ("==", "!="):
                refuse_dataset(sign, bound)
            return NotImplemented
        return self._lazily()._comparison(sign, bound)
