# SPDX-License-Identifier: Apache-2.0
"""The common reductions as methods of whatever can be reduced."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from ..base.arguments import to_float
from ..describe.selection import Over
from .distribution_operators import Quantile

Result = TypeVar("Result", covariant=True)
"""What a class gives for one operator."""


def of_numpy(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options without those that ``np.mean`` and the like pass on unasked: None."""
    unasked = {name for name in ("dtype", "out") if options.get(name, ...) is None}
    return {name: value for name, value in options.items() if name not in unasked}


class Reductions(Protocol[Result]):
    """Methods named as NumPy's and xarray's; each is a call of `reduce` with its options.

    Axes are the first argument, or one of ``over=``, ``axis=`` and ``dim=``; without them all are
    reduced. ``np.mean(dataset, axis=0)`` and the like call them.
    """

    @property
    def reduce(self) -> Callable[..., Result]:
        """Of the class that has these methods."""

    def sum(self, over: Over | None = None, **options: object) -> Result:
        """Return the sum."""
        return self.reduce("sum", over, **of_numpy(options))

    def prod(self, over: Over | None = None, **options: object) -> Result:
        """Return the product."""
        return self.reduce("product", over, **of_numpy(options))

    def count(self, over: Over | None = None, **options: object) -> Result:
        """Return the number of elements, of a file of those that are not missing."""
        return self.reduce("count", over, **options)

    def mean(self, over: Over | None = None, **options: object) -> Result:
        """Return the arithmetic mean."""
        return self.reduce("mean", over, **of_numpy(options))

    def min(self, over: Over | None = None, **options: object) -> Result:
        """Return the smallest element."""
        return self.reduce("min", over, **of_numpy(options))

    def max(self, over: Over | None = None, **options: object) -> Result:
        """Return the largest element."""
        return self.reduce("max", over, **of_numpy(options))

    def std(self, over: Over | None = None, *, ddof: float = 0, **options: object) -> Result:
        """Return the standard deviation: of the population, with ``ddof=1`` of a sample."""
        return self.reduce(f"std({to_float(ddof, 'ddof')!r})", over, **of_numpy(options))

    def var(self, over: Over | None = None, *, ddof: float = 0, **options: object) -> Result:
        """Return the variance: of the population, with ``ddof=1`` of a sample."""
        return self.reduce(f"variance({to_float(ddof, 'ddof')!r})", over, **of_numpy(options))

    def median(self, over: Over | None = None, **options: object) -> Result:
        """Return the median with a bound of its error; see `fluvial.ops.Quantile`."""
        return self.reduce("median", over, **options)

    def quantile(
        self, q: float | Sequence[float], over: Over | None = None, **options: object
    ) -> Result:
        """Return a quantile, or several, with a bound of the error; see `fluvial.ops.Quantile`."""
        if isinstance(q, Sequence | np.ndarray) and not isinstance(q, str):
            return self.reduce(Quantile(q), over, **options)
        return self.reduce(f"quantile({to_float(q, 'q')!r})", over, **options)
