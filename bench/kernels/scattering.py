# SPDX-License-Identifier: Apache-2.0
"""The structure factor S(q) = |Σ_j exp(i q·r_j)|² / N of the same atoms by Fluvial and by NumPy.

All lattice vectors q = 2π (h, k, l) / L of a cubic box in one half of a sphere.  NumPy's better way
factors the phase: exp(i q·r) is a product of three tables, one an axis, and the sum over atoms is a
matrix product.  Its direct way evaluates one complex exponential an atom and q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

DIRECT_Q_MAX = 64


@dataclass(frozen=True)
class Atoms:
    """Positions in a cubic box of edge `box`, float64."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    z: NDArray[np.float64]
    box: float

    @classmethod
    def gas(cls, count: int, box: float = 20.0) -> Atoms:
        """Make atoms at random places, the same ones each time."""
        x, y, z = np.random.default_rng(1).uniform(0.0, box, (3, count))
        return cls(x, y, z, box)


def half_sphere(order_max: int) -> NDArray[np.int64]:
    """Return the indices (Q, 3) with 0 < h² + k² + l² <= order_max², one of each q and -q."""
    side = np.arange(-order_max, order_max + 1)
    h, k, m = (axis.ravel() for axis in np.meshgrid(side, side, side, indexing="ij"))
    first = (h > 0) | ((h == 0) & (k > 0)) | ((h == 0) & (k == 0) & (m > 0))
    inside = h * h + k * k + m * m <= order_max * order_max
    return np.stack([h, k, m], axis=1)[first & inside]


def direct(atoms: Atoms, hkl: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return S of each row of `hkl`, one complex exponential an atom and q."""
    unit = 2.0 * np.pi / atoms.box
    found = np.empty(len(hkl))
    for number, (h, k, m) in enumerate(hkl):
        phase = unit * (h * atoms.x + k * atoms.y + m * atoms.z)
        found[number] = abs(np.exp(1j * phase).sum()) ** 2 / atoms.x.size
    return found


def factored(atoms: Atoms, hkl: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return S of each row of `hkl` by tables of phases an axis and one matrix product an h."""
    order = int(np.abs(hkl).max())
    side = np.arange(-order, order + 1)
    unit = 2.0j * np.pi / atoms.box
    table = [np.exp(unit * np.multiply.outer(side, r)) for r in (atoms.x, atoms.y, atoms.z)]
    found = np.empty(len(hkl))
    for h in np.unique(hkl[:, 0]):
        rows = np.flatnonzero(hkl[:, 0] == h)
        amplitude = (table[0][h + order] * table[1]) @ table[2].T
        wanted = amplitude[hkl[rows, 1] + order, hkl[rows, 2] + order]
        found[rows] = np.abs(wanted) ** 2 / atoms.x.size
    return found


def contestants(count: int, order_max: int) -> dict[str, tuple[int, Callable[[], float]]]:
    """Return by name (number of q vectors, a call that gives the mean of S over them).

    The direct way is given the first `DIRECT_Q_MAX` vectors only: its time is proportional to them.
    """
    import fluvial

    atoms = Atoms.gas(count)
    hkl = half_sphere(order_max)
    box = (atoms.box,) * 3
    q_max = 2.0 * np.pi / atoms.box * (order_max + 1e-6)

    def ours(precision: str) -> Callable[[], float]:
        op = fluvial.ops.StructureFactor(box=box, q_max=q_max, precision=precision)
        if len(op.q) != len(hkl):
            raise RuntimeError(f"Fluvial has {len(op.q)} q vectors, expected {len(hkl)}")
        return lambda: float(np.mean(fluvial.reduce(op, [atoms.x, atoms.y, atoms.z]).s))

    return {
        "Fluvial, float64": (len(hkl), ours("float64")),
        "Fluvial, float32": (len(hkl), ours("float32")),
        "NumPy, factored": (len(hkl), lambda: float(factored(atoms, hkl).mean())),
        "NumPy, direct": (
            min(len(hkl), DIRECT_Q_MAX),
            lambda: float(direct(atoms, hkl[:DIRECT_Q_MAX]).mean()),
        ),
    }
