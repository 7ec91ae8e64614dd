# SPDX-License-Identifier: Apache-2.0
"""Parts of chunks, and where they and their readers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ..base.arguments import to_index, to_ints, to_text, wrong_type

Place: TypeAlias = str | Mapping[str, str | int] | None
"""A host by its name, or names by layer from the outermost inward, such as
``{"host": "node17", "socket": 0, "numa": 1}``; None where it is not known."""

ANYWHERE: dict[str, str | int] = {"anywhere": "file"}
"""The place of chunks of files: as near to each reader as to any other."""

Levels = list[tuple[str, str]]


class Piece(NamedTuple):
    """A chunk, or a part of one."""

    offset: tuple[int, ...]
    """Global coordinates of its first element."""
    extent: tuple[int, ...]
    """Number of elements along each axis."""
    rank: int = 0
    """Of the writer."""
    place: Place = None
    """Of the writer."""
    chunk: int = 0
    """Position in the list of chunks."""

    @property
    def selection(self) -> tuple[slice, ...]:
        """What reads it from a dataset: ``dataset[piece.selection]``."""
        return tuple(slice(o, o + n) for o, n in zip(self.offset, self.extent, strict=True))


def to_levels(place: object) -> Levels:
    """Return a place as the core has it.

    >>> to_levels("a"), to_levels({"host": "a", "numa": 1}), to_levels(None)
    ([('host', 'a')], [('host', 'a'), ('numa', '1')], [])
    """
    if place is None:
        return []
    if isinstance(place, str):
        return [("host", to_text(place, "a place"))]
    if isinstance(place, Mapping):
        return [(to_text(layer, "a layer"), to_name(name)) for layer, name in place.items()]
    raise wrong_type("a place", place, "the name of a host, a dict of names by layer, or None")


def to_name(name: object) -> str:
    """Return the name of a host, or the number of a socket, as text."""
    what = "a name in a place"
    return to_text(name, what) if isinstance(name, str) else str(to_index(name, what))


def to_place(levels: Levels) -> Place:
    """Return a place of the core as the user has it."""
    if not levels:
        return None
    return levels[0][1] if [layer for layer, _ in levels] == ["host"] else dict(levels)


def to_piece(chunk: object, number: int) -> Piece:
    """Return a chunk from (offset, extent), and, if they are known, its rank and its place."""
    allowed = "a chunk of a dataset, or a tuple of offset, extent, and perhaps rank and place"
    if not isinstance(chunk, Sequence) or isinstance(chunk, str) or not 2 <= len(chunk) <= 5:
        raise wrong_type("a chunk", chunk, allowed)
    offset, extent = to_ints(chunk[0], "the offset"), to_ints(chunk[1], "the extent")
    rank = chunk[2] if len(chunk) > 2 else 0
    place = chunk[3] if len(chunk) > 3 else None
    return Piece(offset, extent, rank, place, number)
