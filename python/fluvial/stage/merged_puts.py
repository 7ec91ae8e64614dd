# SPDX-License-Identifier: Apache-2.0
"""What all ranks have put into one step, as one: agreed, whole, each element once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .._core import InvalidArgument
from ..base.messages import shown
from ..distribute.assignment import assign
from ..store.step_contents import Extent, Region, StepSaid

Told = tuple[Mapping[str, Extent], Mapping[str, list[Region]]]
"""The datasets of a rank, and the regions of each that it has put."""


def merged(of_all: Sequence[Told]) -> dict[str, Extent]:
    """Return the datasets of all ranks; raise where ranks differ, or where something is missing.

    `of_all` has what each rank told.
    """
    extents: dict[str, Extent] = {}
    regions: dict[str, list[Region]] = {}
    for rank, (theirs, parts) in enumerate(of_all):
        for name, extent in theirs.items():
            known = extents.setdefault(name, extent)
            if (known.dtype, known.shape) != (extent.dtype, extent.shape):
                raise InvalidArgument(
                    f"the ranks differ in '{name}': got {extent.dtype} {shown(extent.shape)} on "
                    f"rank {rank}; allowed: {known.dtype} {shown(known.shape)}, the same on all"
                )
            attrs = joined_attributes([known.attrs, extent.attrs], f"the attributes of '{name}'")
            extents[name] = known._replace(attrs=attrs)
            regions.setdefault(name, []).extend(parts[name])
    for name, extent in extents.items():
        _check_whole(name, extent.shape, regions[name])
    return extents


def joined_attributes(of_all: Sequence[Mapping[str, object]], what: str) -> dict[str, object]:
    """Return what any rank says; raise where two say different things of one name."""
    joined: dict[str, object] = {}
    for theirs in of_all:
        for key, value in theirs.items():
            known = joined.setdefault(key, value)
            if known is not value and repr(known) != repr(value):
                raise InvalidArgument(
                    f"the ranks differ in {what}: got {key}={shown(value)}; allowed: "
                    f"{shown(known)}, as another rank says. Give every rank the same, or only one"
                )
    return joined


About = tuple[int, Mapping[str, object], Mapping[str, object], Mapping[str, Mapping[str, object]]]
"""Number of a step, and what a rank says of it, of the series and of groups."""


def said_by_all(of_all: Sequence[About], varied: set[str]) -> StepSaid:
    """Return the attributes of a step and of the series; raise where ranks differ."""
    numbers = [number for number, *_ in of_all]
    for rank, number in enumerate(numbers):
        if number != numbers[0]:
            raise InvalidArgument(
                f"the ranks differ in the iteration of a step: got {number} on rank {rank}; "
                f"allowed: {numbers[0]} as on rank 0. Give every rank the same"
            )
    of_step = joined_attributes([attrs for _, attrs, *_ in of_all], "the attributes of a step")
    of_series = joined_attributes(
        [attrs for _, _, attrs, _ in of_all], "the attributes of the series"
    )
    groups: dict[str, dict[str, object]] = {}
    for *_, theirs in of_all:
        for name, attrs in theirs.items():
            what = f"the attributes of the group '{name}'"
            groups[name] = joined_attributes([groups.get(name, {}), attrs], what)
    return StepSaid(of_step, of_series, groups, varied)


def _check_whole(name: str, shape: tuple[int, ...], regions: list[Region]) -> None:
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
