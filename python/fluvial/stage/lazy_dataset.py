# SPDX-License-Identifier: Apache-2.0
"""What a live dataset's selections, conditions and groups are, which stand above the stage.

They are `fluvial.StepDataset`, `fluvial.GroupedDataset` and `fluvial.PendingScan`: the stage must
not import them, and says here what it gives its users of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
import numpy.typing as npt

from ..compute.arithmetic import LazyOperators
from ..compute.reductions import Reductions
from ..compute.registry import Reduced
from ..describe.attributes import Attributes
from ..describe.selection import Chosen, Indexers, Method, Selection
from ..distribute.assignment import Strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece

if TYPE_CHECKING:
    import xarray as xr


class Pending(Protocol):
    """A reduction that has been started: a `PendingScan`."""

    def test(self) -> bool:
        """Go on, and tell whether it is done."""

    @property
    def progress(self) -> float:
        """The part that is done, 0 to 1."""

    @property
    def stats(self) -> dict[str, int | float]:
        """What it has read, and how long that took."""

    def wait(self) -> Reduced:
        """Return the result."""


class LazyGroups(Reductions["xr.DataArray"], Protocol):
    """A dataset whose axis is in groups: a `GroupedDataset`."""

    @property
    def groups(self) -> dict[Hashable, int]:
        """Number of selected positions in each group, by label."""

    @property
    def start(self) -> Callable[..., Pending]:
        """Start a reduction of each group, and return at once."""


class LazyComparison(Protocol):
    """What a comparison of a dataset gives, for `where`; &, | and ~ join several."""

    def __and__(self, other: object) -> Self: ...

    def __or__(self, other: object) -> Self: ...

    def __invert__(self) -> Self: ...


class LazyDataset(
    Reductions["xr.DataArray"], LazyOperators["LazyDataset", LazyComparison], Protocol
):
    """A dataset of a live step after what selects, masks and weights: a `StepDataset`."""

    @property
    def name(self) -> str:
        """Path in the step."""

    @property
    def view(self) -> Chosen:
        """What is selected, masked and weighted."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions that are left."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the selection."""

    @property
    def sizes(self) -> dict[str, int]:
        """Extents by dimension."""

    @property
    def ndim(self) -> int:
        """Number of dimensions that are left."""

    @property
    def size(self) -> int:
        """Number of selected elements."""

    @property
    def nbytes(self) -> int:
        """Bytes of the selected elements, as operators see them."""

    @property
    def dtype(self) -> np.dtype:
        """Of the values as operators see them."""

    @property
    def stored_dtype(self) -> np.dtype:
        """Of the elements as they were put."""

    @property
    def attrs(self) -> Attributes:
        """Attributes as they were put; none after arithmetic."""

    @property
    def variable(self) -> xr.Variable:
        """All elements."""

    @property
    def coords(self) -> xr.Coordinates:
        """Coordinates of the selection."""

    @property
    def values(self) -> np.ndarray:
        """The selected elements, read into memory by this rank."""

    @property
    def si(self) -> LazyDataset:
        """The same in SI units."""

    def sel(
        self,
        indexers: Indexers | None = None,
        method: Method | None = None,
        tolerance: object = None,
        **labels: object,
    ) -> Self:
        """Select by coordinates."""

    def isel(self, indexers: Indexers | None = None, **numbers: object) -> Self:
        """Select by position."""

    @property
    def where(self) -> Callable[..., Self]:
        """Let only elements count for which a condition holds."""

    @property
    def weighted(self) -> Callable[..., Self]:
        """Give elements weights along axes."""

    def groupby(self, key: str) -> LazyGroups:
        """Group one axis by a coordinate."""

    def resample(self, **period: str) -> LazyGroups:
        """Group one axis of times by periods."""

    @property
    def start(self) -> Callable[..., Pending]:
        """Start a reduction, and return at once."""

    def read(self, selection: Selection = None) -> xr.DataArray:
        """Read what is selected."""

    def load(self) -> xr.DataArray:
        """Read what is selected."""

    def slab(self, rank: int, size: int) -> tuple[slice, ...]:
        """Return the `rank`-th of `size` equal parts of the selection along its first axis."""

    def mine(
        self, strategy: Strategy = "hyperslabs", *, own: Mapping[str, Own] | None = None
    ) -> list[Piece]:
        """Return this rank's parts of the dataset, by a strategy."""

    def __getitem__(self, selection: Selection) -> xr.DataArray: ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[xr.DataArray]: ...

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray: ...
