# SPDX-License-Identifier: Apache-2.0
"""NumPy's basic indexing as hyperslabs, and axes by name or number."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core

Hyperslab = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def to_hyperslab(selection: Any, shape: tuple[int, ...]) -> tuple[Hyperslab, tuple[Any, ...]]:
    """Start, count, stride, and the index that drops the axes which were selected by an int.

    >>> to_hyperslab((slice(2, 9, 3), -1), (10, 5))
    (((2, 4), (3, 1), (3, 1)), (slice(None, None, None), 0))

    Raises InvalidArgument for ints out of range, too many entries, steps below 1 and fancy
    indexing.
    """
    entries = list(selection) if isinstance(selection, tuple) else [selection]
    # Not entries.count: an array's == is no bool.
    ellipses = [at for at, entry in enumerate(entries) if entry is Ellipsis]
    if len(ellipses) > 1 or len(entries) - len(ellipses) > len(shape):
        raise _core.InvalidArgument(
            f"the selection has too many entries: got {selection!r}; "
            f"allowed: {len(shape)} for shape {shape}"
        )
    at = ellipses[0] if ellipses else len(entries)
    if not ellipses:
        entries.append(Ellipsis)
    entries[at : at + 1] = [slice(None)] * (len(shape) - len(entries) + 1)
    start, count, stride = [], [], []
    dropped: list[slice | int] = []
    for axis, (entry, extent) in enumerate(zip(entries, shape, strict=True)):
        if isinstance(entry, slice):
            if entry.step is not None and entry.step < 1:
                raise _core.InvalidArgument(
                    f"cannot select along axis {axis}: got step {entry.step}; allowed: 1 or more"
                )
            indices = range(*entry.indices(extent))
            start.append(indices.start if len(indices) else 0)
            count.append(len(indices))
            stride.append(indices.step)
            dropped.append(slice(None))
        else:
            index = to_index(entry, f"axis {axis} of the selection")
            if not -extent <= index < extent:
                raise _core.InvalidArgument(
                    f"index out of range along axis {axis}: got {index}; "
                    f"allowed: {-extent} to {extent - 1}"
                )
            start.append(index % extent)
            count.append(1)
            stride.append(1)
            dropped.append(0)
    return (tuple(start), tuple(count), tuple(stride)), tuple(dropped)


def to_index(value: Any, what: str, allowed: str = "an int or a slice") -> int:
    """Return an int from what acts as one, but not a bool, which NumPy takes for a mask."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise _core.InvalidArgument(f"{what}: got {value!r}; allowed: {allowed}") from None


def to_dims(over: Any, dims: Sequence[str]) -> tuple[str, ...]:
    """Return dimensions by name, given by names and numbers, in the order of the axes.

    >>> to_dims(["lon", 0], ["time", "lat", "lon"])
    ('time', 'lon')
    """
    wanted = [over] if isinstance(over, str | int | np.integer) else list(over)
    found = set()
    for axis in wanted:
        if isinstance(axis, int | np.integer) and not isinstance(axis, bool):
            if not -len(dims) <= axis < len(dims):
                raise _core.InvalidArgument(
                    f"no such axis: got {axis}; allowed: {-len(dims)} to {len(dims) - 1}"
                )
            found.add(dims[int(axis)])
        elif axis in dims:
            found.add(str(axis))
        else:
            raise _core.InvalidArgument(
                f"no such dimension: got {axis!r}; "
                f"allowed: {', '.join(map(repr, dims)) or 'none'}, or their numbers"
            )
    if not found:
        raise _core.InvalidArgument(
            "no axis to reduce over: got an empty list; allowed: one or more axes. "
            "Leave `over` out to reduce over all."
        )
    return tuple(dim for dim in dims if dim in found)
