# SPDX-License-Identifier: Apache-2.0
"""A function of the user's as a strategy."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ..base.arguments import to_index, wrong_type
from .piece import Levels, Piece, Place, to_place

Own = Callable[[list[Piece], list[Place]], Iterable[tuple[int, Piece]]]
"""Returns pairs of a reader's number and a piece; what it does not return is left."""

_PAIRS = (
    "pairs of a reader's number and a Piece, one of those given or "
    "piece._replace(offset=…, extent=…)"
)


def call(
    function: Own,
    chunks: list[tuple[tuple[int, ...], tuple[int, ...], int, Levels, int]],
    readers: list[Levels],
) -> Iterator[tuple[int, tuple[int, ...], tuple[int, ...], int]]:
    """Call the function, and yield (reader, offset, extent, chunk) of each piece."""
    pieces = [Piece(offset, extent, rank, to_place(p), i) for offset, extent, rank, p, i in chunks]
    returned = function(pieces, list(map(to_place, readers)))
    if not isinstance(returned, Iterable):
        raise wrong_type("what a strategy returns", returned, f"a list of {_PAIRS}")
    for pair in returned:
        if not isinstance(pair, tuple) or len(pair) != 2 or not isinstance(pair[1], Piece):
            raise wrong_type("what a strategy returns", pair, _PAIRS)
        reader, piece = pair
        yield to_index(reader, "a reader"), piece.offset, piece.extent, piece.chunk
