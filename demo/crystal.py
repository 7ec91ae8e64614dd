# SPDX-License-Identifier: Apache-2.0
"""The crystal that melts: argon as Lennard-Jones atoms on an fcc lattice, in reduced units.

Reduced units measure length in sigma, energy in epsilon, mass in the atom's mass; `Argon` says what
they are in SI. The beam of the virtual detector runs along [1 -1 0], so the box's axes are
x = [0 0 1], y = [1 1 0], z = [1 -1 0], and the plane of the detector (x, y) holds the reflections
111, 002 and 220.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations, product

STRIDE = 4
"""Cell counts are multiples of it, so that a q grid thinned by it still holds each Bragg peak."""

FEWEST_ATOMS, MOST_ATOMS = 2_000, 20_000_000
REFLECTIONS = ((1, 1, 1), (2, 0, 0), (2, 2, 0), (3, 1, 1), (2, 2, 2))
"""Reflections of the fcc lattice (indices all even or all odd) by rising |q|."""


class Argon:
    """Lennard-Jones argon: what the reduced units are in SI (doi:10.1103/PhysRev.136.A405)."""

    BOLTZMANN = 1.380649e-23
    LENGTH = 3.405e-10
    MASS = 39.948 * 1.66053906892e-27
    TEMPERATURE = 119.8
    ENERGY = TEMPERATURE * BOLTZMANN
    TIME = LENGTH * math.sqrt(MASS / ENERGY)
    VELOCITY = LENGTH / TIME
    PRESSURE = ENERGY / LENGTH**3


@dataclass(frozen=True)
class Crystal:
    """A periodic fcc crystal of 2·nx·ny·nz atoms.

    Attributes
    ----------
    cells
        Repeats (nx, ny, nz) of the cell a × a/√2 × a/√2 with two atoms along x, y, z.
    density
        Atoms per sigma³. The default is solid argon's at its triple point (a = 5.466 Å).
    """

    cells: tuple[int, int, int]
    density: float = 0.967

    @classmethod
    def with_atoms(cls, fewest: int) -> Crystal:
        """Return a crystal of at least `fewest` atoms, few more, and nearly a cube.

        Raises
        ------
        ValueError
            When `fewest` is outside `FEWEST_ATOMS` … `MOST_ATOMS`.
        """
        if not FEWEST_ATOMS <= fewest <= MOST_ATOMS:
            raise ValueError(
                f"{fewest} atoms; the demo takes {FEWEST_ATOMS} to {MOST_ATOMS}: below, the box is "
                "too small for the reach of the forces"
            )
        edge = (fewest / 4) ** (1 / 3)  # cells of a cube
        near = range(STRIDE, int(2 * edge) + 2 * STRIDE, STRIDE)
        across = range(STRIDE, int(3 * edge) + 2 * STRIDE, STRIDE)

        def cost(cells: tuple[int, int, int]) -> float:
            lengths = (cells[0], cells[1] / math.sqrt(2), cells[2] / math.sqrt(2))
            surplus = 2 * math.prod(cells) / fewest - 1
            return surplus + (max(lengths) / min(lengths) - 1)

        candidates = (
            (nx, ny, nz)
            for nx, ny in product(near, across)
            for nz in (ny, ny + STRIDE)
            if 2 * nx * ny * nz >= fewest
        )
        return cls(min(candidates, key=cost))

    @property
    def atoms(self) -> int:
        """Number of atoms."""
        return 2 * math.prod(self.cells)

    @property
    def lattice_constant(self) -> float:
        """Edge a of the cubic cell, in sigma: four atoms fill a³ at this density."""
        return (4 / self.density) ** (1 / 3)

    @property
    def box(self) -> tuple[float, float, float]:
        """Lengths of the periodic box along x, y, z, in sigma."""
        nx, ny, nz = self.cells
        a = self.lattice_constant
        return nx * a, ny * a / math.sqrt(2), nz * a / math.sqrt(2)

    def q_norm(self, reflection: tuple[int, int, int]) -> float:
        """Return |q| of a reflection hkl, 2π/a·√(h² + k² + l²), in 1/sigma."""
        return 2 * math.pi / self.lattice_constant * math.sqrt(sum(i * i for i in reflection))

    def star(self, reflection: tuple[int, int, int]) -> list[tuple[int, int, int]]:
        """Return the integer multiples of 2π/box for all reflections equivalent to hkl.

        Of each pair q and -q, whose intensities are equal, one is listed.
        """
        nx, ny, nz = self.cells
        found: set[tuple[int, int, int]] = set()
        for indices in set(permutations(reflection)):
            for signs in product((1, -1), repeat=3):
                h, k, m = (i * s for i, s in zip(indices, signs, strict=True))
                multiple = (m * nx, (h + k) // 2 * ny, (h - k) // 2 * nz)
                if tuple(-i for i in multiple) not in found:
                    found.add(multiple)
        return sorted(found)


def label(reflection: tuple[int, int, int]) -> str:
    """Return hkl as crystallographers write it, e.g. ``(111)``."""
    return "(" + "".join(str(i) for i in reflection) + ")"
