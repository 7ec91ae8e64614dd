# SPDX-License-Identifier: Apache-2.0
"""Reading a selection into memory, decoded as scans decode it."""

from __future__ import annotations

import numpy as np

from .._core import InvalidArgument
from ..store.joined_files import JoinedFiles
from . import positions
from .array_mask import ArrayMask
from .predicates import Comparison
from .view import View


def read_decoded(files: JoinedFiles, name: str, view: View) -> np.ndarray:
    """Return the selected values; what is missing or masked is NaN, packed values are float64."""
    values, missing = _one(files, name, view)
    for predicate in view.where:
        if isinstance(predicate, Comparison):
            other = files.find(predicate.dataset, name)
            compared, absent = (values, missing) if other == name else _one(files, other, view)
            missing = missing | absent | ~predicate.holds(compared)
        elif isinstance(predicate, ArrayMask):
            missing = missing | ~predicate.at(view.axes)
        elif predicate.inputs == 1:
            missing = missing | ~np.asarray(predicate.function(values), dtype=bool)
        else:
            raise InvalidArgument(
                f"the condition takes {predicate.inputs} arrays: got 1; allowed: a function of one"
            )
    if view.where or missing.any():
        if values.dtype.kind in "iu":
            values = values.astype(np.float64)
        values[missing] = complex(np.nan, np.nan) if values.dtype.kind == "c" else np.nan
    values = values[as_selected(view)]
    return values if view.arithmetic is None else np.asarray(view.arithmetic(values))


def read_stored(files: JoinedFiles, name: str, view: View) -> np.ndarray:
    """Return the selected elements as they are in the file."""
    return _stored(files, name, view)[as_selected(view)]


def as_selected(view: View) -> tuple[int | slice, ...]:
    """Return the index that drops single positions and turns axes which are read backwards."""
    return tuple(
        0 if isinstance(at, int) else slice(None, None, -1 if at.step < 0 else 1)
        for at in view.axes
    )


def _one(files: JoinedFiles, name: str, view: View) -> tuple[np.ndarray, np.ndarray]:
    stored = _stored(files, name, view)
    decoding = files.decoding(name, view.decode)
    dtype = stored.dtype.name
    stored = stored.view(decoding.stored(dtype))
    missing = np.zeros(stored.shape, dtype=bool)
    for value in decoding.missing(dtype):
        missing |= (stored == value) | ((stored != stored) & (value != value))
    lowest, highest = decoding.valid_range(dtype)
    if lowest is not None:
        missing |= stored < lowest
    if highest is not None:
        missing |= stored > highest
    if decoding.packed:
        # Of an array without axes NumPy makes a scalar, in which nothing can be set to NaN.
        return np.asarray(stored * np.float64(decoding.scale) + decoding.offset), missing
    if decoding.drops_values and stored.dtype.kind in "iu":
        return stored.astype(np.float64), missing
    return stored, missing


def _stored(files: JoinedFiles, name: str, view: View) -> np.ndarray:
    """Elements as they are in the file, in its order, from every part that has some of them."""
    start, count, stride = positions.to_hyperslab(view.axes)
    parts = files.parts_of(name)
    if not start:
        return parts[0].read((), ())
    pieces, begin = [], 0
    along = range(start[0], start[0] + count[0] * stride[0], stride[0])
    for part in parts:
        length = part.shape[0]
        first = -(-max(begin - start[0], 0) // stride[0])
        last = -(-max(begin + length - start[0], 0) // stride[0])
        mine = along[first:last]
        if len(mine) or len(parts) == 1:
            low = (mine.start - begin if len(mine) else 0, *start[1:])
            counts = (len(mine), *count[1:])
            spans = tuple((n - 1) * s + 1 if n else 0 for n, s in zip(counts, stride, strict=True))
            piece = part.read(low, spans)
            pieces.append(piece[tuple(slice(None, None, s) for s in stride)])
        begin += length
    if not pieces:
        return np.empty(count, dtype=parts[0].dtype)
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
