# SPDX-License-Identifier: Apache-2.0
"""Operators as text: "mean", "quantile(0.9)", "histogram(0:10:20)"."""

from __future__ import annotations

import math
from typing import TypedDict

from .._core import Builtin, InvalidArgument
from ..base.arguments import to_bool
from ..base.messages import did_you_mean, shown
from .distribution_operators import Histogram, Median, Quantile, TopK
from .scalar_operators import Norm, Std, Variance

WITH_ARGUMENTS = (
    "quantile(0.5)",
    "quantile(0.5,exact)",
    "median(exact)",
    "histogram(LOWEST:HIGHEST:BINS)",
    "top_k(10)",
    "norm(2)",
    "std(1)",
    "variance(1)",
)


class _Told(TypedDict, total=False):
    """What the caller says of every operator."""

    skipna: bool


def with_arguments(name: str, argument: str, skipna: bool | None) -> Builtin:
    """Return the operator that ``name(argument)`` stands for.

    >>> with_arguments("quantile", "0.9", None).q
    [0.9]
    """
    told: _Told = {} if skipna is None else {"skipna": to_bool(skipna, "skipna")}
    try:
        if name == "histogram":
            return _histogram(argument, told)
        if name == "quantile":
            q, _, how = map(str.strip, argument.partition(","))
            if how == "exact":
                return Quantile(float(q), exact=True, **told)
            if how:
                return Quantile(float(q), accuracy=float(how), **told)
            return Quantile(float(q), **told)
        if name == "median" and argument.strip() == "exact":
            return Median(exact=True, **told)
        if name == "median":
            return Median(accuracy=float(argument), **told)
        if name == "top_k":
            return TopK(int(argument), **told)
        if name == "norm":
            return Norm(float(argument), **told)
        if name in ("std", "variance", "var"):
            kind = Std if name == "std" else Variance
            return kind(ddof=float(argument), **told)
    except ValueError as error:
        if isinstance(error, InvalidArgument):
            raise
    known = [text.partition("(")[0] for text in WITH_ARGUMENTS]
    raise InvalidArgument(
        f"cannot read the operator: got {shown(f'{name}({argument})')}; allowed: "
        f"{', '.join(WITH_ARGUMENTS)}{'' if name in known else did_you_mean(name, known)}"
    )


def _histogram(argument: str, told: _Told) -> Builtin:
    lowest, highest, bins = argument.split(":")
    low, high = float(lowest), float(highest)
    if not -math.inf < low < high < math.inf:
        raise InvalidArgument(
            f"cannot read the operator: got {shown(f'histogram({argument})')}; allowed: "
            "histogram(LOWEST:HIGHEST:BINS), the lowest first"
        )
    return Histogram(bins=int(bins), range=(low, high), **told)
