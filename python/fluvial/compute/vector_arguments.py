# SPDX-License-Identifier: Apache-2.0
"""What callers of the structure factor give for axes of a box and sides of a detector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core import InvalidArgument
from ..base.arguments import to_float, to_int, wrong_type
from ..base.messages import shown


def triple(values: object, what: str) -> tuple[float, float, float]:
    """Return three numbers, one an axis."""
    out = _several(values, what)
    if len(out) != 3:
        raise InvalidArgument(
            f"structure factor: {what} has the wrong length: got {shown(values)}; allowed: three "
            "numbers. Give one an axis."
        )
    a, b, c = (to_float(value, f"an entry of {what}") for value in out)
    return a, b, c


def pair(values: object, what: str) -> tuple[object, object]:
    """Return two entries, one a side of the detector."""
    out = _several(values, what)
    if len(out) != 2:
        raise InvalidArgument(
            f"structure factor: {what} has the wrong length: got {shown(values)}; allowed: two "
            "entries. Give one a side of the detector."
        )
    return out[0], out[1]


def _several(values: object, what: str) -> list[object]:
    if (
        isinstance(values, Sequence | np.ndarray)
        and not isinstance(values, str)
        and np.ndim(values)
    ):
        return list(values)
    raise wrong_type(what, values, "a list of numbers")


def c_int(value: object, what: str) -> int:
    """Return an int of 32 bits, as the core takes it."""
    return to_int(value, what, -(2**31), 2**31 - 1)


def strides_of(stride: object) -> tuple[int, int, int]:
    """Return one an axis, of one for all or of three."""
    if isinstance(stride, Sequence | np.ndarray) and np.ndim(stride):
        if len(stride) != 3:
            triple(stride, "stride")
        a, b, c = (c_int(n, "an entry of stride") for n in stride)
        return a, b, c
    return (c_int(stride, "stride"),) * 3
