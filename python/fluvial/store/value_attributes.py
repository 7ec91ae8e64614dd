# SPDX-License-Identifier: Apache-2.0
"""Attributes whose values are elements of their dataset: what stands for nothing, and bounds."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .._core import InvalidArgument
from ..base.messages import shown
from ..describe.attributes import array_of

_NOTHING = ("_FillValue", "missing_value")
_BOUNDS = ("valid_min", "valid_max", "valid_range")


def in_dtype(attrs: Mapping[str, object], dtype: str, name: str) -> dict[str, object]:
    """Return attributes with these as arrays in the dtype of their dataset, as CF wants it.

    Other programs compare them with the elements as they are stored. What the dtype cannot hold
    stays as it is, as no element is equal to it, and so do bounds of another kind, which are of the
    numbers that the elements stand for.

    Raises
    ------
    InvalidArgument
        The dtype cannot hold `_FillValue`, which must be of it.
    """
    found = dict(attrs)
    kind = np.dtype(dtype)
    if kind.kind not in "iuf":
        return found
    for key in (*_NOTHING, *_BOUNDS):
        given = array_of(attrs[key]) if key in attrs else np.asarray("")
        numbers = given.dtype.kind in "iuf"
        if not numbers and key == "_FillValue" and key in attrs:
            raise _no_element(name, dtype, attrs[key])
        if not numbers or (key in _BOUNDS and given.dtype.kind != kind.kind):
            continue
        with np.errstate(all="ignore"):
            held = given.astype(kind)
            fits = kind.kind == "f" and bool((np.isfinite(held) == np.isfinite(given)).all())
            fits = fits or bool((held == given).all())
        if fits or (key == "_FillValue" and "_Unsigned" in attrs):
            found[key] = held[()]
        elif key == "_FillValue":
            raise _no_element(name, dtype, attrs[key])
    return found


def _no_element(name: str, dtype: str, value: object) -> InvalidArgument:
    return InvalidArgument(
        f"_FillValue of '{name}' is no {dtype}: got {shown(value)}; allowed: what the dataset's "
        "dtype can hold. Choose another value, or leave the attribute out"
    )
