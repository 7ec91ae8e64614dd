# SPDX-License-Identifier: Apache-2.0
"""The elements of a stream, as NumPy sees them and as the core carries them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument, WrongType
from ..base.arguments import said_by, to_dtype, to_int, to_ints, without_mask, wrong_type
from ..base.messages import shown

_NOTHING = np.empty(0, np.uint8)
_BYTES_MAX = 1 << 40  # as the core has it, which cannot be told of more than 64 bits


Elements = np.ndarray | list[np.ndarray]
"""Those of a batch; a list of uint8 arrays where they vary in size."""


class Element:
    """What a stream transports, and how NumPy sees it."""

    def __init__(
        self, dtype: npt.DTypeLike, shape: int | Sequence[int], bytes_max: int | None
    ) -> None:
        self.dtype = to_dtype(dtype)
        self.shape = to_ints(shape, "shape")
        if any(not 0 <= n < 2**62 for n in self.shape):
            raise InvalidArgument(
                f"the shape of an element is out of range: got {shown(self.shape)}; "
                "allowed: 0 or more along every axis"
            )
        self.varies = bytes_max is not None
        plain = self.dtype.isbuiltin == 1 and self.dtype.kind in "iufcb"
        self.core_dtype = self.dtype.name if plain and self.dtype.kind != "b" else None
        if self.dtype.kind == "b":
            self.core_dtype = "uint8"
        if self.dtype.hasobject:
            raise InvalidArgument(
                f"elements cannot be Python objects: got dtype {self.dtype}; allowed: numbers, "
                "records of numbers, fixed-size bytes. Send bytes of varying size: bytes_max=…"
            )
        self.bytes = (
            self.dtype.itemsize * math.prod(self.shape)
            if bytes_max is None
            else to_int(bytes_max, "bytes_max", 1)
        )
        if self.bytes > _BYTES_MAX:
            raise InvalidArgument(
                f"a stream's element is too large: got {self.bytes} bytes; allowed: up to "
                f"{_BYTES_MAX} bytes. Send parts of it"
            )

    def __str__(self) -> str:
        if self.varies:
            return f"bytes, up to {self.bytes}"
        return f"{self.dtype} of shape {self.shape}"

    def view(self, raw: npt.NDArray[np.uint8]) -> np.ndarray:
        """Return bytes as an array of elements."""
        return raw.view(self.dtype).reshape(-1, *self.shape)

    def lent(self, raw: npt.NDArray[np.uint8] | list[np.ndarray]) -> Elements:
        """Return what a batch's bytes stand for."""
        return raw if isinstance(raw, list) else self.view(raw)

    def arrays(self, data: npt.ArrayLike) -> tuple[np.ndarray, int]:
        """Return one element or several as an array, and how many there are."""
        array = data if type(data) is np.ndarray else self._converted(data)
        many = array.ndim == len(self.shape) + 1
        shape = array.shape[1:] if many else array.shape
        if array.dtype != self.dtype or shape != self.shape:
            raise InvalidArgument(
                f"elements of another kind: got {array.dtype} of shape {array.shape}; allowed: "
                f"{self.dtype} of shape {self.shape}, or (n, *{self.shape}) for n elements. "
                "Convert with array.astype(…)."
            )
        return array, len(array) if many else 1

    def _converted(self, data: npt.ArrayLike) -> np.ndarray:
        if isinstance(data, np.ma.MaskedArray):
            return without_mask(data)
        if isinstance(data, np.ndarray):
            return data
        try:
            with np.errstate(all="ignore"):
                array = np.asarray(data, self.dtype)
                changed = _changes(data, array)
        except (TypeError, ValueError, OverflowError) as error:
            raise WrongType(
                f"elements of another kind: got {shown(data)} ({said_by(error)}); "
                f"allowed: what NumPy converts to {self.dtype} of shape {self.shape}"
            ) from None
        if changed:
            raise InvalidArgument(
                f"elements of another kind: got {shown(data)}; allowed: what {self.dtype} of shape "
                f"{self.shape} can hold. As that they would be {shown(array)}"
            )
        return array


