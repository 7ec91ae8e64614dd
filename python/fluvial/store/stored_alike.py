# SPDX-License-Identifier: Apache-2.0
"""Whether files can be joined: they store datasets alike, and what is behind them is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.messages import listed
from ..describe.storage_attributes import DECODING


def check_that_only_the_last_grows(files: Sequence[_core.File]) -> None:
    """Refuse to join a file that is still being written with others behind it.

    Behind records that are not complete no others can lie.
    """
    for file, behind in pairwise(files):
        if file.grows:
            raise InvalidArgument(
                "a file that is still being written cannot be joined with those behind it: got "
                f"{file.path!r} before {behind.path!r}; allowed: such a file as the last one. Open "
                "them when it is complete, or leave out what is behind it"
            )


def check_same_axes(name: str, parts: Sequence[_core.FileDataset]) -> None:
    """Refuse files in which the axes behind the first one have other names, or another order.

    Of equal lengths, they would pass for the same. Axes without a name may be any.
    """
    first = parts[0]
    for part in parts[1:]:
        pairs = zip(part.dimensions[1:], first.dimensions[1:], strict=False)
        if any(mine and its and mine != its for mine, its in pairs):
            raise InvalidArgument(
                f"cannot join '{name}' of {part.path!r}: got axes {listed(part.dimensions)}; "
                f"allowed: {listed(first.dimensions)} as in {first.path!r}. Reduce the files one "
                "by one."
            )


def check_stored_alike(name: str, parts: Sequence[_core.FileDataset]) -> None:
    """Refuse files that pack one dataset in different ways, or say that it has other units."""
    first = parts[0].attributes
    for part in parts[1:]:
        for key in (*DECODING, "units"):
            said, expected = part.attributes.get(key), first.get(key)
            if key == "units" and None in (said, expected):
                continue  # one of them does not say any
            if _differ(said, expected):
                raise InvalidArgument(
                    f"the files store '{name}' differently: got {key} = {said!r} in "
                    f"{part.path!r}; allowed: {expected!r} as in {parts[0].path!r}. Reduce each "
                    "file by itself and merge the results, or open them with decode=False."
                )


def _differ(said: object, expected: object) -> bool:
    one, other = (np.nan if value is None else value for value in (said, expected))
    both_nan = one != one and other != other  # NaN is missing, said or not
    return one != other and not both_nan
