# SPDX-License-Identifier: Apache-2.0
"""Operators made of the user's own functions: Python classes, expressions, C function pointers."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ._core import Builtin, InvalidArgument, declared_by
from ._core import Operator as _Native
from .arguments import to_dtype, to_int, wrong_type
from .messages import shown


class Operator(ABC):
    """Base of operators written in Python.

    A subclass says how a state begins, takes in a chunk, merges and ends. With kept axes there is
    one state for each kept position, and the methods see the reduced axes only. Partial states
    travel between ranks by pickle. Set the class attribute `inputs` for more than one input array.

    Two operators of your own cannot be compared, so ranks that reduce together compare what they
    say of themselves: `name` (the class's, unless set) and `version`. Change `version` with the
    meaning; an operator with parameters puts them there, ``self.version = f"2, below {limit}"``.
    Where ranks differ in it, the reduction is an `InvalidArgument` on all of them.

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
    version: str = ""

    @abstractmethod
    def identity(self, shape: tuple[int, ...]) -> Any:
        """Return the state that has seen nothing; `shape` is the extent of what will be reduced."""

    @abstractmethod
    def absorb(self, partial: Any, arrays: list[np.ndarray], offset: tuple[int, ...]) -> Any:
        """Return the state after one chunk whose first element is at `offset`.

        The arrays are read-only and end with the call: keep copies, not views. Where some elements
        do not count (a mask, missing values of a file) they are `numpy.ma.MaskedArray`. None means
        that `partial` was changed in place.
        """

    @abstractmethod
    def merge(self, a: Any, b: Any) -> Any:
        """Return the state of both; None means that `a` was changed in place. Leave `b` alone."""

    @abstractmethod
    def finish(self, partial: Any) -> npt.ArrayLike | Mapping[str, npt.ArrayLike]:
        """Return the result: a number or an array, or several by name."""


class Apply(Builtin):
    """A function of one or more arrays, element by element, and an operator on what it gives.

    The function is called with NumPy arrays of equal shape, block by block, so the derived array
    never exists as a whole; it must treat each element alone. Axes, weights and mask are the
    operator's, and so is the form of the result.

    Parameters
    ----------
    function
        Takes NumPy arrays (read-only, lent for the call) and returns one of the same shape.
    op
        A name or an operator with one input.
    inputs
        Number of arrays; None: as many as the function has parameters.
    dtype
        Of what the function returns; None: it is called on ones to find out.
    name, version
        What ranks that reduce together know the function by, because functions cannot be compared;
        None: the function's own name, and its attribute `version` if it has one.

    Raises
    ------
    InvalidArgument
        The number of parameters cannot be told, or the function kept an array.

    Examples
    --------
    The fastest atom:

    >>> import numpy as np, fluvial as fl
    >>> vx, vy = np.array([3.0, 1.0]), np.array([4.0, 1.0])
    >>> float(fl.reduce(fl.ops.Apply(np.hypot, "max"), [vx, vy]))
    5.0
    """

    def __init__(
        self,
        function: Callable[..., np.ndarray],
        op: str | _Native | Operator,
        *,
        inputs: int | None = None,
        dtype: npt.DTypeLike | None = None,
        name: str | None = None,
        version: str | None = None,
    ) -> None:
        from .ops import resolve

        self.inner = resolve(op)
        if not callable(function):
            raise wrong_type("the function of Apply", function, "a function of NumPy arrays")
        count = parameters_of(function) if inputs is None else to_int(inputs, "inputs", 1, 4)
        self._function = function
        self._options: dict[str, Any] = {"dtype": dtype, "name": name, "version": version}
        super().__init__(
            function=function,
            op=self.inner,
            inputs=count,
            dtype=None if dtype is None else to_dtype(dtype),
            declared=declared_by(function, name, version),
        )

    def next_pass(self, arrays: Mapping[str, np.ndarray]) -> Apply | None:
        """Return what the inner operator asks of the same data once more, or None."""
        inner = self.inner.next_pass(arrays) if hasattr(self.inner, "next_pass") else None
        if inner is None:
            return None
        return Apply(self._function, inner, inputs=self.inputs, **self._options)

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Any:
        """Return what the inner operator makes of the named arrays."""
        from .ops import wrap

        return wrap(self.inner, arrays)


class FromMPI(Builtin):
    """An operator from a C function of MPI_User_function type, as given to MPI_Op_create.

    The function computes ``inout[i] = in[i] ∘ inout[i]`` for ``i < *length``. It must be
    associative and commutative, and is called without the GIL. The result has the data's dtype;
    of nothing it is an InvalidArgument, since no identity is known. Weights are refused.

    Parameters
    ----------
    address
        Of the function: ``function.address`` of a numba ``@cfunc``, or a ctypes function pointer
        cast to an integer.
    dtype
        That the function is written for.
    datatype
        Bits of the MPI_Datatype that the function gets a pointer to; 0 for functions that do not
        look at it.
    name, version
        What ranks that reduce together know the function by, because functions cannot be compared.

    Examples
    --------
    >>> import ctypes, numpy as np, fluvial as fl
    >>> @ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 2,
    ...                   ctypes.POINTER(ctypes.c_int), ctypes.c_void_p)
    ... def farthest_from_zero(x, best, length, datatype):
    ...     for i in range(length[0]):
    ...         best[i] = max(x[i], best[i], key=abs)
    >>> address = ctypes.cast(farthest_from_zero, ctypes.c_void_p).value
    >>> float(fl.reduce(fl.ops.FromMPI(address, "float64"), np.array([1.0, -7.0, 3.0])))
    -7.0
    """

    def __init__(
        self,
        address: int,
        dtype: npt.DTypeLike,
        *,
        datatype: int = 0,
        name: str = "a function",
        version: str = "",
    ) -> None:
        super().__init__(
            address=to_int(address, "address", 0, 2**64 - 1),
            dtype=to_dtype(dtype).name,
            datatype=to_int(datatype, "datatype", 0, 2**64 - 1),
            declared=declared_by(None, name, version),
        )


def parameters_of(function: Callable[..., Any]) -> int:
    """Return the number of arrays that a function takes: its parameters without a default."""
    if isinstance(function, np.ufunc):
        return function.nin
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    needed = [p for p in parameters if p.kind in kinds and p.default is inspect.Parameter.empty]
    if not needed:
        raise InvalidArgument(
            f"cannot tell how many arrays {shown(function)} takes: got no required parameters; "
            "allowed: a ufunc or a function with positional parameters. Pass inputs=…."
        )
    return len(needed)
