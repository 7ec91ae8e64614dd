# SPDX-License-Identifier: Apache-2.0
"""Arithmetic with numbers, and comparisons, of elements that have not been read yet."""

from __future__ import annotations

import dataclasses
import numbers
import operator
import sys
from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Protocol,
    TypeAlias,
    TypeGuard,
    TypeVar,
    cast,
    overload,
    runtime_checkable,
)

import numpy as np

from .._core import WrongType

if TYPE_CHECKING:
    import xarray as xr

    Arrays: TypeAlias = np.ndarray | xr.DataArray

Real: TypeAlias = float | np.integer | np.floating
"""One real number, which arithmetic and comparisons take."""
Operand: TypeAlias = np.ndarray | Real
"""An array, or a number beside one."""

SIGNS: dict[str, Callable[[Operand, Operand], np.ndarray]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
"""Of comparisons."""

_OPERATIONS: dict[str, Callable[[Operand, Operand], np.ndarray]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}
_ABSOLUTE, _NEGATIVE = "abs", "negative"
_OF_ONE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    _ABSOLUTE: np.abs,
    _NEGATIVE: np.negative,  # not a product with -1, which unsigned integers do not have
}


def is_number(value: object) -> TypeGuard[Real]:
    """Tell whether a value is one real number, which arithmetic and comparisons take.

    >>> is_number(np.float32(1)), is_number(True), is_number([1.0])
    (True, False, False)
    """
    return isinstance(value, numbers.Real | np.integer | np.floating) and not isinstance(
        value, bool | np.bool_
    )


def with_array(sign: str, values: np.ndarray, array: np.ndarray, before: bool) -> np.ndarray:
    """Return what NumPy makes of two arrays; `before`: the second stands before the sign."""
    a, b = (array, values) if before else (values, array)
    return np.asarray({**_OPERATIONS, **SIGNS}[sign](a, b))


def is_labelled(value: object) -> TypeGuard[xr.DataArray]:
    """Tell whether a value is an xarray.DataArray, as results of files are."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.DataArray)


def with_labelled(
    sign: str, values: xr.DataArray, array: xr.DataArray, before: bool
) -> xr.DataArray:
    """Return what xarray makes of two arrays; `before`: the second stands before the sign."""
    a, b = (array, values) if before else (values, array)
    operations = cast("dict[str, Callable[[object, object], xr.DataArray]]", _OPERATIONS | SIGNS)
    return operations[sign](a, b)


def refuse_dataset(sign: str, value: object) -> None:
    """Raise WrongType where the other side is a dataset, too: elements are computed one by one."""
    if isinstance(value, LazyOperators):
        raise WrongType(
            f"two datasets are not computed with one another while they are read: got "
            f"dataset {sign} dataset; allowed: a number or an array. Read both first: "
            f"a.read() {sign} b.read()."
        )


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """What becomes of each element: operations with numbers, one after another."""

    steps: tuple[tuple[str, Real | None, bool], ...] = ()
    """Sign, number, and whether the number stands before the sign; or "abs" or "negative", None and
    False."""

    def then(self, sign: str, number: Real, before: bool = False) -> Arithmetic:
        """Return the same and one more operation."""
        return Arithmetic((*self.steps, (sign, number, before)))

    def absolute(self) -> Arithmetic:
        """Return the absolute value of what this gives."""
        return Arithmetic((*self.steps, (_ABSOLUTE, None, False)))

    def negative(self) -> Arithmetic:
        """Return the negative of what this gives; unsigned integers wrap, as in NumPy."""
        return Arithmetic((*self.steps, (_NEGATIVE, None, False)))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return what becomes of these values."""
        with np.errstate(all="ignore"):
            for sign, number, before in self.steps:
                if number is None:
                    values = _OF_ONE[sign](values)
                    continue
                a: Operand
                b: Operand
                a, b = (number, values) if before else (values, number)
                values = _OPERATIONS[sign](a, b)
        return values

    def __str__(self) -> str:
        """Return it as text, by which ranks compare it.

        >>> str(Arithmetic().then("-", 273.15).then("*", 2, before=True))
        '2 * (value - 273.15)'
        >>> str(Arithmetic().then("-", 300).absolute().then("/", 10))
        'abs(value - 300) / 10'
        """
        text, last = "value", ""
        for sign, number, before in self.steps:
            inner = text if last in ("", _ABSOLUTE) else f"({text})"
            if sign == _ABSOLUTE:
                text = f"abs({text})"
            elif sign == _NEGATIVE:
                text = f"-{inner}"
            else:
                text = f"{number!r} {sign} {inner}" if before else f"{inner} {sign} {number!r}"
            last = sign
        return text