def _changes(data: npt.ArrayLike, array: np.ndarray) -> bool:
    """Tell whether a number or list has become another, but for the rounding of a fraction."""
    to = array.dtype.kind
    if (type(data) is float and array.dtype == np.float64) or (type(data) is int and to in "iu"):
        return False
    if array.dtype.names:
        return _changes_records(data, array)
    given = np.asarray(data)
    # One value for all of a field that has a shape.
    given = given.reshape(given.shape + (1,) * (array.ndim - given.ndim))
    of = given.dtype.kind
    if given.dtype == array.dtype:
        return False
    if of == "O":
        return _changes_objects(given, array)
    if to in "mM" and of != to:
        return of not in "biu" and _changes_times(given, array)
    if (to in "fc" and of in "biuf") or to == of == "c":
        return _changes_numbers(given, array)
    if to == "V":
        return given.dtype.itemsize > array.dtype.itemsize
    if to in "SU" and to != of:
        given, array = given.astype(np.str_), array.astype(np.str_)
    return not _equal(given, array)


def _equal(given: np.ndarray, array: np.ndarray) -> bool:
    times = array.dtype.kind in "mM"  # not a time is equal to itself
    return np.array_equal(np.broadcast_to(given, array.shape), array, equal_nan=times)


def _changes_numbers(given: np.ndarray, array: np.ndarray) -> bool:
    """Whole numbers stay the same, and what is finite stays so."""
    if given.dtype.kind not in "iu":
        return not _equal(np.isfinite(given), np.isfinite(array))
    exact = 2 ** (np.finfo(array.dtype).nmant + 1)  # all whole numbers up to it
    if given.size == 0 or -exact <= given.min() <= given.max() <= exact:
        return False
    given = np.broadcast_to(given, array.shape)
    return given.tolist() != array.tolist()  # Python compares int and float exactly


def _changes_times(given: np.ndarray, array: np.ndarray) -> bool:
    """Texts and objects of `datetime` are as fine as NumPy reads them without a unit."""
    return not _equal(np.asarray(given, array.dtype.kind + "8"), array)


def _changes_objects(given: np.ndarray, array: np.ndarray) -> bool:
    """Nothing becomes a number, and whole numbers and times stay the same."""
    to = array.dtype.kind
    values = given.ravel().tolist()
    if any(value is None for value in values):
        return True
    if to in "mM":
        return not all(type(value) is int for value in values) and _changes_times(given, array)
    became = np.broadcast_to(array, np.broadcast_shapes(given.shape, array.shape))
    pairs = zip(np.broadcast_to(given, became.shape).ravel(), became.ravel().tolist(), strict=True)
    return any(value != now for value, now in pairs if to in "biu" or isinstance(value, int))


def _changes_records(data: npt.ArrayLike, array: np.ndarray) -> bool:
    """As NumPy takes them: a tuple is a record, a list has several, a value is for all fields."""
    names = array.dtype.names or ()
    if isinstance(data, tuple):
        return any(_changes(data[i], array[name]) for i, name in enumerate(names))
    if isinstance(data, list) and all(type(item) is tuple for item in data):
        columns = zip(*data, strict=True)
        return any(_changes(list(c), array[n]) for c, n in zip(columns, names, strict=False))
    if isinstance(data, list):
        return any(_changes(item, array[i]) for i, item in enumerate(data))
    given = np.asarray(data)
    theirs = given.dtype.names or (None,) * len(names)
    return any(
        _changes(given if its is None else given[its], array[name])
        for its, name in zip(theirs, names, strict=True)
    )


def record(data: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return the bytes of one element of varying size."""
    try:
        given = cast(bytes, data)  # or what is like them; NumPy says
        return np.frombuffer(given, np.uint8) if len(given) else _NOTHING
    except (TypeError, ValueError, BufferError):
        raise wrong_type("the element", data, "bytes, or what has them side by side") from None
