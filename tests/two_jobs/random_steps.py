# SPDX-License-Identifier: Apache-2.0
"""Steps of random datasets that a writing and a reading job both derive from one seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

DTYPES = (
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)


@dataclass(frozen=True)
class Put:
    """One chunk of a dataset and the rank that writes it."""

    rank: int
    offset: tuple[int, ...]
    extent: tuple[int, ...]

    @property
    def box(self) -> tuple[slice, ...]:
        """Return the chunk as an index into the whole array."""
        return tuple(slice(o, o + n) for o, n in zip(self.offset, self.extent, strict=True))


@dataclass(frozen=True)
class RandomDataset:
    """The whole array and the chunks that cover it."""

    name: str
    array: np.ndarray
    puts: list[Put]


def random_step(seed: int, step: int, ranks: int) -> list[RandomDataset]:
    """Datasets of every dtype, 0 to 4 dimensions, some empty, cut at random among `ranks`.

    A rank writes none, one or several chunks of each.
    """
    rng = np.random.default_rng([seed, step])
    datasets = []
    for number, dtype in enumerate(DTYPES):
        shape = tuple(int(n) for n in rng.integers(1, 9, size=rng.integers(0, 5)))
        if shape and rng.random() < 0.1:
            shape = (0, *shape[1:])
        whole = rng.integers(0, 120, shape).astype(dtype)
        if dtype.startswith("complex"):
            whole = (whole * (1 + 2j)).astype(dtype)
        puts = random_puts(rng, shape, ranks)
        datasets.append(RandomDataset(f"meshes/{dtype}/{number % 3}", np.asarray(whole), puts))
    return datasets


def random_puts(rng: np.random.Generator, shape: tuple[int, ...], ranks: int) -> list[Put]:
    """Cut an array into boxes, each of some rank; a rank may have none or several."""
    boxes = [((0,) * len(shape), shape)]
    for _ in range(int(rng.integers(0, 2 * ranks + 1))):
        if len(boxes) < 12:
            boxes = [half for box in boxes for half in _halves(rng, *box)]
    return [Put(int(rng.integers(ranks)), offset, extent) for offset, extent in boxes]


def random_selection(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[slice | int, ...]:
    """Return basic indexing with ints and strided slices, also empty ones."""
    entries: list[slice | int] = []
    for extent in shape:
        if extent and rng.random() < 0.25:
            entries.append(int(rng.integers(-extent, extent)))
        elif rng.random() < 0.25:
            entries.append(slice(None))
        else:
            first, last = sorted(int(i) for i in rng.integers(0, extent + 1, 2))
            entries.append(slice(first, last, int(rng.integers(1, 4))))
    return tuple(entries[: int(rng.integers(len(entries) + 1))])


def _halves(rng, offset, extent):
    axes = [axis for axis, n in enumerate(extent) if n > 1]
    if not axes or rng.random() < 0.5:
        return [(offset, extent)]
    axis = int(rng.choice(axes))
    cut = int(rng.integers(1, extent[axis]))
    at = tuple(o + cut * (a == axis) for a, o in enumerate(offset))
    lower = tuple(cut if a == axis else n for a, n in enumerate(extent))
    upper = tuple(n - cut if a == axis else n for a, n in enumerate(extent))
    return [(offset, lower), (at, upper)]
