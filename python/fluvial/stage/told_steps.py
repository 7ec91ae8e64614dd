# SPDX-License-Identifier: Apache-2.0
"""What the ranks tell the first one at the end of a step, which then knows all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .. import _core
from ..describe.axis_labels import label_by_name
from ..store.step_contents import Extent, Region, StepContents
from .chunk_exchange import ChunkShares
from .file_write_step import Put, varying
from .merged_puts import About, Told, merged, said_by_all
from .put_coordinates import CoordinatePiece, joined

OfRank = tuple[str | None, Told | None, tuple[list[CoordinatePiece], set[str], About]]
"""What failed on a rank; what it told, None: the same as of the step before; and its coordinates,
the datasets that vary, and what it says."""


class ToldSteps:
    """What this rank has told, and on the first one what each has."""

    def __init__(self) -> None:
        self._told: Told | None = None
        """Of the latest step: datasets and regions."""
        self._told_by: list[Told] = []
        """The same of each rank, on the first one."""

    def news(self, put: Put, pieces: list[CoordinatePiece], attrs: Mapping[str, object]) -> OfRank:
        """Return what this rank has to tell of a step; `attrs` are those of the series."""
        regions = {
            name: [(p.offset, p.array.shape) for p in found] for name, found in put.parts.items()
        }
        said = pieces, varying(put), (put.number, put.attrs, attrs, put.groups)
        mine = put.extents, regions
        same = self._told == mine  # as in the step before: it is known
        self._told = mine
        return put.failed, None if same else mine, said

    def joined(self, number: int, of_all: Sequence[OfRank]) -> StepContents:
        """Return what the ranks have put into a step; on the first one.

        Raises
        ------
        Error
            The step has failed on a rank.
        InvalidArgument
            The ranks differ, or parts overlap or are missing.
        """
        known = self._told_by or [({}, {})] * len(of_all)
        self._told_by = [of_one or known[rank] for rank, (_, of_one, _) in enumerate(of_all)]
        for rank, (failed, *_) in enumerate(of_all):
            if failed is not None:
                raise _core.Error(
                    f"step {number} is not written: got an error on rank {rank}, {failed}; "
                    "allowed: steps that end on all ranks"
                )
        extents = merged(self._told_by)
        own = label_by_name((name, found.shape, found.attrs) for name, found in extents.items())
        for name, label in own.items():
            attrs = {**extents[name].attrs, "axisLabels": [label]}
            extents[name] = extents[name]._replace(attrs=attrs)
        coordinates = joined([piece for *_, (pieces, *_) in of_all for piece in pieces])
        varied = set().union(*(names for *_, (_, names, _) in of_all))
        regions: dict[str, list[Region]] = {name: [] for name in extents}
        for of_one in self.regions_by_rank:
            for name, found in of_one.items():
                regions[name] += found
        said = said_by_all([about for *_, (_, _, about) in of_all], varied)
        return StepContents(number, said, extents, coordinates, regions)

    @property
    def regions_by_rank(self) -> list[Mapping[str, list[Region]]]:
        """Return the regions of each dataset that each rank has put; on the first one."""
        return [regions for _, regions in self._told_by]

    def shares(self, extent: Extent, name: str, chunk: tuple[int, ...]) -> ChunkShares:
        """Return how the chunks of a dataset of the step are shared out; on the first rank."""
        regions = [of_one.get(name, []) for of_one in self.regions_by_rank]
        return ChunkShares(extent.dtype, extent.shape, chunk, regions)
