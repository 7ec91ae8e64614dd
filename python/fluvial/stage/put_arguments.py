# SPDX-License-Identifier: Apache-2.0
"""What the caller of a put passed, as the core takes it: one array, or several by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..base.arguments import to_array, to_dtype, to_mapping, without_mask, wrong_type
from ..base.messages import shown
from ..describe.attributes import AttributeValue, plain
from ..describe.storage_attributes import plain_attributes

Said: TypeAlias = Mapping[str, object] | None
"""Attributes, where there are any."""
Named: TypeAlias = Mapping[str, npt.ArrayLike]
"""Arrays by the names of their datasets."""


def as_put(name: object, array: npt.ArrayLike | None, attrs: Said) -> tuple[np.ndarray, Said]:
    """Return what NumPy makes of an array, and the attributes that it brings along."""
    if not isinstance(name, str):
        hint = "The name comes first: put(name, array)." if isinstance(array, str) else ""
        raise wrong_type(
            "the name of the dataset", name, "a str, or a mapping of names to arrays", hint
        )
    if isinstance(array, np.ma.MaskedArray):
        return without_mask(array), attrs
    own, dims = getattr(array, "attrs", None), getattr(array, "dims", None)
    if isinstance(own, Mapping) and dims is not None:
        labels = [str(dim) for dim in dims]
        if any(label != f"dim_{axis}" for axis, label in enumerate(labels)):
            own = {**own, "axisLabels": labels}
        attrs = {**plain_attributes(own), **to_mapping(attrs, "attrs")}
    return to_array(array, f"the array of {shown(name)}", "Text goes into attrs"), attrs


def as_puts(
    arrays: Named, attrs: Said
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, AttributeValue]]]:
    """Return NumPy's arrays, and the attributes of each dataset that has any.

    `attrs` are those of all of them.
    """
    common = plain(attrs)
    if type(arrays) is dict and all(type(array) is np.ndarray for array in arrays.values()):
        return arrays, dict.fromkeys(arrays, common) if common else {}
    made: dict[str, np.ndarray] = {}
    said: dict[str, dict[str, AttributeValue]] = {}
    for name, array in arrays.items():
        made[name], own = as_put(name, array, attrs)
        if own:
            said[name] = plain(own)
    return made, said


def as_span(dtype: npt.DTypeLike) -> tuple[np.dtype, np.dtype]:
    """Return the dtype of an array to fill, and that of its dataset: bool is uint8, as in a put."""
    asked = to_dtype(dtype)
    return asked, np.dtype(np.uint8) if asked.kind == "b" else asked


def refuse_array(array: object) -> None:
    """Raise where an array follows a mapping, which has the arrays."""
    if array is not None:
        raise wrong_type(
            "array", array, "nothing beside a mapping of names to arrays", "put({name: array, …})"
        )
