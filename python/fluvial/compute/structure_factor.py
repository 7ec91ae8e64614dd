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
from ..base.arguments import to_array, to_float, to_text
from .form_factor import FormFactor, to_factors
from .scattering_pattern import Pixels, ScatteringPattern, SpeciesAmplitude
from .vector_arguments import c_int, pair, strides_of, triple

BYTES_MAX = 4 * 1024**3
FormFactors = Mapping[int, "FormFactor | str | float"] | None
Vector = Sequence[float]


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
    float32 or float64 in any unit of length; q is in its inverse. Atoms' weights w_j are the
    reduction's `weights`, 1 without; the reduction is over all axes. With `form_factors` there is a
    fourth input, the number of each atom's species, and w_j is multiplied by f(|q|).

    This constructor covers one half (S(-q) = S(q)) of all reciprocal lattice vectors
    q = 2π (h/Lx, k/Ly, l/Lz) of the periodic box with 0 < |q| <= q_max. `detector` covers a plane
    of this lattice, `plane` any plane, `at` any list, `camera` the pixels of a detector in real
    space. The result is a `ScatteringPattern`.

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
    form_factors
        By the number of a species, as the fourth input has it: an element (``"Fe"``, of the table
        of `FormFactor.of`), a `FormFactor`, or one number. None: all atoms are points.
    angstrom
        One ångström in the unit of the positions, as form factors are by 1/Å: 1e-10 for metres.

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
    _rows: tuple[int, int] | None = None
    """Rows and columns of a camera."""
    _options: Mapping[str, object]
    """What the core was given."""

    def __reduce__(self) -> tuple[object, ...]:
        return _made_again, (type(self), self._options, self._plane, self._rows)

    def __init__(
        self,
        box: Sequence[float],
        q_max: float,
        *,
        stride: int | Sequence[int] = 1,
        precision: str = "float64",
        bytes_max: float = BYTES_MAX,
        kernel: str = "",
        form_factors: FormFactors = None,
        angstrom: float = 1.0,
    ) -> None:
        self._make(
            box=triple(box, "box"),
            q_max=to_float(q_max, "q_max"),
            stride=strides_of(stride),
            precision=to_text(precision, "precision"),
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
            form_factors=to_factors(form_factors, angstrom),
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
        form_factors: FormFactors = None,
        angstrom: float = 1.0,
    ) -> StructureFactor:
        """Cover a flat detector: the plane of two axes of the box's reciprocal lattice.

        Parameters
        ----------
        box, stride, precision, bytes_max, form_factors, angstrom
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
        widest, highest = pair((q_max, q_max) if np.ndim(q_max) == 0 else q_max, "q_max")
        u, v = (c_int(axis, "an entry of axes") for axis in pair(axes, "axes"))
        self = cls.__new__(cls)
        self._make(
            box=triple(box, "box"),
            sides=(to_float(widest, "q_max"), to_float(highest, "q_max")),
            axes=(u, v),
            stride=strides_of(stride),
            precision=to_text(precision, "precision"),
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
            form_factors=to_factors(form_factors, angstrom),
        )
        strides = strides_of(stride)
        edges = triple(box, "box")
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
        form_factors: FormFactors = None,
        angstrom: float = 1.0,
    ) -> StructureFactor:
        """Cover any plane of q vectors: i a + j b for |i| <= counts[0] and |j| <= counts[1].

        Parameters
        ----------
        a, b
            (3,) q of one pixel step along the first and second axis of the image.
        counts
            Pixels on each side of the beam.
        precision, bytes_max, form_factors, angstrom
            As for the class.
        """
        self = cls.__new__(cls)
        m, n = (c_int(c, "an entry of counts") for c in pair(counts, "counts"))
        self._make(
            a=triple(a, "a"),
            b=triple(b, "b"),
            counts=(m, n),
            precision=to_text(precision, "precision"),
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
            form_factors=to_factors(form_factors, angstrom),
        )
        steps = float(np.linalg.norm(a)), float(np.linalg.norm(b))
        self._plane = _Plane(axes=(0, 1), strides=(1, 1), steps=steps)
        return self

    @classmethod
    def at(
        cls,
        q: npt.ArrayLike,
        *,
        bytes_max: float = BYTES_MAX,
        kernel: str = "",
        form_factors: FormFactors = None,
        angstrom: float = 1.0,
    ) -> StructureFactor:
        """Cover the listed q vectors, evaluated one by one in float64.

        Parameters
        ----------
        q
            (Q, 3) vectors, in the inverse of the positions' unit.
        bytes_max, form_factors, angstrom
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
            form_factors=to_factors(form_factors, angstrom),
        )
        return self

    @classmethod
    def camera(
        cls,
        *,
        wavelength: float,
        distance: float,
        pixels: int | Sequence[int],
        pixel: float | Sequence[float],
        beam_at: Sequence[float] | None = None,
        beam: Vector = (0, 0, 1),
        sides: Sequence[Vector] = ((0, 1, 0), (1, 0, 0)),
        bytes_max: float = BYTES_MAX,
        kernel: str = "",
        form_factors: FormFactors = None,
        angstrom: float = 1.0,
    ) -> StructureFactor:
        """Cover the pixels of a flat detector in real space, one by one in float64.

        The beam hits the sample at the origin; q is that of the middle of each pixel, for elastic
        scattering, so it lies on the Ewald sphere. Costs about N Q / 10⁹ s. Intensities are not
        corrected for polarisation, nor for the solid angle of a pixel.

        Parameters
        ----------
        wavelength
            Of the beam, in the positions' unit.
        distance, pixel
            From the sample to where the beam hits the detector; height and width of one pixel (one
            number: it is square), in one unit of their own, such as mm.
        pixels
            Rows and columns (one number: as many of both).
        beam_at
            Row and column that the beam hits, from 0, with fractions. None: the middle.
        beam, sides
            Directions of the beam, and of rows and columns: a detector may be inclined.
        bytes_max, form_factors, angstrom
            As for the class.

        Examples
        --------
        Copper's K-alpha line, and iron and oxygen on a detector of 9 x 7 pixels:

        >>> import numpy as np, fluvial as fl
        >>> camera = fl.ops.StructureFactor.camera(
        ...     wavelength=1.5406, distance=100, pixels=(9, 7), pixel=5.0,
        ...     form_factors={1: "Fe", 2: "O"})
        >>> rng = np.random.default_rng(1)
        >>> r, species = rng.uniform(0, 20, (3, 1000)), rng.integers(1, 3, 1000)
        >>> fl.reduce(camera, [*r, species]).image().shape
        (9, 7)
        """
        rows, columns = (
            c_int(count, "an entry of pixels")
            for count in pair((pixels, pixels) if np.ndim(pixels) == 0 else pixels, "pixels")
        )
        height, width = pair((pixel, pixel) if np.ndim(pixel) == 0 else pixel, "pixel")
        middle = ((rows - 1) / 2, (columns - 1) / 2) if beam_at is None else beam_at
        row, column = pair(middle, "beam_at")
        along_rows, along_columns = pair(sides, "sides")
        self = cls.__new__(cls)
        self._make(
            wavelength=to_float(wavelength, "wavelength"),
            distance=to_float(distance, "distance"),
            pixels=(rows, columns),
            pixel=(to_float(height, "pixel"), to_float(width, "pixel")),
            beam_at=(to_float(row, "beam_at"), to_float(column, "beam_at")),
            beam=triple(beam, "beam"),
            sides=[triple(along_rows, "sides"), triple(along_columns, "sides")],
            bytes_max=to_float(bytes_max, "bytes_max"),
            kernel=to_text(kernel, "kernel"),
            form_factors=to_factors(form_factors, angstrom),
        )
        self._rows = rows, columns
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
            species=_by_species(arrays),
            _pixels=self._pixels(),
            _rows=self._rows,
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


def _by_species(arrays: Mapping[str, np.ndarray]) -> dict[int, SpeciesAmplitude]:
    found = (
        zip(arrays["species"], arrays["counts"], arrays["species_amplitude"], strict=True)
        if ("species" in arrays)
        else ()
    )
    return {int(s): SpeciesAmplitude(int(count), amplitude) for s, count, amplitude in found}


def _made_again(
    kind: type[StructureFactor],
    options: Mapping[str, object],
    plane: _Plane | None,
    rows: tuple[int, int] | None,
) -> StructureFactor:
    operator = kind.__new__(kind)
    operator._make(**options)
    operator._plane, operator._rows = plane, rows
    return operator
