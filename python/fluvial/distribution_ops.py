# SPDX-License-Identifier: Apache-2.0
"""Operators that say how values are distributed: histograms, quantiles, the best elements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._core import Builtin
from .arguments import to_float, to_int, to_numbers


class Counts(NamedTuple):
    """A histogram; counts are int64, float64 when weighted."""

    counts: np.ndarray
    """(kept shape..., bins)."""
    edges: np.ndarray
    """(bins + 1,) float64."""
    underflow: Any
    """Below the first edge; a scalar, or an array of the kept shape."""
    overflow: Any
    """Above the last edge."""
    nan: Any
    """NaN elements."""


class Histogram(Builtin):
    """Counts between fixed edges, of a real dtype, compared as float64.

    Bins are half-open but for the last, which is closed, as in NumPy. What lies outside is counted
    apart. Results are `Counts`, the same to the bit however the data is split unless weighted.

    Parameters
    ----------
    edges
        (bins + 1,) ascending numbers. Evenly spaced ones are the fastest.
    skipna
        Do not count NaN at all.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> h = fl.reduce(fl.ops.Histogram([0, 1, 2]), np.array([-1.0, 0.0, 1.0, 1.5, 2.0, 9.0]))
    >>> h.counts, int(h.underflow), int(h.overflow)
    (array([1, 3]), 1, 1)
    """

    def __init__(self, edges: npt.ArrayLike, *, skipna: bool = False) -> None:
        super().__init__("histogram", {"edges": to_numbers(edges, "edges"), "skipna": bool(skipna)})

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Counts:
        """Return counts and edges."""
        outside = (arrays[key][()] for key in ("underflow", "overflow", "nan"))
        return Counts(arrays["value"], arrays["edges"], *outside)


class Counts2D(NamedTuple):
    """A histogram of pairs; counts are int64, float64 when weighted."""

    counts: np.ndarray
    """(kept shape..., bins of x, bins of y)."""
    edges_x: np.ndarray
    edges_y: np.ndarray
    outside: Any
    """Pairs with a number below or above the edges."""
    nan: Any
    """Pairs with a NaN."""


class Histogram2D(Builtin):
    """Counts of pairs, of two inputs; everything else as for `Histogram`.

    Parameters
    ----------
    edges_x, edges_y
        (bins + 1,) ascending numbers for the first and the second input.
    skipna
        Do not count pairs with NaN at all.

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
        options: dict[str, Any] = {
            "edges_x": to_numbers(edges_x, "edges_x"),
            "edges_y": to_numbers(edges_y, "edges_y"),
        }
        super().__init__("histogram2d", options | {"skipna": bool(skipna)})

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Counts2D:
        """Return counts and edges."""
        edges = arrays["edges_x"], arrays["edges_y"]
        return Counts2D(arrays["value"], *edges, arrays["outside"][()], arrays["nan"][()])


class Quantile(Builtin):
    """Quantiles to a relative accuracy, from a sketch that merges without loss.

    Each is within `accuracy`, relative, of the element of rank floor(q (n - 1)) (NumPy's
    ``method="lower"``); 0 and 1 are exact. With weights: of the first element at which the weight
    so far reaches q Σw. The result does not depend on the split. DDSketch,
    doi:10.14778/3352063.3352135. Real dtypes; float64; NaN of nothing.

    Parameters
    ----------
    q
        Number from 0 to 1, or a list of them: then the result has one more axis, the last.
    accuracy
        1e-6 to 0.5. A state takes at most 24 kB / accuracy per kept position, usually far less.
    skipna
        Pass over NaN instead of propagating it.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> median = fl.reduce(fl.ops.Quantile(0.5), np.arange(1001))
    >>> abs(float(median) - 500) <= 0.01 * 500
    True
    """

    def __init__(self, q: npt.ArrayLike, *, accuracy: float = 0.01, skipna: bool = False) -> None:
        self.q = to_numbers(q, "q")
        self.one = np.ndim(q) == 0
        options = {"q": self.q, "accuracy": to_float(accuracy, "accuracy")}
        super().__init__("quantile", options | {"skipna": bool(skipna)})

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """Return the quantiles, without their axis when one number was asked for."""
        return arrays["value"][..., 0] if self.one else arrays["value"]


class Top(NamedTuple):
    """The best elements, best first."""

    values: np.ndarray
    """(kept shape..., k) in the dtype of the data."""
    coordinates: np.ndarray
    """(kept shape..., k, dimensions of the data) int64, global."""
    count: Any
    """How many of the k there are: fewer when fewer elements were included."""


class TopK(Builtin):
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
        Pass over NaN.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> top = fl.reduce(fl.ops.TopK(2), np.array([3, 9, 7]))
    >>> top.values, top.coordinates.tolist()
    (array([9, 7]), [[1], [2]])
    """

    def __init__(self, k: int = 10, *, largest: bool = True, skipna: bool = False) -> None:
        options = {"k": to_int(k, "k"), "largest": bool(largest), "skipna": bool(skipna)}
        super().__init__("top_k", options)

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Top:
        """Return values and coordinates."""
        values, coordinates, count = (arrays[key] for key in ("value", "coordinates", "count"))
        if count.ndim == 0:
            values, coordinates = values[:count], coordinates[:count]
        return Top(values, coordinates, count[()])
