# SPDX-License-Identifier: Apache-2.0
"""The structure factor operator and what can be read off its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._core import InvalidArgument
from ._core import StructureFactor as _Native
from .arguments import (
    to_array,
    to_float,
    to_int,
    to_ints,
    to_numbers,
    to_text,
    wrong_type,
)
from .messages import shown, shown_text

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]

BYTES_MAX = 4 * 1024**3
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
class _Pixels:
    """Where the q vectors of a plane lie in its image."""

    u: Integers
    v: Integers
    counts: tuple[int, int]
    extent: tuple[float, float, float, float]


@dataclass(frozen=True)
class _Plane:
    """How an operator's indices become pixels: two axes of hkl, their strides, |q| of a step."""

    axes: tuple[int, int]
    strides: tuple[int, int]
    steps: tuple[float, float]


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
    """(Q,) Σ_j w_j exp(i q·r_j)."""
    n_atoms: int
    """Number of atoms, N."""
    sum_w: float
    """Σ w_j."""
    sum_w2: float
    """Σ w_j²; s * n_atoms / sum_w2 tends to 1 at large |q| for weighted atoms."""
    _pixels: _Pixels | None = field(default=None, repr=False)

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

        Raises
        ------
        InvalidArgument
            The q vectors are not a plane.
        """
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

    def _plane(self, what: str) -> _Pixels:
        if self._pixels is None:
            raise InvalidArgument(
                f"{what}: the q vectors are not a plane: got {len(self.q)} vectors in space; "
                "allowed: patterns of StructureFactor.detector and StructureFactor.plane. "
                "Reduce with one of these beside this operator; both run in one pass."
            )
        return self._pixels


class StructureFactor(_Native):
    """Static structure factor S(q) = |Σ_j w_j exp(i q·r_j)|² / N of point atoms.

    It is the kinematic X-ray scattering pattern of the atoms (SAXS, WAXS), as in GAPD,
    doi:10.1107/S1600577517016733. Takes three inputs: the position components x, y and z, (N,)
    float32 or float64 in any unit of length; q is in its inverse. Atoms' weights w_j (real form
    factors) are the reduction's `weights`, 1 without; the reduction is over all axes.

    This constructor covers one half (S(-q) = S(q)) of all reciprocal lattice vectors
    q = 2π (h/Lx, k/Ly, l/Lz) of the periodic box with 0 < |q| <= q_max. `detector` covers a plane
    of this lattice, `plane` any plane, `at` any list. The result is a `ScatteringPattern`.

    Costs about N Q / 10¹⁰ s on one core with AVX2 or AVX-512 in float64, half of it in float32
    (`at`: N Q / 10⁹ s); what travels between ranks is 16 Q + 32 bytes.

    Parameters
    ----------
    box
        Edge lengths (Lx, Ly, Lz) of the periodic box, in the positions' unit.
    q_max
        Largest |q|, in its inverse.
    stride
        Only every stride-th index h, k and l (one number, or one an axis).
    precision
        "float64": within 1e-9 Σ|w| of direct evaluation; "float32": products in float32, summed in
        float64 every 128 atoms: within 1e-6 Σ|w|. Positions are always reduced in float64.
    bytes_max
        Refuse sets of q vectors that need more memory than this (128 bytes a vector).

    Raises
    ------
    InvalidArgument
        A value is out of range, no q vector is left, or they need more than `bytes_max`.

    Examples
    --------
    A perfect fcc crystal of 4 x 4 x 4 cells: S(111) = N, S(100) = 0.

    >>> import numpy as np, fluvial as fl
    >>> corners = np.stack(np.meshgrid(*[range(4)] * 3, indexing="ij"), axis=-1).reshape(-1, 1, 3)
    >>> basis = np.array([[0, 0, 0], [0.5, 0.5, 0], [0.5, 0, 0.5], [0, 0.5, 0.5]])
    >>> x, y, z = (corners + basis).reshape(-1, 3).T
    >>> pattern = fl.reduce(fl.ops.StructureFactor(box=(4, 4, 4), q_max=15), [x, y, z])
    >>> pattern.n_atoms, round(pattern.peak((1, 1, 1), cells=4), 6)
    (256, 256.0)
    >>> round(pattern.peak((1, 0, 0), cells=4), 6)
    0.0
    """

    _plane: _Plane | None = None

    def __init__(
        self,
        box: Sequence[float],
        q_max: float,
        *,
        stride: int | Sequence[int] = 1,
        precision: str = "float64",
        bytes_max: float = BYTES_MAX,
        kernel: str = "",
    ) -> None:
        super().__init__(
            box=_triple(box, "box"),
            q_max=to_float(q_max, "q_max"),
            stride=_strides(stride),
            precision=to_text(precision, "precision"),
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
        )

    @classmethod
    def detector(
        cls,
        box: Sequence[float],
        q_max: float | Sequence[float],
        *,
        axes: Sequence[int] = (0, 1),
        stride: int | Sequence[int] = 1,
        precision: str = "float64",
        bytes_max: float = BYTES_MAX,
        kernel: str = "",
    ) -> StructureFactor:
        """Cover a flat detector: the plane of two axes of the box's reciprocal lattice.

        Parameters
        ----------
        box, stride, precision, bytes_max
            As for the class.
        q_max
            Largest |q_u| and |q_v| (one number: the same): the detector is a rectangle.
        axes
            The two axes of the box, u and v: the first and second axis of the image.

        Examples
        --------
        >>> import numpy as np, fluvial as fl
        >>> detector = fl.ops.StructureFactor.detector(box=(4, 4, 4), q_max=(8, 5))
        >>> r = np.random.default_rng(1).uniform(0, 4, (3, 1000))
        >>> fl.reduce(detector, list(r)).image().shape
        (11, 7)
        """
        widest, highest = _pair((q_max, q_max) if np.ndim(q_max) == 0 else q_max, "q_max")
        u, v = (_int(axis, "an entry of axes") for axis in _pair(axes, "axes"))
        self = cls.__new__(cls)
        _Native.__init__(
            self,
            box=_triple(box, "box"),
            sides=(to_float(widest, "q_max"), to_float(highest, "q_max")),
            axes=(u, v),
            stride=_strides(stride),
            precision=to_text(precision, "precision"),
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
        )
        strides = _strides(stride)
        edges = _triple(box, "box")
        self._plane = _Plane(
            axes=(u, v),
            strides=(strides[u], strides[v]),
            steps=(2 * np.pi * strides[u] / edges[u], 2 * np.pi * strides[v] / edges[v]),
        )
        return self

    @classmethod
    def plane(
        cls,
        a: Sequence[float],
        b: Sequence[float],
        counts: Sequence[int],
        *,
        precision: str = "float64",
        bytes_max: float = BYTES_MAX,
        kernel: str = "",
    ) -> StructureFactor:
        """Cover any plane of q vectors: i a + j b for |i| <= counts[0] and |j| <= counts[1].

        Parameters
        ----------
        a, b
            (3,) q of one pixel step along the first and second axis of the image.
        counts
            Pixels on each side of the beam.
        precision, bytes_max
            As for the class.
        """
        self = cls.__new__(cls)
        m, n = (_int(c, "an entry of counts") for c in _pair(counts, "counts"))
        _Native.__init__(
            self,
            a=_triple(a, "a"),
            b=_triple(b, "b"),
            counts=(m, n),
            precision=to_text(precision, "precision"),
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
        )
        steps = float(np.linalg.norm(a)), float(np.linalg.norm(b))
        self._plane = _Plane(axes=(0, 1), strides=(1, 1), steps=steps)
        return self

    @classmethod
    def at(
        cls, q: npt.ArrayLike, *, bytes_max: float = BYTES_MAX, kernel: str = ""
    ) -> StructureFactor:
        """Cover the listed q vectors, evaluated one by one in float64.

        Parameters
        ----------
        q
            (Q, 3) vectors, in the inverse of the positions' unit.
        bytes_max
            As for the class.
        """
        listed = np.ascontiguousarray(to_array(q, "q"), dtype=np.float64)
        if listed.ndim != 2 or listed.shape[1] != 3:
            raise InvalidArgument(
                f"structure factor: q has the wrong shape: got {listed.shape}; allowed: (Q, 3). "
                "Stack the components with numpy.stack([qx, qy, qz], axis=1)."
            )
        self = cls.__new__(cls)
        _Native.__init__(
            self,
            q=listed,
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
        )
        return self

    def wrap(self, arrays: Mapping[str, Any]) -> ScatteringPattern:
        """Return the named arrays of a finished reduction as a `ScatteringPattern`."""
        return ScatteringPattern(
            q=arrays["q"],
            hkl=arrays.get("hkl"),
            s=arrays["value"],
            amplitude=arrays["amplitude"],
            n_atoms=int(arrays["n_atoms"]),
            sum_w=float(arrays["sum_w"]),
            sum_w2=float(arrays["sum_w2"]),
            _pixels=self._pixels(),
        )

    def _pixels(self) -> _Pixels | None:
        if self._plane is None:
            return None
        u, v = (
            self.hkl[:, a] // stride
            for a, stride in zip(self._plane.axes, self._plane.strides, strict=True)
        )
        counts = int(np.abs(u).max()), int(np.abs(v).max())
        x, y = ((n + 0.5) * step for n, step in zip(counts, self._plane.steps, strict=True))
        return _Pixels(u, v, counts, (-x, x, -y, y))


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


def _triple(values: Any, what: str) -> tuple[float, float, float]:
    out = _several(values, what)
    if len(out) != 3:
        raise InvalidArgument(
            f"structure factor: {what} has the wrong length: got {shown(values)}; allowed: three "
            "numbers. Give one an axis."
        )
    a, b, c = (to_float(value, f"an entry of {what}") for value in out)
    return a, b, c


def _pair(values: Any, what: str) -> tuple[Any, Any]:
    out = _several(values, what)
    if len(out) != 2:
        raise InvalidArgument(
            f"structure factor: {what} has the wrong length: got {shown(values)}; allowed: two "
            "entries. Give one a side of the detector."
        )
    return out[0], out[1]


def _several(values: Any, what: str) -> list[Any]:
    several = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str)
    if not several or not np.ndim(values):
        raise wrong_type(what, values, "a list of numbers")
    return list(values)


def _int(value: Any, what: str) -> int:
    return to_int(value, what, -(2**31), 2**31 - 1)


def _strides(stride: Any) -> tuple[int, int, int]:
    if isinstance(stride, Sequence | np.ndarray) and np.ndim(stride):
        if len(stride) != 3:
            _triple(stride, "stride")
        a, b, c = (_int(n, "an entry of stride") for n in stride)
        return a, b, c
    return (_int(stride, "stride"),) * 3
