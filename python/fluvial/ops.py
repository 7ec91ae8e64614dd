# SPDX-License-Identifier: Apache-2.0
"""Operators: mergeable reductions over chunks of arrays.

Each is given to `fluvial.reduce` or to a dataset's `reduce`, or used by hand::

    partial = op.identity(shape, [dtype])        # nothing seen yet
    op.absorb(partial, [array], offset)          # one chunk, wherever it lies, in any order
    op.merge(partial, other)                     # associative, commutative up to rounding
    op.finish(partial)                           # the result

All of them: reduce over all axes or over any (the others are kept and give an array of results);
pass over NaN unless ``skipna=False`` (histograms count it apart); pass over elements where the mask
is False; accept any of the dtypes int8 to int64, uint8 to uint64, float16, float32, float64,
complex64 and complex128, unless they say otherwise.
"""

from .compute.apply import Apply
from .compute.distribution_operators import (
    Counts,
    Counts2D,
    Estimate,
    Histogram,
    Histogram2D,
    Median,
    Quantile,
    Top,
    TopK,
)
from .compute.form_factor import FormFactor
from .compute.from_mpi import FromMPI
from .compute.registry import names, resolve, wrap
from .compute.scalar_operators import (
    ArgMax,
    ArgMin,
    Count,
    Located,
    Max,
    Mean,
    Min,
    Norm,
    Product,
    Std,
    Sum,
    Variance,
)
from .compute.structure_factor import StructureFactor
from .compute.user_operator import Operator

__all__ = [
    "Apply",
    "ArgMax",
    "ArgMin",
    "Count",
    "Counts",
    "Counts2D",
    "Estimate",
    "FormFactor",
    "FromMPI",
    "Histogram",
    "Histogram2D",
    "Located",
    "Max",
    "Mean",
    "Median",
    "Min",
    "Norm",
    "Operator",
    "Product",
    "Quantile",
    "Std",
    "StructureFactor",
    "Sum",
    "Top",
    "TopK",
    "Variance",
    "names",
    "resolve",
    "wrap",
]


def __dir__() -> list[str]:
    return sorted(__all__)
