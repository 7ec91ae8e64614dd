# SPDX-License-Identifier: Apache-2.0
"""Ranks that have put any parts of an array give each other what makes whole chunks of it.

Then each compresses and writes its share of the chunks, and no rank has to hold all of the array.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..mpi.together import Together
from ..store.step_contents import Parts, Region


class ChunkShares(NamedTuple):
    """An array that is cut into chunks, and what each rank has put of it."""

    dtype: str
    shape: tuple[int, ...]
    chunk: tuple[int, ...]
    regions: Sequence[Sequence[Region]]
    """By rank, in the order in which it has them."""

    def of(self, rank: int) -> Region:
        """Return the chunks of a rank, a box: the axis with most chunks is dealt out.

        >>> shares = ChunkShares("f8", (7, 2), (2, 2), [[], []])
        >>> shares.of(0), shares.of(1)
        (((0, 0), (4, 2)), ((4, 0), (3, 2)))
        """
        counts = [-(-length // step) for length, step in zip(self.shape, self.chunk, strict=True)]
        axis = counts.index(max(counts))
        ranks, length, step = len(self.regions), self.shape[axis], self.chunk[axis]
        begin, end = (
            min(counts[axis] * number // ranks * step, length) for number in (rank, rank + 1)
        )
        offset, extent = [0] * len(self.shape), list(self.shape)
        offset[axis], extent[axis] = begin, end - begin
        return tuple(offset), tuple(extent)


def exchanged(ranks: Together, mine: Parts, shares: ChunkShares) -> Parts:
    """Return this rank's chunks: one part, or none. Collective.

    Each region of `shares` is put by one rank, and together they are the array.
    """
    rank, size = ranks.rank_and_size
    shared = [shares.of(other) for other in range(size)]
    kind = np.dtype(shares.dtype)

    def outgoing() -> np.ndarray:
        pieces = [
            array[_within(box, offset)].reshape(-1)
            for one in shared
            for offset, array in mine
            if (box := _overlap((offset, array.shape), one)) is not None
        ]
        return np.concatenate(pieces, dtype=kind) if pieces else np.empty(0, kind)

    def counts(regions: Sequence[Sequence[Region]], boxes: Sequence[Region]) -> list[int]:
        pairs = zip(regions, boxes, strict=True)
        return [sum(_elements(_overlap(region, box)) for region in some) for some, box in pairs]

    sent = ranks.run(outgoing, everywhere=True)
    counts_from = counts(shares.regions, [shared[rank]] * size)
    came = ranks.exchange(sent, counts([shares.regions[rank]] * size, shared), counts_from)
    begin, extent = shared[rank]
    whole = np.empty(extent, kind)
    at = 0
    for region in itertools.chain.from_iterable(shares.regions):
        box = _overlap(region, shared[rank])
        if box is not None:
            end = at + _elements(box)
            whole[_within(box, begin)] = came[at:end].reshape(box[1])
            at = end
    return [(begin, whole)] if whole.size else []


def _overlap(one: Region, other: Region) -> Region | None:
    """Return what both have; None where that is nothing."""
    begin = tuple(map(max, one[0], other[0]))
    ends = (map(sum, zip(*region, strict=True)) for region in (one, other))
    extent = tuple(min(a, b) - at for a, b, at in zip(*ends, begin, strict=True))
    return (begin, extent) if all(length > 0 for length in extent) else None


def _elements(box: Region | None) -> int:
    return 0 if box is None else math.prod(box[1])


def _within(box: Region, begin: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the box as seen from there."""
    return tuple(slice(o - b, o - b + n) for o, n, b in zip(*box, begin, strict=True))
