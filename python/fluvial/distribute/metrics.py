# SPDX-License-Identifier: Apache-2.0
"""How good a distribution is."""

from __future__ import annotations

from typing import NamedTuple


class Metrics(NamedTuple):
    """The properties of Poeschel et al. 2021, section 3.1, which has the words; as numbers."""

    locality: float
    """Share of the elements that are read where they were written, 0 to 1; 1 is best."""
    balance: float
    """Elements of the reader that has most, over the mean of all readers; 1 is best."""
    alignment: float
    """Share of the elements that are read as a part of a whole chunk, 0 to 1; 1 is best."""
    partners_max: int
    """Writers that one reader reads from, at most."""
    partners_mean: float
    """Writers that a reader reads from, on average."""
    pieces: int
    """Chunks, or parts of chunks, that are read by all readers together."""
    bytes_max: int
    """Bytes of the reader that has most."""
