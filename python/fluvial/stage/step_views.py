# SPDX-License-Identifier: Apache-2.0
"""What a dataset of a live step needs of its step, and a step of what opens the series."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from ..compute.registry import Reduced
from ..distribute.piece import Piece
from .lazy_dataset import LazyDataset

if TYPE_CHECKING:
    import xarray as xr


Read: TypeAlias = "np.ndarray | xr.DataArray"
"""Elements that were read: without names of axes an array, else one with labels."""
Masking: TypeAlias = "npt.ArrayLike | Callable[..., npt.ArrayLike]"
"""Which elements count: an array of bool, or text or a function as for `FileDataset.where`."""
Weighting: TypeAlias = "npt.ArrayLike | xr.DataArray | Mapping[str, npt.ArrayLike]"
"""An array of weights, or what `FileDataset.weighted` takes."""


class Views(Protocol):
    """Datasets of a step by name and coordinate; what opens a series gives them."""

    def dataset(self, name: str) -> LazyDataset:
        """Return the `StepDataset` of this name."""

    @property
    def reduce(self) -> Callable[..., Reduced]:
        """Reduce several datasets, as `ReadStep.reduce`."""


class Step(Protocol):
    """What a dataset needs of its step."""

    @property
    def said(self) -> Mapping[str, object]:
        """Attributes of the step."""

    @property
    def views(self) -> Views | None:
        """Its datasets by name and coordinate; None without xarray."""

    def host_of(self, rank: int) -> str:
        """Of that rank of the writer."""

    @property
    def reduce(self) -> Callable[..., Reduced]:
        """As of `ReadStep`."""

    @property
    def mine(self) -> Callable[..., dict[str, list[Piece]]]:
        """As of `ReadStep`."""


def to_views(step: Step) -> Views:
    """Return what knows the datasets of a step by name and coordinate; it needs xarray."""
    if (views := step.views) is not None:
        return views
    raise InvalidArgument(
        "to select, mask, weight and group by name needs a Python package that is not installed: "
        "got no xarray; allowed: xarray, cftime. Run: pip install xarray cftime"
    )
