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
from ..describe.storage_attributes import (
    DECODED_BY_XARRAY,
    carried_attributes,
    plain_attributes,
)
from .put_grid import with_own_grid

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
        own = with_own_grid(own, labels, getattr(array, "shape", ()), getattr(array, "coords", {}))
        if any(label != f"dim_{axis}" for axis, label in enumerate(labels)):
            own = {**own, "axisLabels": labels[::-1] if own.get("dataOrder") == "F" else labels}
        brought = carried_attributes(own) if _is_undecoded(array) else plain_attributes(own)
        attrs = {**brought, **to_mapping(attrs, "attrs")} if brought else attrs
    return to_array(array, f"the array of {shown(name)}", "Text goes into attrs"), attrs


def _is_undecoded(array: object) -> bool:
    """Tell whether a labelled array has elements as they are stored, which its attributes decode.

    xarray keeps those that it decodes by in `encoding` then.
    """
    view = getattr(array, "view", None)
    if view is not None:
        return getattr(view, "decode", True) is False
    attrs: Mapping[str, object] = getattr(array, "attrs", {})
    return hasattr(array, "encoding") and any(name in attrs for name in DECODED_BY_XARRAY)


def as_puts(
    arrays: Named, attrs: Said
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, AttributeValue]]]:
    """Return NumPy's arrays, and the attributes of each dataset that has any.

    `attrs` are those of all of them.
    """
    common = plain(attrs)
    if type(arrays) is dict and all(type(array) is np.ndarray for array in arrays.values()):
        return arrays, {} if attrs is None else dict.fromkeys(arrays, common)
    made: dict[str, np.ndarray] = {}
    said: dict[str, dict[str, AttributeValue]] = {}
    for name, array in arrays.items():
        made[name], own = as_put(name, array, attrs)
        if own is not None:
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
