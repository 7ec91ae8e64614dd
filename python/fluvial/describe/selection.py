# SPDX-License-Identifier: Apache-2.0
"""NumPy's basic indexing as hyperslabs, and axes by name or number."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Literal, Protocol, SupportsIndex, TypeAlias, cast

import numpy as np

from .. import _core
from ..base.arguments import to_index, to_int, to_mapping, unknown_name
from ..base.messages import shown

Axis = int | str
"""An axis by its number or its name."""
Over = Axis | Sequence[Axis]
Index = SupportsIndex | slice | EllipsisType | None
Selection = Index | tuple[Index, ...]
"""What NumPy's basic indexing takes."""
Indexers: TypeAlias = Mapping[str, object] | Mapping[Hashable, object]
"""Labels or numbers by dimension, as xarray's `sel` and `isel` take them, with keys of any type."""
Method: TypeAlias = Literal["nearest", "pad", "ffill", "backfill", "bfill"]
"""How `sel` takes labels that are not there, as in xarray."""
Hyperslab = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


class Chosen(Protocol):
    """What is selected of a dataset: positions along each axis."""

    @property
    def axes(self) -> tuple[int | range, ...]:
        """An int where the axis is dropped."""


def by_dimension(indexers: Indexers | None, named: Mapping[str, object]) -> dict[Hashable, object]:
    """Return what a call of `sel` or `isel` says of each dimension, in a mapping or by name."""
    found = dict(to_indexers(indexers, "indexers", "a dict of dimensions"))
    found.update(named.items())
    return found


def to_indexers(
    indexers: Indexers | None, what: str, allowed: str = "a dict"
) -> Mapping[Hashable, object]:
    """Return what is said of dimensions, whatever their keys are; None is an empty mapping."""
    # Keys of Mapping are invariant: one by str is none by Hashable.
    return to_mapping(cast("Mapping[Hashable, object] | None", indexers), what, allowed)


def to_hyperslab(
    selection: Selection,
    shape: tuple[int, ...],
    *,
    new_axes: bool = False,
    backwards: bool = False,
) -> tuple[Hyperslab, tuple[slice | int | None, ...]]:
    """Start, count, stride, and the index that drops the axes which were selected by an int.

    With `new_axes` None adds an axis of length 1 in that index, as in NumPy; with `backwards` it
    turns axes of which positions are selected backwards.

    >>> to_hyperslab((slice(2, 9, 3), -1), (10, 5))
    (((2, 4), (3, 1), (3, 1)), (slice(None, None, None), 0))
    >>> to_hyperslab(slice(8, 0, -3), (10,), backwards=True)
    (((2,), (3,), (3,)), (slice(None, None, -1),))

    Raises OutOfBounds for ints out of range, and InvalidArgument for too many entries, steps of 0,
    or below unless `backwards`, fancy indexing and axes that are refused.
    """
    entries = list(selection) if isinstance(selection, tuple) else [selection]
    # Not entries.count: an array's == is no bool.
    ellipses = [at for at, entry in enumerate(entries) if entry is Ellipsis]
    added = sum(entry is None for entry in entries)
    if added and not new_axes:
        raise _core.InvalidArgument(
            f"a new axis cannot be selected here: got {shown(selection)}; allowed: ints, slices "
            "and '...'. Add the axis to the array that comes back."
        )
    if len(ellipses) > 1 or len(entries) - len(ellipses) - added > len(shape):
        raise _core.OutOfBounds(
            f"the selection has too many entries: got {shown(selection)}; "
            f"allowed: {len(shape)} for shape {shape}"
        )
    at = ellipses[0] if ellipses else len(entries)
    if not ellipses:
        entries.append(Ellipsis)
    entries[at : at + 1] = [slice(None)] * (len(shape) + added - len(entries) + 1)
    start: list[int] = []
    count: list[int] = []
    stride: list[int] = []
    dropped: list[slice | int | None] = []
    for entry in entries:
        if entry is None:
            dropped.append(None)
            continue
        axis = len(start)
        begin, length, step, drop = _along(entry, axis, shape[axis], backwards)
        start.append(begin)
        count.append(length)
        stride.append(step)
        dropped.append(drop)
    return (tuple(start), tuple(count), tuple(stride)), tuple(dropped)