@dataclasses.dataclass(frozen=True)
class Compared:
    """A function that tells where what becomes of elements compares true with a number."""

    arithmetic: Arithmetic
    sign: str
    bound: float

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return where it is true; NaN compares false."""
        found = self.arithmetic(values)
        return np.asarray(SIGNS[self.sign](found, self.bound) & (found == found))

    def as_numpy(self, values: np.ndarray) -> np.ndarray:
        """Return the same, but that NaN is unequal to any number."""
        return np.asarray(SIGNS[self.sign](self.arithmetic(values), self.bound))

    @property
    def __name__(self) -> str:
        return f"{self.arithmetic} {self.sign} {self.bound!r}"

    @property
    def version(self) -> str:
        """Two of one name are the same."""
        return "1"


Computed = TypeVar("Computed", covariant=True)
"""A dataset after arithmetic with a number."""
Comparing = TypeVar("Comparing", covariant=True)
"""What a comparison of a dataset with a number gives."""


@runtime_checkable
class LazyOperators(Protocol[Computed, Comparing]):
    """The signs of arithmetic and comparison, of a class that says what they come to."""

    def _after(self, sign: str, number: object, before: bool = False) -> Computed | Arrays: ...

    def _absolute(self) -> Computed: ...

    def _negative(self) -> Computed: ...

    def _comparison(self, sign: str, bound: object) -> Comparing | Arrays: ...

    # NumPy's scalars leave arithmetic with a dataset to the dataset.
    __array_priority__: int = 60

    def __hash__(self) -> int:
        return object.__hash__(self)

    @overload
    def __add__(self, number: Real) -> Computed: ...
    @overload
    def __add__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __add__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __add__(self, number: object) -> Computed | Arrays:
        return self._after("+", number)

    @overload
    def __radd__(self, number: Real) -> Computed: ...
    @overload
    def __radd__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __radd__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __radd__(self, number: object) -> Computed | Arrays:
        return self._after("+", number, before=True)

    @overload
    def __sub__(self, number: Real) -> Computed: ...
    @overload
    def __sub__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __sub__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __sub__(self, number: object) -> Computed | Arrays:
        return self._after("-", number)

    @overload
    def __rsub__(self, number: Real) -> Computed: ...
    @overload
    def __rsub__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __rsub__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __rsub__(self, number: object) -> Computed | Arrays:
        return self._after("-", number, before=True)

    @overload
    def __mul__(self, number: Real) -> Computed: ...
    @overload
    def __mul__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __mul__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __mul__(self, number: object) -> Computed | Arrays:
        return self._after("*", number)

    @overload
    def __rmul__(self, number: Real) -> Computed: ...
    @overload
    def __rmul__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __rmul__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __rmul__(self, number: object) -> Computed | Arrays:
        return self._after("*", number, before=True)

    @overload
    def __truediv__(self, number: Real) -> Computed: ...
    @overload
    def __truediv__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __truediv__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __truediv__(self, number: object) -> Computed | Arrays:
        return self._after("/", number)

    @overload
    def __rtruediv__(self, number: Real) -> Computed: ...
    @overload
    def __rtruediv__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __rtruediv__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __rtruediv__(self, number: object) -> Computed | Arrays:
        return self._after("/", number, before=True)

    @overload
    def __floordiv__(self, number: Real) -> Computed: ...
    @overload
    def __floordiv__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __floordiv__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __floordiv__(self, number: object) -> Computed | Arrays:
        return self._after("//", number)

    @overload
    def __rfloordiv__(self, number: Real) -> Computed: ...
    @overload
    def __rfloordiv__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __rfloordiv__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __rfloordiv__(self, number: object) -> Computed | Arrays:
        return self._after("//", number, before=True)

    @overload
    def __mod__(self, number: Real) -> Computed: ...
    @overload
    def __mod__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __mod__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __mod__(self, number: object) -> Computed | Arrays:
        return self._after("%", number)

    @overload
    def __rmod__(self, number: Real) -> Computed: ...
    @overload
    def __rmod__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __rmod__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __rmod__(self, number: object) -> Computed | Arrays:
        return self._after("%", number, before=True)

    @overload
    def __pow__(self, number: Real) -> Computed: ...
    @overload
    def __pow__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __pow__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __pow__(self, number: object) -> Computed | Arrays:
        return self._after("**", number)

    @overload
    def __rpow__(self, number: Real) -> Computed: ...
    @overload
    def __rpow__(self, number: np.ndarray) -> np.ndarray: ...
    @overload
    def __rpow__(self, number: xr.DataArray) -> xr.DataArray: ...
    def __rpow__(self, number: object) -> Computed | Arrays:
        return self._after("**", number, before=True)

    def __neg__(self) -> Computed:
        return self._negative()

    def __abs__(self) -> Computed:
        return self._absolute()

    @overload
    def __lt__(self, bound: Real) -> Comparing: ...
    @overload
    def __lt__(self, bound: np.ndarray) -> np.ndarray: ...
    @overload
    def __lt__(self, bound: xr.DataArray) -> xr.DataArray: ...
    def __lt__(self, bound: object) -> Comparing | Arrays:
        return self._comparison("<", bound)

    @overload
    def __le__(self, bound: Real) -> Comparing: ...
    @overload
    def __le__(self, bound: np.ndarray) -> np.ndarray: ...
    @overload
    def __le__(self, bound: xr.DataArray) -> xr.DataArray: ...
    def __le__(self, bound: object) -> Comparing | Arrays:
        return self._comparison("<=", bound)

    @overload
    def __gt__(self, bound: Real) -> Comparing: ...
    @overload
    def __gt__(self, bound: np.ndarray) -> np.ndarray: ...
    @overload
    def __gt__(self, bound: xr.DataArray) -> xr.DataArray: ...
    def __gt__(self, bound: object) -> Comparing | Arrays:
        return self._comparison(">", bound)

    @overload
    def __ge__(self, bound: Real) -> Comparing: ...
    @overload
    def __ge__(self, bound: np.ndarray) -> np.ndarray: ...
    @overload
    def __ge__(self, bound: xr.DataArray) -> xr.DataArray: ...
    def __ge__(self, bound: object) -> Comparing | Arrays:
        return self._comparison(">=", bound)

    # Of object, these give bool; the signs of a dataset give a condition, as those of an array do.
    @overload
    def __eq__(self, bound: Real) -> Comparing: ...  # type: ignore[overload-overlap]
    @overload
    def __eq__(  # type: ignore[overload-overlap]
        self, bound: np.ndarray
    ) -> np.ndarray: ...
    @overload
    def __eq__(self, bound: object) -> bool: ...
    def __eq__(self, bound: object) -> Comparing | Arrays | bool:
        return self._comparison("==", bound)

    @overload
    def __ne__(self, bound: Real) -> Comparing: ...  # type: ignore[overload-overlap]
    @overload
    def __ne__(  # type: ignore[overload-overlap]
        self, bound: np.ndarray
    ) -> np.ndarray: ...
    @overload
    def __ne__(self, bound: object) -> bool: ...
    def __ne__(self, bound: object) -> Comparing | Arrays | bool:
        return self._comparison("!=", bound)
