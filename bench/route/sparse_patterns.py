# SPDX-License-Identifier: Apache-2.0
"""How much each rank has to write: section 6 of Bui et al. 2016, one process a host."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable

MB = 10**6
MOST = 8 * MB
_SEED = 1

SHAPES = {
    128: (4, 4, 2, 2, 2),
    512: (4, 4, 4, 4, 2),
    2048: (4, 4, 4, 16, 2),
    8192: (4, 4, 16, 16, 2),
}
"""A×B×C×D×E of partitions by their number of hosts."""

Bytes = dict[int, int]
"""By host; hosts that have none are left out."""


def contiguous(hosts: int) -> Bytes:
    """Pattern 1 on the first tenth of the hosts: 0 to 8 MB each, uniform."""
    return _uniform(range(round(hosts / 10)))


def scattered(hosts: int) -> Bytes:
    """Pattern 1 on a tenth of the hosts, drawn at random."""
    return _uniform(sorted(random.Random(_SEED).sample(range(hosts), round(hosts / 10))))


def region(hosts: int) -> Bytes:
    """0 to 8 MB on each host of a box of the torus: half of A, B, C and D, a sixteenth of all."""
    shape = SHAPES[hosts]
    halves = [range(length // 2) for length in shape[:-1]]
    strides = [math.prod(shape[dim + 1 :]) for dim in range(len(shape))]
    places = itertools.product(*halves, range(shape[-1]))
    numbers = (sum(i * by for i, by in zip(at, strides, strict=True)) for at in places)
    return _uniform(sorted(numbers))


def pareto(hosts: int) -> Bytes:
    """Pattern 2: most hosts have little, a few have 8 MB; together a fifth of 8 MB for each."""
    draw = random.Random(_SEED)
    sizes = [min(MOST, int(0.4 * MB * (draw.paretovariate(0.9) - 1))) for _ in range(hosts)]
    return {host: size for host, size in enumerate(sizes) if size > 0}


def hacc(hosts: int) -> Bytes:
    """HACC I/O: the processes from four to five tenths write, all alike."""
    return dict.fromkeys(range(4 * hosts // 10, 5 * hosts // 10), MOST // 2)


def _uniform(hosts: list[int] | range) -> Bytes:
    draw = random.Random(_SEED)
    sizes = {host: draw.randint(0, MOST) for host in hosts}
    return {host: size for host, size in sizes.items() if size > 0}


PATTERNS: dict[str, Callable[[int], Bytes]] = {
    "contiguous 10 %": contiguous,
    "random 10 %": scattered,
    "a region": region,
    "Pareto": pareto,
    "HACC I/O": hacc,
}
