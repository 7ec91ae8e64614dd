# SPDX-License-Identifier: Apache-2.0
"""What a structure factor operator finds, and what can be read off it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from ..base.arguments import to_float, to_int, to_ints, to_numbers
from ..base.messages import shown, shown_text

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]

_BINS_MAX = 10**8


class RadialAverage(NamedTuple):
    """S(|q|): one entry a bin."""

    q: Floats
    """(B,) centres of the bins."""
    s: Floats
    """(B,) mean S of the q vectors in each bin; NaN where there is none."""
    counts: npt.NDArray[np.int64]
    """(B,) number of q vectors in each bin (of one half space; the other half is the same)."""


@dataclass(frozen=True)
class Pixels:
    """Where the q vectors of a plane lie in its image."""

    u: Integers
    v: Integers
    counts: tuple[int, int]
    extent: tuple[float, float, float, float]


class SpeciesAmplitude(NamedTuple):
    """What the atoms of one species contribute, before it is multiplied by their form factor."""

    n_atoms: int
    amplitude: npt.NDArray[np.complex128]
    """(Q,) Σ_j w_j exp(i q·r_j) of these atoms."""


@dataclass(frozen=True, eq=False)
class ScatteringPattern:
    """S(q) on a set of q vectors: the result of `StructureFactor`.

    Of q and -q, which have the same S, only one is listed (unless the set was given as a list).
    """

    q: Floats
    """(Q, 3) q vectors, in the inverse of the positions' unit of length."""
    hkl: npt.NDArray[np.int32] | None
    """(Q, 3) indices: Miller indices of the periodic box, (i, j, 0) of a plane, None for a list."""
    s: Floats
    """(Q,) S(q) = |amplitude|² / n_atoms; NaN without atoms."""
    amplitude: npt.NDArray[np.complex128]
    """(Q,) Σ_j w_j f_j(|q|) exp(i q·r_j), f being 1 without form factors."""
    n_atoms: int
    """Number of atoms, N."""
    sum_w: float
    """Σ w_j."""
    sum_w2: float
    """Σ w_j²; s * n_atoms / sum_w2 tends to 1 at large |q| for weighted atoms."""
    species: dict[int, SpeciesAmplitude] = field(default_factory=dict, repr=False)
    """Of an operator with form factors: by the number of the species."""
    _pixels: Pixels | None = field(default=None, repr=False)
    _rows: tuple[int, int] | None = field(default=None, repr=False)

    def radial(
        self, bins: int | npt.ArrayLike | None = None, dq: float | None = None
    ) -> RadialAverage:
        """Return S averaged over directions; q = 0 is left out.

        Parameters
        ----------
        bins
            Number of equal bins from 0 to the largest |q|, or their (B + 1,) ascending edges.
        dq
            Width of the bins instead, in the unit of q; they are centred on its multiples. Without
            either it is the smallest |q|, which keeps each of a box's shells in one bin.

        Raises
        ------
        InvalidArgument
            Both are given, or one is out of range.
        """
        length = np.linalg.norm(self.q, axis=1)
        used = length > 0
        length, s = length[used], self.s[used]
        edges = _edges(length, bins, dq)
        place = np.searchsorted(edges, length, side="right") - 1
        place[length == edges[-1]] = len(edges) - 2
        inside = (place >= 0) & (place < len(edges) - 1)
        counts = np.bincount(place[inside], minlength=len(edges) - 1)
        total = np.bincount(place[inside], weights=s[inside], minlength=len(edges) - 1)
        with np.errstate(invalid="ignore"):
            mean = total / counts
        return RadialAverage((edges[:-1] + edges[1:]) / 2, mean, counts)

    def image(self) -> Floats:
        """Return the detector image, (2 m + 1, 2 n + 1) pixels, completed by S(-q) = S(q).

        Pixel [m + i, n + j] is q = i a + j b, a and b being one step along the first and second
        axis of the plane: the beam, q = 0, is in the middle. For matplotlib: ``imshow(image.T,
        origin="lower", extent=pattern.extent)``.

        Of a camera it is (rows, columns), as the detector has them.

        Raises
        ------
        InvalidArgument
            The q vectors are not a plane.
        """
        if self._rows is not None:
            return self.s.reshape(self._rows)
        pixels = self._plane("image()")
        m, n = pixels.counts
        image = np.empty((2 * m + 1, 2 * n + 1))
        image[m + pixels.u, n + pixels.v] = self.s
        image[m - pixels.u, n - pixels.v] = self.s
        return image

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Edges of the image along its first and second axis, in the unit of q."""
        return self._plane("extent").extent

    def peak(self, hkl: Sequence[int], cells: int | Sequence[int] = 1) -> float:
        """Return S at one reciprocal lattice vector of the box, or at its opposite.

        Parameters
        ----------
        hkl
            Indices of the vector.
        cells
            Unit cells along each edge of the box (one number: the same along all): with it `hkl`
            are the crystal's Miller indices, and the box's are `hkl` times `cells`.

        Raises
        ------
        InvalidArgument
            The vector is not in the set.
        """
        try:
            index, factor = (
                np.array([to_int(n, what) for n in to_ints(given, what)])
                for given, what in ((hkl, "hkl"), (cells, "cells"))
            )
            wanted = index * factor
        except ValueError as error:
            if isinstance(error, InvalidArgument):
                raise
            raise InvalidArgument(
                f"peak: hkl and cells do not fit: got {shown(hkl)} and {shown(cells)}; allowed: "
                "three indices, and one number of cells or three"
            ) from None
        if self.hkl is not None and wanted.shape == (3,):
            either = (self.hkl == wanted).all(axis=1) | (self.hkl == -wanted).all(axis=1)
            found = np.flatnonzero(either)
            if found.size:
                return float(self.s[found[0]])
            allowed = f"at most {np.abs(self.hkl).max(axis=0)}, in steps of the stride"
        else:
            allowed = "three indices, of an operator that covers a lattice"
        raise InvalidArgument(
            f"peak: this vector is not among the q vectors: got {shown_text(str(wanted))} of the "
            f"box; allowed: {allowed}. Raise q_max, or check the number of cells."
        )

    def _plane(self, what: str) -> Pixels:
        if self._pixels is None:
            raise InvalidArgument(
                f"{what}: the q vectors are not a plane: got {len(self.q)} vectors in space; "
                "allowed: patterns of StructureFactor.detector and StructureFactor.plane. "
                "Reduce with one of these beside this operator; both run in one pass."
            )
        return self._pixels


def _edges(length: Floats, bins: int | npt.ArrayLike | None, dq: float | None) -> Floats:
    longest = float(length.max())
    if bins is not None and dq is not None:
        raise InvalidArgument("radial: got both bins and dq; allowed: one of them. Leave one out.")
    if bins is None:
        width = float(length.min()) if dq is None else to_float(dq, "dq")
        if not (width > 0 and np.isfinite(width)):
            raise InvalidArgument(
                f"radial: dq is out of range: got {dq}; allowed: above 0. "
                f"Leave it out for {length.min()}."
            )
        first, last = np.floor(np.array([length.min(), longest]) / width + 0.5).astype(np.int64)
        return (np.arange(first, last + 2) - 0.5) * width
    if isinstance(bins, int | np.integer):
        if isinstance(bins, bool) or not 1 <= bins <= _BINS_MAX:
            raise InvalidArgument(
                f"radial: bins is out of range: got {shown(bins)}; allowed: 1 to {_BINS_MAX}"
            )
        return np.linspace(0.0, longest, int(bins) + 1)
    edges = np.array(to_numbers(bins, "bins"))
    if np.ndim(bins) != 1 or edges.ndim != 1 or edges.size < 2 or not (np.diff(edges) > 0).all():
        raise InvalidArgument(
            f"radial: the edges are unusable: got {shown(bins)}; allowed: 2 or more, ascending. "
            "Pass a number of bins or numpy.linspace(...)."
        )
    return edges
