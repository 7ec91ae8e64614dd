# SPDX-License-Identifier: Apache-2.0
"""How many elements must count for a result, as xarray's `min_count` says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from .apply import Apply
from .distribution_operators import Histogram, Histogram2D, Quantile
from .named_operator import NamedOperator
from .passes import Results
from .registry import Resolved
from .scalar_operators import Count

Entry = tuple[str, Resolved, list[int]]
"""Name, operator and numbers of its inputs."""

COUNT_OF = "fluvial: elements that count of input "
"""Begins the names of counts that are made beside what was asked for."""


def name_of_count(number: int, required: int) -> str:
    """Return the name of the count of an input, of which so many elements are required.

    Ranks compare the names of entries, and so what they require. -1: all, of which a mask leaves
    out some.
    """
    return f"{COUNT_OF}{number}, of which {required} are required"


def counts_of(entries: Iterable[Entry], required: int) -> list[Entry]:
    """Return entries that count the elements of each input of the others."""
    used = sorted({number for _, _, numbers in entries for number in numbers})
    return [(name_of_count(number, required), Count(), [number]) for number in used]


def innermost(op: Resolved) -> Resolved:
    """Return the operator that makes the result: of a function on the way, what comes after it."""
    while isinstance(op, Apply):
        op = op.inner
    return op


def is_count(op: Resolved) -> bool:
    """Tell whether an operator counts, which has a result of any number of elements."""
    return isinstance(innermost(op), Count)


def propagates(op: Resolved) -> bool:
    """Tell whether an operator was made to let NaN propagate; histograms count it apart."""
    inner = innermost(op)
    apart = isinstance(inner, Histogram | Histogram2D)
    return isinstance(inner, NamedOperator) and not apart and not inner.skipna


def without_too_few(
    op: Resolved,
    arrays: Mapping[str, np.ndarray],
    counts: Sequence[npt.ArrayLike],
    required: int,
) -> Mapping[str, np.ndarray]:
    """Return a result that is NaN where fewer elements than required counted.

    Where none has too few, it stays as it is: integers are exact then, which float64 is not beyond
    2**53.

    Parameters
    ----------
    arrays
        What the operator found, by name.
    counts
        Of each of its inputs.
    required
        The least number.
    """
    if "value" not in arrays:
        return arrays
    missing = np.any([np.asarray(count) < required for count in counts], axis=0)
    if not missing.any():
        return arrays
    value = arrays["value"]
    if isinstance(innermost(op), Quantile):
        return {**arrays, "value": np.where(missing[..., np.newaxis], np.nan, value)}
    if value.shape != missing.shape:
        return arrays
    out = {**arrays, "value": np.where(missing, np.nan, value)}
    if "coordinates" in arrays:
        out["coordinates"] = np.where(missing[..., np.newaxis], -1, arrays["coordinates"])
    return out


def with_enough(entries: Iterable[Entry], results: Results, required: int) -> Results:
    """Return the results of entries, some of which are `counts_of` the others, without these."""
    out = {}
    for name, op, numbers in entries:
        if name.startswith(COUNT_OF):
            continue
        out[name] = results[name]
        if not is_count(op):
            counts = [results[name_of_count(number, required)]["value"] for number in numbers]
            out[name] = without_too_few(op, results[name], counts, required)
    return out
