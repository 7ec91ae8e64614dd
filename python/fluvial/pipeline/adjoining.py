# SPDX-License-Identifier: Apache-2.0
"""Pieces that adjoin, as one: what is read by one call instead of many."""

from __future__ import annotations

from collections.abc import Iterable

from ..distribute.piece import Piece


def coalesced(pieces: Iterable[Piece]) -> list[Piece]:
    """Return fewer pieces with the same elements, of pieces without common ones.

    >>> [(p.offset, p.extent) for p in coalesced([Piece((0, 0), (2, 3)), Piece((0, 3), (2, 1)),
    ...                                           Piece((2, 0), (1, 4))])]
    [((0, 0), (3, 4))]
    """
    found = list(pieces)
    ndim = len(found[0].offset) if found else 0
    for axis in reversed(range(ndim)):
        found = _joined_along(axis, found)
    return found


def _joined_along(axis: int, pieces: list[Piece]) -> list[Piece]:
    def others(piece: Piece) -> tuple[tuple[int, ...], ...]:
        return tuple(
            numbers[:axis] + numbers[axis + 1 :] for numbers in (piece.offset, piece.extent)
        )

    joined: list[Piece] = []
    for piece in sorted(pieces, key=lambda p: (others(p), p.offset[axis])):
        last = joined[-1] if joined else None
        if (
            last is not None
            and others(last) == others(piece)
            and last.offset[axis] + last.extent[axis] == piece.offset[axis]
        ):
            extent = list(last.extent)
            extent[axis] += piece.extent[axis]
            joined[-1] = last._replace(extent=tuple(extent))
        else:
            joined.append(piece)
    return joined
