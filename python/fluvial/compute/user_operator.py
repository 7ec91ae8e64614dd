# SPDX-License-Identifier: Apache-2.0
"""The base of operators that are written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt

State = TypeVar("State")


class Operator(ABC, Generic[State]):
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
    def identity(self, shape: tuple[int, ...]) -> State:
        """Return the state that has seen nothing; `shape` is the extent of what will be reduced."""

    @abstractmethod
    def absorb(
        self, partial: State, arrays: list[np.ndarray], offset: tuple[int, ...]
    ) -> State | None:
        """Return the state after one chunk whose first element is at `offset`.

        The arrays are read-only and end with the call: keep copies, not views. Where some elements
        do not count (a mask, missing values of a file) they are `numpy.ma.MaskedArray`. None means
        that `partial` was changed in place.
        """

    @abstractmethod
    def merge(self, a: State, b: State) -> State | None:
        """Return the state of both; None means that `a` was changed in place. Leave `b` alone."""

    @abstractmethod
    def finish(self, partial: State) -> npt.ArrayLike | Mapping[str, npt.ArrayLike]:
        """Return the result: a number or an array, or several by name."""
