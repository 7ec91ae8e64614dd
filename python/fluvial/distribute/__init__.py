# SPDX-License-Identifier: Apache-2.0
"""Which reading rank gets which part of what was written.

A *strategy* assigns chunks, each with the rank and the place that it was written at, to readers.
Strategies are named by text, as in ``"by-host(binpacking, fallback=hyperslabs)"``; `names` lists
them, the guide *Distributing chunks* compares them, and a function of yours is one, too.

>>> import fluvial as fl
>>> chunks = [((0,), (60,)), ((60,), (30,)), ((90,), (30,))]
>>> made = fl.distribute.assign(chunks, 2, "even-binpacking")
>>> [[(p.offset, p.extent) for p in share] for share in made.shares]
[[((0,), (60,))], [((60,), (30,)), ((90,), (30,))]]
>>> made.metrics().balance
1.0
"""

from .assignment import Distribution, assign, describe, names
from .metrics import Metrics
from .own_place import own_place
from .piece import ANYWHERE, Piece, Place

__all__ = [
    "ANYWHERE",
    "Distribution",
    "Metrics",
    "Piece",
    "Place",
    "assign",
    "describe",
    "names",
    "own_place",
]


def __dir__() -> list[str]:
    return sorted(__all__)
