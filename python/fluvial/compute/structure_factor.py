# SPDX-License-Identifier: Apache-2.0
"""The structure factor operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from .._core import StructureFactor as _Native
from ..base.arguments import (
    to_array,
    to_float,
    to_int,
    to_text,
    wrong_type,
)
from ..base.messages import shown
from .scattering_pattern import Pixels, ScatteringPattern

BYTES_MAX = 4 * 1024**3


@dataclass(frozen=True)
class _Plane:
    """How an operator's indices become pixels: two axes of hkl, their strides, |q| of a step."""

    axes: tuple[int, int]
    strides: tuple[int, int]
    steps: tuple[float, float]


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
    _options: Mapping[str, Any]
    """What the core was given."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _made_again, (type(self), self._options, self._plane)

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
        self._make(
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
        self._make(
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
        self._make(
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
        self._make(
            q=listed,
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
        )
        return self

    def _make(self, **options: Any) -> None:
        _Native.__init__(self, **options)
        self._options = options

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> ScatteringPattern:
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

    def _pixels(self) -> Pixels | None:
        if self._plane is None:
            return None
        u, v = (
            self.hkl[:, a] // stride
            for a, stride in zip(self._plane.axes, self._plane.strides, strict=True)
        )
        counts = int(np.abs(u).max()), int(np.abs(v).max())
        x, y = ((n + 0.5) * step for n, step in zip(counts, self._plane.steps, strict=True))
        return Pixels(u, v, counts, (-x, x, -y, y))


def _made_again(
    kind: type[StructureFactor], options: Mapping[str, Any], plane: _Plane | None
) -> StructureFactor:
    operator = kind.__new__(kind)
    operator._make(**options)
    operator._plane = plane
    return operator


def _triple(values: object, what: str) -> tuple[float, float, float]:
    out = _several(values, what)
    if len(out) != 3:
        raise InvalidArgument(
            f"structure factor: {what} has the wrong length: got {shown(values)}; allowed: three "
            "numbers. Give one an axis."
        )
    a, b, c = (to_float(value, f"an entry of {what}") for value in out)
    return a, b, c


def _pair(values: object, what: str) -> tuple[object, object]:
    out = _several(values, what)
    if len(out) != 2:
        raise InvalidArgument(
            f"structure factor: {what} has the wrong length: got {shown(values)}; allowed: two "
            "entries. Give one a side of the detector."
        )
    return out[0], out[1]


def _several(values: Any, what: str) -> list[object]:
    several = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str)
    if not several or not np.ndim(values):
        raise wrong_type(what, values, "a list of numbers")
    return list(values)


def _int(value: object, what: str) -> int:
    return to_int(value, what, -(2**31), 2**31 - 1)


def _strides(stride: object) -> tuple[int, int, int]:
    if isinstance(stride, Sequence | np.ndarray) and np.ndim(stride):
        if len(stride) != 3:
            _triple(stride, "stride")
        a, b, c = (_int(n, "an entry of stride") for n in stride)
        return a, b, c
    return (_int(stride, "stride"),) * 3
