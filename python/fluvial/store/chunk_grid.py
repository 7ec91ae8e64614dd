# SPDX-License-Identifier: Apache-2.0
"""Regular chunks of an array that fit what ranks put into it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .step_contents import Region

CHUNK_BYTES_MAX = 64 << 20
_SHARED_BYTES_MAX = 4 << 20
"""Where the ranks share chunks out that fit none of them: several for each."""


def fits(regions: Iterable[Region], shape: tuple[int, ...], chunk: tuple[int, ...]) -> bool:
    """Tell whether each region consists of whole chunks, so that no two ranks write into one.

    >>> fits([((0,), (4,)), ((4,), (3,))], (7,), (4,)), fits([((0,), (3,))], (7,), (4,))
    (True, False)
    """
    return all(
        begin % step == 0 and (end % step == 0 or end == length)
        for offset, extent in regions
        for begin, end, length, step in zip(
            offset, (b + n for b, n in zip(offset, extent, strict=True)), shape, chunk, strict=True
        )
    )


def chunk_of(
    shape: tuple[int, ...],
    regions: Sequence[Region],
    itemsize: int,
    bytes_max: int = CHUNK_BYTES_MAX,
) -> tuple[int, ...]:
    """Return extents of chunks that fit what the ranks put, where that is regular.

    Chunks that are too large are cut further where that leaves no rest.

    >>> chunk_of((7, 6), [((0, 0), (4, 6)), ((4, 0), (3, 6))], 8)
    (4, 6)
    """
    chunk = list(shape)
    if regions:
        first = min(regions, key=lambda region: region[0])[1]
        if all(first) and fits(regions, shape, first):
            chunk = list(first)
        else:
            bytes_max = min(bytes_max, _SHARED_BYTES_MAX)
    for axis, extent in enumerate(chunk):
        alone = extent == shape[axis]  # a rest at its end is at the end of the array
        rows = max(extent, 1)
        while np.prod(chunk, dtype=np.int64) * itemsize > bytes_max and chunk[axis] > 1:
            rows = -(-chunk[axis] // 2) if alone else _divisor_below(extent, chunk[axis])
            chunk[axis] = rows
    return tuple(max(extent, 1) for extent in chunk)


def _divisor_below(extent: int, most: int) -> int:
    return next(size for size in range(most - 1, 0, -1) if extent % size == 0)
