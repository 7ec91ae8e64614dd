# SPDX-License-Identifier: Apache-2.0
"""Operators that say how values are distributed: histograms, quantiles, the best elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from ..base.arguments import to_bool, to_float, to_int, to_numbers
from ..base.messages import shown
from .named_operator import NamedOperator, PerPosition


class Counts(NamedTuple):
    """A histogram; counts are int64, float64 when weighted."""

    counts: np.ndarray
    """(kept shape..., bins)."""
    edges: np.ndarray
    """(bins + 1,) float64."""
    underflow: PerPosition
    """Below the first edge; a scalar, or an array of the kept shape."""
    overflow: PerPosition
    """Above the last edge."""
    nan: PerPosition
    """NaN elements."""


class Histogram(NamedOperator):
    """Counts between fixed edges, of a real dtype, compared as float64.

    Bins are half-open but for the last, which is closed, as in NumPy. What lies outside is counted
    apart. Results are `Counts`, the same to the bit however the data is split unless weighted.

    Parameters
    ----------
    edges
        (bins + 1,) ascending numbers. Evenly spaced ones are the fastest.
    bins, range
        Instead, as for `numpy.histogram`: the number of equal bins between two numbers, or `bins`
        alone as edges. The range must be said, as the data has not been seen yet.
    skipna
        Do not count NaN at all; False: in `nan`, and in no bin.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> h = fl.reduce(fl.ops.Histogram([0, 1, 2]), np.array([-1.0, 0.0, 1.0, 1.5, 2.0, 9.0]))
    >>> h.counts, int(h.underflow), int(h.overflow)
    (array([1, 3]), 1, 1)
    """

    def __init__(
        self,
        edges: npt.ArrayLike | None = None,
        *,
        bins: int | npt.ArrayLike | None = None,
        range: tuple[float, float] | None = None,
        skipna: bool = False,
    ) -> None:
        found = _edges(edges, bins, range)
        super().__init__("histogram", {"edges": found, "skipna": to_bool(skipna, "skipna")})

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Counts:
        """Return counts and edges."""
        outside = (arrays[key][()] for key in ("underflow", "overflow", "nan"))
        return Counts(arrays["value"], arrays["edges"], *outside)


def _edges(
    edges: npt.ArrayLike | None,
    bins: int | npt.ArrayLike | None,
    range: tuple[float, float] | None,
) -> list[float]:
    """Return the edges of bins that are given in one of two ways."""
    if edges is not None and bins is None and range is None:
        return to_numbers(edges, "edges")
    if edges is None and bins is not None and range is None and np.ndim(bins):
        return to_numbers(bins, "bins")
    if edges is None and bins is not None and range is not None and not np.ndim(bins):
        ends = to_numbers(range, "range")
        if len(ends) == 2 and np.isfinite(ends).all() and ends[0] < ends[1]:
            count = to_int(bins, "bins", 1, 2**31 - 1)
            return np.linspace(ends[0], ends[1], count + 1).tolist()
    raise InvalidArgument(
        f"the bins of a histogram are not said: got edges={shown(edges)}, bins={shown(bins)}, "
        f"range={shown(range)}; allowed: edges alone, or bins=NUMBER with range=(LOWEST, HIGHEST)"
    )


class Counts2D(NamedTuple):
    """A histogram of pairs; counts are int64, float64 when weighted."""

    counts: np.ndarray
    """(kept shape..., bins of x, bins of y)."""
    edges_x: np.ndarray
    edges_y: np.ndarray
    outside: PerPosition
    """Pairs with a number below or above the edges."""
    nan: PerPosition
    """Pairs with a NaN."""


class Histogram2D(NamedOperator):
    """Counts of pairs, of two inputs; everything else as for `Histogram`.

    Parameters
    ----------
    edges_x, edges_y
        (bins + 1,) ascending numbers for the first and the second input.
    skipna
        Do not count pairs with NaN at all; False: in `nan`, and in no bin.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> op = fl.ops.Histogram2D([0, 1, 2], [0, 10])
    >>> fl.reduce(op, [np.array([0.5, 1.5, 1.5]), np.array([5.0, 5.0, 10.0])]).counts
    array([[1],
           [2]])
    """

    def __init__(
        self, edges_x: npt.ArrayLike, edges_y: npt.ArrayLike, *, skipna: bool = False
    ) -> None:
        options: dict[str, object] = {
            "edges_x": to_numbers(edges_x, "edges_x"),
            "edges_y": to_numbers(edges_y, "edges_y"),
        }
        super().__init__("histogram2d", options | {"skipna": to_bool(skipna, "skipna")})

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Counts2D:
        """Return counts and edges."""
        edges = arrays["edges_x"], arrays["edges_y"]
        return Counts2D(arrays["value"], *edges, arrays["outside"][()], arrays["nan"][()])


class Estimate(NamedTuple):
    """A number that is known to an accuracy."""

    value: PerPosition
    """NumPy scalar, or array."""
    error: PerPosition
    """What the exact number differs from `value` by at most, of the same shape; 0: it is exact."""


class Quantile(NamedOperator):
    """Quantiles, with a bound on their error: exact ones, or to an accuracy in one pass.

    Of n elements the number at rank q (n - 1), interpolated linearly, as `numpy.quantile` does.
    With weights: the first element at which the weight so far reaches q Σw (NumPy's
    ``method="inverted_cdf"``). Elements are compared as float64. Results are `Estimate`; NaN of
    nothing. Real dtypes.

    `error` is 0 for up to 1 / accuracy elements per kept position, for integers whose range is not
    larger than that, and for q of 0 and 1; it is never more than `accuracy` times the range of the
    data. Values and errors are the same to the bit however the data is split, unless weights are
    rounded when they are added.

    Parameters
    ----------
    q
        Number from 0 to 1, or a list of them: then the result has one more axis, the last.
    accuracy
        Relative to the range of the data (largest - smallest finite element), 1e-6 to 0.5. A state
        takes 8 bytes per element, and at most 10 / accuracy bytes, per kept position: 10 kB.
    exact
        Look at the data again, until the error is 0: twice as a rule, 5 times at most, unless the
        data is of few elements. `fluvial.reduce` of arrays, files (without groups) and steps of a
        stage can; a stream inside a job passes once. Each pass after the first needs up to
        64 MiB of memory (8 kB per kept position if that is more).
    skipna
        Pass over NaN; False: let it propagate.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> x = np.random.default_rng(1).normal(287, 12, 100_000)
    >>> median = fl.reduce(fl.ops.Quantile(0.5), x)
    >>> bool(abs(median.value - np.median(x)) <= median.error < 0.2)
    True
    >>> fl.reduce(fl.ops.Quantile(0.5, exact=True), x).value == np.quantile(x, 0.5)
    np.True_
    """

    def __init__(
        self,
        q: npt.ArrayLike,
        *,
        accuracy: float = 1e-3,
        exact: bool = False,
        skipna: bool = True,
        _found: Mapping[str, np.ndarray] | None = None,
    ) -> None:
        self.q = to_numbers(q, "q")
        self.one = np.ndim(q) == 0
        self.exact = to_bool(exact, "exact")
        self._accuracy = to_float(accuracy, "accuracy")
        options: dict[str, object] = {
            "q": self.q,
            "accuracy": self._accuracy,
            "skipna": to_bool(skipna, "skipna"),
        }
        if self.exact:
            options["again"] = True  # which ranks compare: they all look at the data again
        if _found is not None:
            options |= {side: _found[side].ravel().tolist() for side in ("low", "high")}
        super().__init__("quantile", options)

    def next_pass(self, arrays: Mapping[str, np.ndarray]) -> Quantile | None:
        """Return what remains to be asked of the same data after `arrays` was found; or None."""
        if not self.exact or not np.any(arrays["low"] < arrays["high"]):
            return None
        q = self.q[0] if self.one else self.q
        return Quantile(q, accuracy=self._accuracy, exact=True, skipna=self.skipna, _found=arrays)

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Estimate:
        """Return quantiles and errors, without their axis when one number was asked for."""
        found = (arrays["value"], arrays["error"])
        return Estimate(*(a[..., 0][()] if self.one else a for a in found))


class Median(Quantile):
    """The `Quantile` for 0.5, with the same parameters.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> float(fl.reduce("median", np.array([3.0, 1.0, 2.0])).value)
    2.0
    """

    name = "median"

    def __init__(self, *, accuracy: float = 1e-3, exact: bool = False, skipna: bool = True) -> None:
        super().__init__(0.5, accuracy=accuracy, exact=exact, skipna=skipna)


class Top(NamedTuple):
    """The best elements, best first."""

    values: np.ndarray
    """(kept shape..., k) in the dtype of the data."""
    coordinates: np.ndarray
    """(kept shape..., k, dimensions of the data) int64, global."""
    count: PerPosition  # type: ignore[assignment]  # it hides a tuple's
    """How many of the k there are: fewer when fewer elements were included."""


class TopK(NamedOperator):
    """The k largest (or smallest) elements and where they are, of a real dtype.

    Of equal elements the first in C order wins, a NaN wins over everything; the same to the bit
    however the data is split. Results are `Top`; a reduction over all axes returns only what there
    is, with kept axes missing entries are 0 at coordinates -1. Weights do not matter.

    Parameters
    ----------
    k
        1 to 1,000,000; a state takes 16 k bytes per kept position.
    largest
        False: the smallest.
    skipna
        Pass over NaN; False: it wins, as in NumPy.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> top = fl.reduce(fl.ops.TopK(2), np.array([3, 9, 7]))
    >>> top.values, top.coordinates.tolist()
    (array([9, 7]), [[1], [2]])
    """

    def __init__(self, k: int = 10, *, largest: bool = True, skipna: bool = True) -> None:
        options = {
            "k": to_int(k, "k"),
            "largest": to_bool(largest, "largest"),
            "skipna": to_bool(skipna, "skipna"),
        }
        super().__init__("top_k", options)

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Top:
        """Return values and coordinates."""
        values, coordinates, count = (arrays[key] for key in ("value", "coordinates", "count"))
        if count.ndim == 0:
            values, coordinates = values[:count], coordinates[:count]
        return Top(values, coordinates, count[()])
