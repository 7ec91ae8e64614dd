# SPDX-License-Identifier: Apache-2.0
"""What the second phase sends: counted from where selections lie, and modelled for many ranks.

Two-phase collective I/O divides the range of the file that is asked for evenly among aggregators;
each sends every byte on to the rank that asked for it.  Collective computing sends partial results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Extents = tuple[int, int, int, int]
Share = tuple[Extents, Extents]  # start and count

BYTES = 4
PAPER_RANKS = (120, 240, 480, 1024, 4096, 16384, 100_000)
_ENTRY_BYTES = 8 + 2 * 4 * 8  # a rank, and start and count along four dimensions
PAPER_RANKS_A_HOST = 24
PAPER_BYTES_A_RANK = 800e9 / 120


def shares(start: Extents, count: Extents, axis: int, ranks: int) -> list[Share]:
    """Return each rank's part of a selection that is divided along `axis`."""
    found = []
    for rank in range(ranks):
        begin, end = count[axis] * rank // ranks, count[axis] * (rank + 1) // ranks
        part_start, part_count = list(start), list(count)
        part_start[axis] += begin
        part_count[axis] = end - begin
        found.append((tuple(part_start), tuple(part_count)))
    return found  # type: ignore[return-value]


def two_phase_bytes(
    shape: Extents, asked: Sequence[Share], aggregators: Sequence[int]
) -> tuple[int, int]:
    """Return (bytes that go from an aggregator to another rank, all bytes asked for).

    `aggregators` are ranks; each reads an equal range of the file, in this order.
    """
    runs = [_runs(shape, start, count) for start, count in asked]
    low = min(int(first[0]) for first, _ in runs if len(first))
    high = max(int(first[-1] + length) for first, length in runs if len(first))
    edges = low + (high - low) * np.arange(len(aggregators) + 1) // len(aggregators)
    total = sent = 0
    for rank, (first, length) in enumerate(runs):
        own = 0
        for number, reader in enumerate(aggregators):
            if reader == rank:
                begin, end = edges[number], edges[number + 1]
                inside = np.minimum(first + length, end) - np.maximum(first, begin)
                own += int(inside.clip(min=0).sum())
        whole = len(first) * length
        total += whole
        sent += whole - own
    return sent * BYTES, total * BYTES


def entries_bytes(shape: Extents, asked: Sequence[Share], buffer_bytes: int) -> int:
    """Return what a map takes that has an entry for each contiguous piece in each buffer.

    That is how the paper draws it (section III.B, Figure 8): rank and coordinates of every piece,
    and two entries where the end of a buffer cuts one.
    """
    entries = 0
    for start, count in asked:
        first, length = _runs(shape, start, count)
        begin, end = first * BYTES, (first + length) * BYTES - 1
        entries += int((end // buffer_bytes - begin // buffer_bytes + 1).sum())
    return entries * _ENTRY_BYTES


def _runs(shape: Extents, start: Extents, count: Extents) -> tuple[NDArray[np.int64], int]:
    """Return the first element of each row of a selection, ascending, and the rows' length."""
    axes = [np.arange(s, s + n, dtype=np.int64) for s, n in zip(start, count, strict=True)]
    _, levels, lats, lons = shape
    steps = axes[0][:, None, None] * levels + axes[1][None, :, None]
    rows = (steps * lats + axes[2][None, None, :]) * lons + start[3]
    return rows.ravel(), count[3]


@dataclass(frozen=True)
class Scale:
    """What travels at one number of ranks, in bytes of all ranks together."""

    ranks: int
    raw: float
    to_one: float
    to_all: float
    common: float


def model(ranks: int, partial_bytes: float, question_bytes: float) -> Scale:
    """Return the volumes at `ranks` ranks with the paper's load: 6.7 GB a rank, 24 ranks a host.

    Raw data: each host's aggregator reads what its 24 ranks ask for and keeps its own share.
    Partial results: a tree of the aggregators' partials (to one), or a partial to each rank (to
    all); before that every rank tells the ranks that read a part of it what it asks for, in
    `question_bytes`.  With one common request nothing is told but a check of 16 bytes.
    """
    hosts = -(-ranks // PAPER_RANKS_A_HOST)
    raw = ranks * PAPER_BYTES_A_RANK * (1 - 1 / PAPER_RANKS_A_HOST)
    told = ranks * question_bytes
    to_one = (hosts - 1) * partial_bytes
    to_all = (ranks - hosts) * partial_bytes
    return Scale(ranks, raw, to_one + told, to_all + told, to_one + 16 * ranks)
