# SPDX-License-Identifier: Apache-2.0
"""What a pipe needs of the series at its ends, which streams and files have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Protocol

import numpy as np

from ..describe.attributes import Attributes
from ..describe.selection import Chosen
from ..distribute.assignment import Strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece


class SelectedDataset(Protocol):
    """A dataset after a selection, nothing of which has been read."""

    @property
    def view(self) -> Chosen:
        """What is selected."""

    def sel(self, indexers: Mapping[str, object]) -> SelectedDataset:
        """Select by coordinates."""


class PipedDataset(Protocol):
    """A dataset of a step that is read."""

    @property
    def attrs(self) -> Attributes:
        """Its attributes."""

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of its axes."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of its axes."""

    @property
    def ndim(self) -> int:
        """How many axes it has."""

    @property
    def stored_dtype(self) -> np.dtype:
        """Of its elements as they are stored."""

    def isel(self, indexers: Mapping[str, object]) -> SelectedDataset:
        """Return what is selected by position."""

    def stored(self, selection: tuple[int | slice, ...]) -> np.ndarray:
        """Return the selected elements as they are stored."""


class PipedStep(Protocol):
    """A step that is read."""

    @property
    def iteration(self) -> int:
        """Number of the iteration."""

    @property
    def time(self) -> object:
        """A float, or what the coordinate of a record has instead."""

    @property
    def skipped(self) -> int:
        """Steps that were lost before this one."""

    @property
    def attrs(self) -> Attributes:
        """Its attributes."""

    @property
    def groups(self) -> Mapping[str, Mapping[str, object]]:
        """Attributes of groups by path."""

    def names(self) -> list[str]:
        """Return the names of its datasets."""

    def __getitem__(self, name: str) -> PipedDataset: ...

    def mine(
        self,
        strategy: Strategy,
        names: Iterable[str] | None,
        *,
        own: Mapping[str, Own] | None,
    ) -> dict[str, list[Piece]]:
        """Return this rank's parts of each dataset."""


class PipedSeries(Protocol):
    """A series that is read."""

    @property
    def attrs(self) -> Mapping[str, object]:
        """Attributes of the series."""

    def __iter__(self) -> Iterator[PipedStep]: ...


class PipedSteps(Protocol):
    """The steps of a series of which all are there."""

    @property
    def indices(self) -> Sequence[int]:
        """Their numbers."""

    def __getitem__(self, at: int) -> PipedStep: ...


class StoredSeries(PipedSeries, Protocol):
    """A series of which all steps are there, or may be: files."""

    @property
    def steps(self) -> PipedSteps:
        """Those that are there."""

    @property
    def followed(self) -> bool:
        """Whether more will come."""


class SinkStep(Protocol):
    """A step that is written."""

    @property
    def accepted(self) -> bool:
        """Whether the queue has taken it."""

    def put(
        self,
        name: str,
        array: np.ndarray,
        offset: Sequence[int] | None,
        shape: Sequence[int] | None,
        attrs: Mapping[str, object] | None,
    ) -> None:
        """Put a part of a dataset."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Sink(Protocol):
    """A series that is open for writing."""

    attrs: dict[str, object]

    def step(
        self,
        *,
        attrs: Mapping[str, object] | None,
        iteration: int | None,
        groups: Mapping[str, Mapping[str, object]] | None,
    ) -> SinkStep:
        """Begin the next step."""
