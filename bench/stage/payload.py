# SPDX-License-Identifier: Apache-2.0
"""What travels in each step: one float64 array.

Its first element, the stamp, says when it was sent.  The other elements are the integers 0…255
over and over, so that any order of summation gives the same float64 exactly and the reader can
check every step.
"""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

NAME = "meshes/field/x"
BYTES_MIN = 8


def body(count: int) -> NDArray[np.float64]:
    """Make an array of `count` elements, the stamp not yet set (0)."""
    values = np.tile(np.arange(256, dtype=np.float64), -(-count // 256))[:count].copy()
    values[0] = 0.0
    return values


def expected_sum(count: int) -> float:
    """Return the sum of a body of `count` elements without its stamp."""
    whole, rest = divmod(count, 256)
    return float(whole * (255 * 256 // 2) + rest * (rest - 1) // 2)


def stamp(epoch_ns: int) -> float:
    """Return the ns since `epoch_ns` (CLOCK_MONOTONIC, which all processes of a host share)."""
    return float(time.monotonic_ns() - epoch_ns)


def ping_stamp(epoch_ns: int) -> float:
    """Return a stamp, negative, that asks the reader to say when it has summed the step."""
    return -stamp(epoch_ns)


def check(total: float, stamped: float, previous: float, count: int) -> None:
    """Raise ValueError unless a step is whole (its sum fits) and later than the one before."""
    if total - stamped != expected_sum(count):
        raise ValueError(
            f"the step's elements sum to {total - stamped}, expected {expected_sum(count)}: "
            "the data arrived damaged"
        )
    if abs(stamped) <= previous:
        raise ValueError(f"a step stamped {stamped} ns follows one stamped {previous} ns")
