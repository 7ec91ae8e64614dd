# SPDX-License-Identifier: Apache-2.0
"""What all ranks have put into one step, as one: agreed, whole, each element once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .._core import InvalidArgument
from ..base.messages import shown
from ..distribute.assignment import assign
from ..store.step_contents import Extent


def merged(of_all: Sequence[Any]) -> dict[str, Extent]:
    """Return the datasets of all ranks; raise where ranks differ, or where something is missing."""
    extents: dict[str, Extent] = {}
    regions: dict[str, list[Any]] = {}
    for rank, (_, theirs, parts, _) in enumerate(of_all):
        for name, extent in theirs.items():
            known = extents.setdefault(name, extent)
            if (known.dtype, known.shape) != (extent.dtype, extent.shape):
                raise InvalidArgument(
                    f"the ranks differ in '{name}': got {extent.dtype} {shown(extent.shape)} on "
                    f"rank {rank}; allowed: {known.dtype} {shown(known.shape)}, the same on all"
                )
            if not known.attrs and extent.attrs:
                extents[name] = extent
            regions.setdefault(name, []).extend(parts[name])
    for name, extent in extents.items():
        _check_whole(name, extent.shape, regions[name])
    return extents


def _check_whole(name: str, shape: tuple[int, ...], regions: list[Any]) -> None:
    """Raise unless regions are all of a dataset, each element once."""
    size = math.prod(shape)
    put = sum(math.prod(extent) for _, extent in regions)
    seen = put
    if len(regions) > 1 and shape:
        pieces = assign(regions, 1, "round-robin").shares[0]
        seen = sum(math.prod(piece.extent) for piece in pieces)
    elif len(regions) > 1:
        seen = 1
    if seen < size:
        raise InvalidArgument(
            f"parts of '{name}' are missing: got {seen} of {size} elements; allowed: all of them "
            "in every step of a file. Put what is missing, or a smaller shape"
        )
    if put > size:
        raise InvalidArgument(
            f"chunks of '{name}' overlap: got {put} elements for {size}; allowed: each element "
            "once in a step of a file"
        )
