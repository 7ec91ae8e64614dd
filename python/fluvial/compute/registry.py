# SPDX-License-Identifier: Apache-2.0
"""Operators by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from .._core import Builtin, InvalidArgument, WrongType, operator_names
from .._core import Operator as NativeOperator
from ..base.arguments import to_bool, unknown_name
from ..base.messages import shown
from .distribution_operators import Median, TopK
from .named_operator import NamedOperator
from .operator_text import with_arguments
from .scalar_operators import (
    ArgMax,
    ArgMin,
    Count,
    Max,
    Mean,
    Min,
    Norm,
    Product,
    Std,
    Sum,
    Variance,
)
from .user_operator import Operator

Spec: TypeAlias = str | NativeOperator | Operator
"""One operator as the user may give it."""

Resolved = NativeOperator | Operator
"""What that comes to."""

Reduced: TypeAlias = Any
"""What a reduction gives: a NumPy scalar, an array, the named tuple of an operator, or with labels
an xarray.DataArray or a Dataset; for several operators a list or a dict of them. The operator and
the data say which, so types let every use of it pass."""

_BY_NAME: dict[str, Callable[..., Builtin]] = {
    "sum": Sum,
    "product": Product,
    "prod": Product,
    "count": Count,
    "min": Min,
    "max": Max,
    "argmin": ArgMin,
    "argmax": ArgMax,
    "mean": Mean,
    "median": Median,
    "variance": Variance,
    "var": Variance,
    "std": Std,
    "norm": Norm,
    "top_k": TopK,
}
_WITH_ARGUMENTS = {"histogram", "histogram2d", "quantile"}
_METHODS = ("identity", "absorb", "merge", "finish")
"""Of every operator."""


def names() -> list[str]:
    """Return the names that `fluvial.reduce` takes instead of an operator.

    Examples
    --------
    >>> import fluvial as fl
    >>> "mean" in fl.ops.names()
    True
    """
    known = operator_names()
    return [
        *(name for name in known if name not in _WITH_ARGUMENTS),
        *(name for name in _BY_NAME if name not in known),
    ]


def resolve(spec: Spec, *, skipna: bool | None = None) -> Resolved:
    """Return the operator that `spec` stands for.

    Parameters
    ----------
    spec
        A name, ``"quantile(0.5)"`` with arguments as on the command line, or an operator, which is
        returned as it is.
    skipna
        Pass over NaN, or let it propagate; None: as the operator says, and all but histograms,
        which count NaN apart, pass over it unless told otherwise.

    Raises
    ------
    InvalidArgument
        An unknown name, a class instead of an object, or `skipna` beside an operator of one's own.
    """
    if isinstance(spec, str):
        options = {} if skipna is None else {"skipna": to_bool(skipna, "skipna")}
        if match := re.fullmatch(r"\s*(\w+)\s*\(([^()]*)\)\s*", spec):
            return with_arguments(match[1], match[2], skipna)
        if spec in _BY_NAME:
            return _BY_NAME[spec](**({} if spec == "count" else options))
        if spec in names():
            return NamedOperator(spec, options)  # of the registry, without a class here
        raise unknown_name(
            "no operator of this name",
            spec,
            names(),
            "Operators that need arguments have them in parentheses, as in 'quantile(0.5)', or "
            "are made by their class in fluvial.ops.",
        )
    if isinstance(spec, type) or not all(hasattr(spec, method) for method in _METHODS):
        raise _no_operator(spec)
    if skipna is None:
        return spec
    told = getattr(spec, "with_skipna", None)
    if told is not None:
        return told(skipna)
    if skipna:
        raise InvalidArgument(
            f"skipna beside an operator of your own: got {shown(spec)}; allowed: a name such as "
            "'mean', or an operator of fluvial.ops. What it does with NaN is said by its `absorb`."
        )
    return spec


def wrap(op: Spec, arrays: Mapping[str, np.ndarray]) -> Reduced:
    """Turn the named arrays of a finished reduction into what the user gets.

    An operator's own `wrap` decides; without one a lone "value" is returned as a NumPy scalar or
    array, and several arrays as they are.

    Raises
    ------
    WrongType
        A class instead of an object of it, or arrays that are in no dict.
    """
    if isinstance(op, type):
        raise _no_operator(op)
    own = getattr(resolve(op) if isinstance(op, str) else op, "wrap", None)
    if own is not None:
        return own(arrays)
    return arrays["value"][()] if set(arrays) == {"value"} else dict(arrays)


def _no_operator(spec: object) -> WrongType:
    hint = "Call the class first." if isinstance(spec, type) else "See fluvial.ops.Operator."
    return WrongType(
        f"not an operator: got {shown(spec)}; allowed: a name such as 'mean', an object of a "
        f"class in fluvial.ops, or one with {', '.join(_METHODS)}. {hint}"
    )
