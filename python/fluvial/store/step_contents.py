# SPDX-License-Identifier: Apache-2.0
"""What a step consists of before a file has a place for it: the same for all formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

Region = tuple[tuple[int, ...], tuple[int, ...]]
"""Offset and extent."""
Parts = Sequence[tuple[tuple[int, ...], np.ndarray]]
"""Offset and elements."""


class Extent(NamedTuple):
    """What a file needs to know of a dataset before its elements."""

    dtype: str
    """NumPy's name."""
    shape: tuple[int, ...]
    attrs: Mapping[str, object]


class Coordinate(NamedTuple):
    """The labels along an axis that labelled arrays brought along, or one number of a step."""

    values: np.ndarray
    attrs: Mapping[str, object]


class StepSaid(NamedTuple):
    """Attributes that came with a step."""

    attrs: Mapping[str, object]
    """Of the step itself."""
    of_series: Mapping[str, object]
    groups: Mapping[str, Mapping[str, object]]
    """Of groups by path: of species, of records, of all meshes."""
    varying: set[str]
    """Datasets whose elements are not all what their attribute `value` says."""


class StepContents(NamedTuple):
    """All that the ranks have put into one step, but its elements."""

    number: int
    said: StepSaid
    extents: dict[str, Extent]
    coordinates: dict[str, Coordinate]
    """By dimension; those that earlier steps brought are not among them."""
    regions: dict[str, list[Region]]
    """Of each dataset: what the ranks have put, one after the other."""
    by_host: Sequence[Mapping[str, Sequence[Region]]] | None = None
    """The same of each host, in the order in which its file has them; None: they share one."""


class Packing(NamedTuple):
    """How a dataset is compressed: in chunks, whose bytes are shuffled and then deflated."""

    chunk: tuple[int, ...]
    level: int


class SharedDataset(NamedTuple):
    """A dataset that some ranks write for all, each an equal part."""

    begin: int
    """The byte at which its first element lies."""
    shape: tuple[int, ...]
    element_bytes: int
    regions: Sequence[Sequence[Region]]
    """By rank, in the order in which it has them."""


class Places(NamedTuple):
    """Where the ranks write the elements of a step."""

    path: str
    begins: dict[str, int]
    """The byte at which the first element of each dataset lies."""
    big_endian: bool = False
    kept: frozenset[str] = frozenset()
    """Datasets that are there already, and that must have the same elements again."""
    record: int = 0
    """Of files that only their library writes: the number of the record."""
    own: frozenset[str] = frozenset()
    """Datasets of which each rank writes its parts by that library."""
    merged: frozenset[str] = frozenset()
    """Datasets that the first rank writes for all."""
    packed: Mapping[str, Packing] | None = None
    """Datasets of which each rank compresses its parts, and the first one writes them."""
    cut: Mapping[str, tuple[int, ...]] | None = None
    """Of these and of `own`, those whose parts are not whole chunks, and their chunks: the ranks
    give each other what makes whole ones."""
    by_host: frozenset[str] = frozenset()
    """Datasets whose elements lie in files of the hosts."""
    shared: Mapping[str, SharedDataset] | None = None
    """Of those in `begins`, the ones that some ranks write for all."""


class Output(Protocol):
    """A new file, or folder, to which steps are added. One rank has it."""

    path: str

    def lay_out(self, step: StepContents) -> Places:
        """Make room for a step; its elements are written by others."""

    def write(self, parts: Mapping[str, Parts]) -> None:
        """Write datasets that others cannot write: those of `Places.merged`."""

    def finish(self) -> None:
        """Make the step that was laid out last a part of the file, now that it is written."""

    def give_up(self, number: int) -> None:
        """Leave a step out that could not be written."""

    def discard(self) -> None:
        """Close and remove it."""

    def make_without_steps(self, of_series: Mapping[str, object]) -> None:
        """Make it with the attributes of the series alone; nothing was laid out in it."""

    def close(self) -> None:
        """Close it. Idempotent."""
