# SPDX-License-Identifier: Apache-2.0
"""Operators whose result is a number for each kept position, or a number and its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..base.arguments import to_bool, to_float
from .named_operator import NamedOperator, PerPosition


class Sum(NamedOperator):
    """Sum of the elements, or of weight times element.

    Integers give int64 or uint64 that wrap as in NumPy (float64 when weighted), real dtypes
    float64, complex ones complex128. The sum of nothing is 0. The error of floating sums is at most
    37 · 2^-53 Σ|w·x| (4.2e-15 Σ|w·x|), whatever the number of elements, as sums of a few are added
    with compensation. Where large terms cancel, what remains can be within that error.

    Parameters
    ----------
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> int(fl.reduce(fl.ops.Sum(), np.arange(10)))
    45
    >>> fl.reduce("sum", np.arange(6).reshape(2, 3), over=0)
    array([3, 5, 7])
    """

    def __init__(self, *, skipna: bool = True) -> None:
        super().__init__("sum", {"skipna": to_bool(skipna, "skipna")})


class Mean(NamedOperator):
    """Arithmetic mean, Σx / n or Σw·x / Σw; float64, or complex128 for complex dtypes.

    Integers are added exactly, so their mean is the same to the bit however the data is split;
    everything else as for `Sum`, with its error divided by n or Σw. The mean of nothing is NaN.

    Parameters
    ----------
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> float(fl.reduce("mean", np.float32([1, 2, 4, 5])))
    3.0
    >>> float(fl.reduce("mean", np.float32([1, 2]), weights=[3, 1]))
    1.25
    """

    def __init__(self, *, skipna: bool = True) -> None:
        super().__init__("mean", {"skipna": to_bool(skipna, "skipna")})


class Min(NamedOperator):
    """Smallest element, of a real dtype, in that dtype; weights do not matter.

    The same to the bit however the data is split: a zero is reported as +0. Of nothing it is NaN
    for floating dtypes, and an InvalidArgument for integers, as in NumPy.

    Parameters
    ----------
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> fl.reduce("min", np.array([[3.0, np.nan], [1.0, 2.0]]), over=0)
    array([1., 2.])
    >>> fl.reduce(fl.ops.Min(skipna=False), np.array([[3.0, np.nan], [1.0, 2.0]]), over=0)
    array([ 1., nan])
    """

    def __init__(self, *, skipna: bool = True) -> None:
        super().__init__("min", {"skipna": to_bool(skipna, "skipna")})


class Max(NamedOperator):
    """Largest element; everything else as for `Min`.

    Parameters
    ----------
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> int(fl.reduce("max", np.int8([3, -7, 5]), mask=[True, True, False]))
    3
    """

    def __init__(self, *, skipna: bool = True) -> None:
        super().__init__("max", {"skipna": to_bool(skipna, "skipna")})


class Product(NamedOperator):
    """Product of the elements: int64 or uint64 that wrap as in NumPy, float64 or complex128.

    The product of nothing is 1. Weights are refused. The relative error is 2^-53 a factor,
    and 2.3 times that of complex numbers.

    Parameters
    ----------
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> int(fl.reduce("product", np.arange(1, 6)))
    120
    """

    def __init__(self, *, skipna: bool = True) -> None:
        super().__init__("product", {"skipna": to_bool(skipna, "skipna")})


class Count(NamedOperator):
    """Number of elements that the mask includes, int64; weights do not matter.

    It counts what is there, also where `skipna=False` beside it lets NaN propagate in others.

    Parameters
    ----------
    skipna
        Do not count NaN, nor what attributes declare missing.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> int(fl.reduce(fl.ops.Count(), np.array([1.0, np.nan, 2.0])))
    2
    """

    def __init__(self, *, skipna: bool = True) -> None:
        super().__init__("count", {"skipna": to_bool(skipna, "skipna")})

    def with_skipna(self, skipna: bool) -> Count:
        """Return the same: as in xarray, it has no meaning beside a count."""
        return self


class Located(NamedTuple):
    """An extremum and where it is."""

    value: PerPosition
    """NumPy scalar, or array of the kept axes' shape."""
    coordinates: tuple[int, ...] | np.ndarray
    """Tuple of ints, or int64 array (kept shape..., dimensions of the data); global coordinates."""


class ArgMin(NamedOperator):
    """Smallest element and its global coordinates, of a real dtype; weights do not matter.

    Of equal elements the first in C order wins, in the order of the selection where an axis is
    selected backwards, and a NaN wins over everything, as in NumPy; the same to the bit however the
    data is split. Of nothing: NaN at -1, an InvalidArgument for integers.
    Results are `Located`.

    Parameters
    ----------
    skipna
        Pass over NaN.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> low = fl.reduce("argmin", np.array([[3, 1], [1, 2]]))
    >>> int(low.value), low.coordinates
    (1, (0, 1))
    """

    _name = "argmin"

    def __init__(self, *, skipna: bool = True) -> None:
        super().__init__(self._name, {"skipna": to_bool(skipna, "skipna")})

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Located:
        """Return value and coordinates."""
        where = arrays["coordinates"]
        one = arrays["value"].ndim == 0
        return Located(arrays["value"][()], tuple(where.tolist()) if one else where)


class ArgMax(ArgMin):
    """Largest element and its global coordinates; everything else as for `ArgMin`.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> high = fl.reduce("argmax", np.array([[3, 1], [1, 4]]), over=1)
    >>> high.value, high.coordinates
    (array([3, 4]), array([[0, 0],
           [1, 1]]))
    """

    _name = "argmax"


class Variance(NamedOperator):
    """Σw|x - mean|² / (Σw - ddof), float64; for complex dtypes both parts add up.

    Stable: the relative error is about 1e-15 (1 + |mean| / std) (Chan, Golub, LeVeque,
    doi:10.1080/00031305.1983.10483115). NaN where Σw <= ddof.

    Parameters
    ----------
    ddof
        Degrees of freedom to subtract: 0 for the population, 1 for a sample.
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> float(fl.reduce("variance", np.array([1.0, 2.0, 3.0]) + 1e9))
    0.6666666666666666
    """

    _name = "variance"

    def __init__(self, *, ddof: float = 0, skipna: bool = True) -> None:
        super().__init__(
            self._name, {"ddof": to_float(ddof, "ddof"), "skipna": to_bool(skipna, "skipna")}
        )


class Std(Variance):
    """Standard deviation: the root of `Variance`, with the same parameters.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> float(fl.reduce(fl.ops.Std(ddof=1), np.array([1, 2, 3])))
    1.0
    """

    _name = "std"


class Norm(NamedOperator):
    """(Σw|x|^p)^(1/p), float64, to a relative error of about 1e-15.

    Parameters
    ----------
    p
        0 counts what is not zero, ``inf`` is the largest magnitude (weights do not matter).
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> float(fl.reduce("norm", np.array([3.0, 4.0])))
    5.0
    """

    def __init__(self, p: float = 2, *, skipna: bool = True) -> None:
        super().__init__("norm", {"p": to_float(p, "p"), "skipna": to_bool(skipna, "skipna")})
