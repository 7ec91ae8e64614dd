# SPDX-License-Identifier: Apache-2.0
"""A function of arrays, element by element, and an operator on what it gives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from .._core import Builtin, InvalidArgument, declared_by
from ..base.arguments import to_dtype, to_int, wrong_type
from ..base.messages import shown
from .registry import Reduced, Spec, resolve, wrap


class _Options(TypedDict):
    """What `Apply` was given besides its function and its operator."""

    dtype: npt.DTypeLike | None
    name: str | None
    version: str | None


class _AllOptions(_Options):
    """The same, and the number of its inputs."""

    inputs: int


class Apply(Builtin):
    """A function of one or more arrays, element by element, and an operator on what it gives.

    The function is called with NumPy arrays of equal shape, block by block, so the derived array
    never exists as a whole; it must treat each element alone. Axes, weights and mask are the
    operator's, and so is the form of the result.

    Parameters
    ----------
    function
        Takes NumPy arrays (read-only, lent for the call) and returns numbers of the same shape, or
        one number for all elements.
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
        The number of parameters cannot be told, or the function kept an array, or returned no
        numbers or another shape.

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
        op: Spec,
        *,
        inputs: int | None = None,
        dtype: npt.DTypeLike | None = None,
        name: str | None = None,
        version: str | None = None,
    ) -> None:
        self.inner = resolve(op)
        if not callable(function):
            raise wrong_type("the function of Apply", function, "a function of NumPy arrays")
        count = parameters_of(function) if inputs is None else to_int(inputs, "inputs", 1, 4)
        self._function = function
        self._options: _Options = {"dtype": dtype, "name": name, "version": version}
        super().__init__(
            function=function,
            op=self.inner,
            inputs=count,
            dtype=None if dtype is None else to_dtype(dtype),
            declared=declared_by(function, name, version),
        )

    def __reduce__(self) -> tuple[object, ...]:
        options: _AllOptions = {**self._options, "inputs": self.inputs}
        return functools.partial(Apply, **options), (self._function, self.inner)

    def with_skipna(self, skipna: bool) -> Apply:
        """Return the same whose operator passes over NaN of the function, or lets it propagate."""
        inner = resolve(self.inner, skipna=skipna)
        return Apply(self._function, inner, inputs=self.inputs, **self._options)

    def next_pass(self, arrays: Mapping[str, np.ndarray]) -> Apply | None:
        """Return what the inner operator asks of the same data once more, or None."""
        inner = self.inner.next_pass(arrays) if hasattr(self.inner, "next_pass") else None
        if inner is None:
            return None
        return Apply(self._function, inner, inputs=self.inputs, **self._options)

    def wrap(self, arrays: Mapping[str, np.ndarray]) -> Reduced:
        """Return what the inner operator makes of the named arrays."""
        return wrap(self.inner, arrays)


def parameters_of(function: Callable[..., object]) -> int:
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