def has_new_axis(selection: object) -> bool:
    """Tell whether a selection has None, which is a new axis."""
    entries = selection if isinstance(selection, tuple) else (selection,)
    return any(entry is None for entry in entries)


def runs_backwards(selection: object) -> bool:
    """Tell whether a selection has a slice with a negative step."""
    entries = selection if isinstance(selection, tuple) else (selection,)
    return any(
        isinstance(entry, slice)
        and hasattr(entry.step, "__index__")
        and operator.index(entry.step) < 0
        for entry in entries
    )


def _along(
    entry: Index, axis: int, extent: int, backwards: bool
) -> tuple[int, int, int, slice | int]:
    """Return start, count, stride and what drops the axis, of one entry of a selection."""
    if not isinstance(entry, slice):
        index = to_index(entry, f"axis {axis} of the selection", "an int or a slice")
        if not -extent <= index < extent:
            raise _core.OutOfBounds(
                f"index out of range along axis {axis}: got {shown(index)}; "
                f"allowed: {-extent} to {extent - 1}"
            )
        return index % extent, 1, 1, 0
    for end in (entry.start, entry.stop, entry.step):
        if end is not None:
            to_index(end, f"the slice along axis {axis}", "a slice of int")
    if entry.step is not None and (entry.step == 0 or (entry.step < 0 and not backwards)):
        raise _core.InvalidArgument(
            f"cannot select along axis {axis}: got step {shown(entry.step)}; allowed: "
            f"{'any other than 0' if backwards else '1 or more'}"
        )
    indices = range(*entry.indices(extent))
    turned = slice(None, None, -1) if indices.step < 0 else slice(None)
    if not len(indices):
        return 0, 0, abs(indices.step), turned
    return min(indices[0], indices[-1]), len(indices), abs(indices.step), turned


def slab_of(shape: tuple[int, ...], rank: int, size: int) -> tuple[slice, ...]:
    """Return the `rank`-th of `size` equal parts along the first axis, as a selection.

    >>> slab_of((10, 4), 3, 4)
    (slice(8, 10, None), slice(None, None, None))
    """
    size = to_int(size, "size", 1)
    rank = to_int(rank, "rank")
    if not 0 <= rank < size:
        raise _core.OutOfBounds(f"no such part: got rank {rank}; allowed: 0 to {size - 1}")
    if not shape:
        return ()
    base, larger = divmod(shape[0], size)
    begin = rank * base + min(rank, larger)
    return (slice(begin, begin + base + (rank < larger)), *[slice(None)] * (len(shape) - 1))


def one_of(over: Over | None, axis: Over | None, dim: Over | None) -> Over | None:
    """Return the axes, by whichever of the three names they were given.

    >>> one_of(None, None, "lat")
    'lat'
    """
    given = {"over": over, "axis": axis, "dim": dim}
    said = {name: value for name, value in given.items() if value is not None}
    if len(said) > 1:
        texts = ", ".join(f"{name}={shown(value)}" for name, value in said.items())
        raise _core.InvalidArgument(
            f"the axes are said more than once: got {texts}; allowed: one of over, axis and dim, "
            "which mean the same"
        )
    return next(iter(said.values()), None)


def to_dims(over: Over, dims: Sequence[str]) -> tuple[str, ...]:
    """Return dimensions by name, given by names and numbers, in the order of the axes.

    >>> to_dims(["lon", 0], ["time", "lat", "lon"])
    ('time', 'lon')
    """
    one = isinstance(over, str | int | np.integer)
    found = set()
    for axis in [over] if one or not isinstance(over, Iterable) else over:
        if isinstance(axis, int | np.integer) and not isinstance(axis, bool):
            if not -len(dims) <= axis < len(dims):
                raise _core.OutOfBounds(
                    f"no such axis: got {shown(axis)}; allowed: {-len(dims)} to {len(dims) - 1}"
                )
            found.add(dims[int(axis)])
        elif isinstance(axis, str) and axis in dims:
            found.add(str(axis))
        else:
            raise unknown_name("no such dimension", axis, dims, "Numbers are allowed, too.")
    if not found:
        raise _core.InvalidArgument(
            "no axis to reduce over: got an empty list; allowed: one or more axes. "
            "Leave `over` out to reduce over all."
        )
    return tuple(dim for dim in dims if dim in found)
