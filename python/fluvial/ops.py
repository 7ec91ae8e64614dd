# SPDX-License-Identifier: Apache-2.0
"""Operators: mergeable reductions over chunks of arrays.

Each is given to `fluvial.reduce` or to a dataset's `reduce`, or used by hand::

    partial = op.identity(shape, [dtype])        # nothing seen yet
    op.absorb(partial, [array], offset)          # one chunk, wherever it lies, in any order
    op.merge(partial, other)                     # associative, commutative up to rounding
    op.finish(partial)                           # the result

All of them: reduce over all axes or over any (the others are kept and give an array of results);
propagate NaN unless ``skipna=True``; pass over elements where the mask is False; accept any of the
dtypes int8 to int64, uint8 to uint64, float16, float32, float64, complex64 and complex128, unless
they say otherwise.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._core import Builtin, InvalidArgument, operator_names
from ._core import Operator as _Native
from .structure_factor import StructureFactor

__all__ = [
    "Max",
    "Mean",
    "Min",
    "Operator",
    "StructureFactor",
    "Sum",
    "names",
]


def names() -> list[str]:
    """Return the names that `fluvial.reduce` takes instead of an operator.

    Examples
    --------
    >>> import fluvial as fl
    >>> "mean" in fl.ops.names()
    True
    """
    return operator_names()


class Operator(ABC):
    """Base of operators written in Python.

    A subclass says how a state begins, takes in a chunk, merges and ends. With kept axes there is
    one state for each kept position, and the methods see the reduced axes only. Partial states
    travel between ranks by pickle. Set the class attribute `inputs` for more than one input array.

    Examples
    --------
    The mean of the logarithm:

    >>> import numpy as np, fluvial as fl
    >>> class LogMean(fl.ops.Operator):
    ...     def identity(self, shape):
    ...         return (0.0, 0)
    ...     def absorb(self, partial, arrays, offset):
    ...         return partial[0] + np.log(arrays[0]).sum(), partial[1] + arrays[0].size
    ...     def merge(self, a, b):
    ...         return a[0] + b[0], a[1] + b[1]
    ...     def finish(self, partial):
    ...         return partial[0] / partial[1]
    >>> float(fl.reduce(LogMean(), np.exp([1.0, 2.0, 3.0])))
    2.0
    """

    inputs: int = 1

    @abstractmethod
    def identity(self, shape: tuple[int, ...]) -> Any:
        """Return the state that has seen nothing; `shape` is the extent of what will be reduced."""

    @abstractmethod
    def absorb(self, partial: Any, arrays: list[np.ndarray], offset: tuple[int, ...]) -> Any:
        """Return the state after one chunk whose first element is at `offset`.

        The arrays are read-only and end with the call: keep copies, not views. None means that
        `partial` was changed in place.
        """

    @abstractmethod
    def merge(self, a: Any, b: Any) -> Any:
        """Return the state of both; None means that `a` was changed in place. Leave `b` alone."""

    @abstractmethod
    def finish(self, partial: Any) -> npt.ArrayLike | Mapping[str, npt.ArrayLike]:
        """Return the result: a number or an array, or several by name."""


class Sum(Builtin):
    """Sum of the elements, or of weight times element.

    Integers give int64 or uint64 that wrap as in NumPy (float64 when weighted), real dtypes
    float64, complex ones complex128. Floating sums are compensated: whatever the number of
    elements, the relative error stays below 1e-15 Σ|x| / |Σx|. The sum of nothing is 0.

    Parameters
    ----------
    skipna
        Pass over NaN instead of propagating it.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> int(fl.reduce(fl.ops.Sum(), np.arange(10)))
    45
    >>> fl.reduce("sum", np.arange(6).reshape(2, 3), over=0)
    array([3, 5, 7])
    """

    def __init__(self, *, skipna: bool = False) -> None:
        super().__init__("sum", {"skipna": bool(skipna)})


class Mean(Builtin):
    """Arithmetic mean, Σx / n or Σw·x / Σw; float64, or complex128 for complex dtypes.

    Integers are added exactly, so their mean is the same to the bit however the data is split. The
    mean of nothing is NaN.

    Parameters
    ----------
    skipna
        Pass over NaN instead of propagating it.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> float(fl.reduce("mean", np.float32([1, 2, 4, 5])))
    3.0
    >>> float(fl.reduce("mean", np.float32([1, 2]), weights=[3, 1]))
    1.25
    """

    def __init__(self, *, skipna: bool = False) -> None:
        super().__init__("mean", {"skipna": bool(skipna)})


class Min(Builtin):
    """Smallest element, of a real dtype, in that dtype; weights do not matter.

    The same to the bit however the data is split: a zero is reported as +0. Of nothing it is NaN
    for floating dtypes, and an InvalidArgument for integers, as in NumPy.

    Parameters
    ----------
    skipna
        Pass over NaN instead of propagating it.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> fl.reduce("min", np.array([[3.0, np.nan], [1.0, 2.0]]), over=0)
    array([ 1., nan])
    >>> fl.reduce(fl.ops.Min(skipna=True), np.array([[3.0, np.nan], [1.0, 2.0]]), over=0)
    array([1., 2.])
    """

    def __init__(self, *, skipna: bool = False) -> None:
        super().__init__("min", {"skipna": bool(skipna)})


class Max(Builtin):
    """Largest element; everything else as for `Min`.

    Parameters
    ----------
    skipna
        Pass over NaN instead of propagating it.

    Examples
    --------
    >>> import numpy as np, fluvial as fl
    >>> int(fl.reduce("max", np.int8([3, -7, 5]), mask=[True, True, False]))
    3
    """

    def __init__(self, *, skipna: bool = False) -> None:
        super().__init__("max", {"skipna": bool(skipna)})


Spec = str | _Native | Operator
"""One operator as the user may give it."""

_BY_NAME: dict[str, type[Builtin]] = {
    "sum": Sum,
    "mean": Mean,
    "min": Min,
    "max": Max,
}


def resolve(spec: Spec, *, skipna: bool = False) -> _Native | Operator:
    """Return the operator that `spec` stands for.

    Parameters
    ----------
    spec
        A name, or an operator, which is returned as it is.
    skipna
        For a name: make the operator with it. An operator carries its own.

    Raises
    ------
    InvalidArgument
        An unknown name, a class instead of an object, or `skipna` beside an operator object.
    """
    if isinstance(spec, str):
        if spec not in _BY_NAME:
            known = ", ".join(_BY_NAME)
            raise InvalidArgument(
                f"no operator of this name: got {spec!r}; allowed: {known}. Operators that need "
                "arguments are made by their class in fluvial.ops."
            )
        return _BY_NAME[spec](skipna=True) if skipna else _BY_NAME[spec]()
    if skipna:
        raise InvalidArgument(
            f"skipna beside an operator object: got {spec!r}; allowed: a name such as 'mean'. "
            "Give it to the operator: fl.ops.Mean(skipna=True)."
        )
    return spec


def wrap(op: _Native | Operator, arrays: Mapping[str, np.ndarray]) -> Any:
    """Turn the named arrays of a finished reduction into what the user gets.

    An operator's own `wrap` decides; without one a lone "value" is returned as a NumPy scalar or
    array, and several arrays as they are.
    """
    own = getattr(op, "wrap", None)
    if own is not None:
        return own(arrays)
    return arrays["value"][()] if set(arrays) == {"value"} else dict(arrays)
