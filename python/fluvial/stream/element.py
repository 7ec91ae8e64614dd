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
                changed = not self.dtype.names and _changes(data, array)
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
    if type(data) is float and array.dtype == np.float64:
        return False
    given = np.asarray(data)
    if given.dtype == array.dtype or given.dtype.kind == "O":
        return False
    to, of = array.dtype.kind, given.dtype.kind
    if (to == "c" and of in "biufc") or (to == "f" and of in "biuf"):
        return not np.array_equal(np.isfinite(given), np.isfinite(array))
    if to in "SU":
        return not np.array_equal(given.astype(np.str_), array.astype(np.str_))
    if to in "mM" and of not in "mM":
        return False
    return not np.array_equal(given, array)


def record(data: npt.ArrayLike) -> npt.NDArray[np.uint8]:
    """Return the bytes of one element of varying size."""
    try:
        given = cast(bytes, data)  # or what is like them; NumPy says
        return np.frombuffer(given, np.uint8) if len(given) else _NOTHING
    except (TypeError, ValueError, BufferError):
        raise wrong_type("the element", data, "bytes, or what has them side by side") from None
