# SPDX-License-Identifier: Apache-2.0
"""Coordinates that labelled arrays bring along, from pieces that the ranks put."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._core import InvalidArgument, WrongType
from ..base.messages import shown
from ..describe.attributes import AttributeValue, plain
from ..describe.dates import SINCE, TIME, to_seconds
from ..describe.storage_attributes import plain_attributes
from ..store.step_contents import Coordinate

if TYPE_CHECKING:
    import xarray as xr

_ENCODED = ("units", "calendar")


class CoordinatePiece(NamedTuple):
    """Coordinates along a part of an axis, or the time of a step."""

    dim: str
    begin: int
    length: int
    """Of the whole axis; 0: a scalar."""
    values: np.ndarray
    attrs: Mapping[str, object]


class PutCoordinates:
    """What one rank has put; along an axis they are the same in all steps."""

    def __init__(self) -> None:
        self._written: dict[tuple[str, int, int], CoordinatePiece] = {}
        self._new: dict[tuple[str, int, int], CoordinatePiece] = {}
        self._times: list[CoordinatePiece] = []

    def note(self, arrays: Iterable[tuple[object, Sequence[int], Sequence[int]]]) -> None:
        """Keep the coordinates of arrays along their axes, and the time of a single record.

        `arrays` have offset and shape behind them. What is raised leaves nothing of any of them.

        Raises
        ------
        InvalidArgument
            They are others than in an earlier step.
        WrongType
            They are no numbers or times.
        """
        before = dict(self._new), list(self._times)
        try:
            for array, offset, shape in arrays:
                self._note(array, offset, shape)
        except Exception:
            self._new, self._times = before
            raise

    def _note(self, array: object, offset: Sequence[int], shape: Sequence[int]) -> None:
        coords, dims = getattr(array, "coords", None), getattr(array, "dims", None)
        if not isinstance(coords, Mapping) or not isinstance(dims, tuple):
            return
        for axis, dim in enumerate(dims):
            if dim in coords and coords[dim].ndim == 1:
                values, attrs = _encoded(str(dim), coords[dim])
                piece = CoordinatePiece(str(dim), offset[axis], shape[axis], values, attrs)
                self._add(piece)
        if TIME in coords and TIME not in dims and coords[TIME].ndim == 0:
            self._times.append(CoordinatePiece(TIME, 0, 0, *_encoded(TIME, coords[TIME])))

    def new(self) -> list[CoordinatePiece]:
        """Return what no step before this one had."""
        return [*self._new.values(), *self._times]

    def end_step(self, written: bool, for_all: bool) -> None:
        """Say whether the step was written; `for_all`: into a file that has later ones, too."""
        if written and for_all:
            self._written |= self._new
        self._new = {}
        self._times = []

    def _add(self, piece: CoordinatePiece) -> None:
        key = piece.dim, piece.begin, piece.values.size
        known = self._written.get(key, self._new.get(key))
        if known is None:
            self._new[key] = piece
        elif not np.array_equal(known.values, piece.values, equal_nan=_may_be_nan(piece)):
            raise _changed(piece.dim, piece.values)


def joined(pieces: Sequence[CoordinatePiece]) -> dict[str, Coordinate]:
    """Return whole coordinates from the pieces of all ranks.

    Raises
    ------
    InvalidArgument
        Pieces differ where they overlap, or some are missing.
    """
    found: dict[str, Coordinate] = {}
    filled: dict[str, np.ndarray] = {}
    for piece in pieces:
        dim, values = piece.dim, piece.values
        if piece.length == 0 and values.ndim == 0:
            if dim in found and found[dim].values != values:
                raise _changed(dim, values)
            found[dim] = Coordinate(values, piece.attrs)
            continue
        if dim not in found:
            found[dim] = Coordinate(np.zeros(piece.length, values.dtype), piece.attrs)
            filled[dim] = np.zeros(piece.length, bool)
        whole = found[dim].values
        if whole.shape != (piece.length,) or whole.dtype != values.dtype:
            raise InvalidArgument(
                f"arrays differ in the coordinate '{dim}': got {values.dtype} for "
                f"{piece.length} elements; allowed: {whole.dtype} for {whole.size}, as of the "
                "array before it"
            )
        part = slice(piece.begin, piece.begin + values.size)
        seen = filled[dim][part]
        if not np.array_equal(whole[part][seen], values[seen], equal_nan=_may_be_nan(piece)):
            raise _changed(dim, values)
        whole[part] = values
        filled[dim][part] = True
    for dim, marks in filled.items():
        if not marks.all():
            raise InvalidArgument(
                f"coordinates of '{dim}' are missing: got {int(marks.sum())} of {marks.size}; "
                "allowed: all of them, or none. Put arrays with coordinates on all ranks"
            )
    return found


def _encoded(dim: str, coordinate: xr.DataArray) -> tuple[np.ndarray, dict[str, AttributeValue]]:
    """Return coordinates as numbers; times become seconds since 1970."""
    values = np.asarray(coordinate.values)
    attrs = plain(plain_attributes(dict(coordinate.attrs)))
    if values.dtype.kind == "M":
        said = {k: v for k, v in attrs.items() if k not in _ENCODED}
        return to_seconds(values), said | SINCE
    if values.dtype.kind == "b":
        return values.astype("int8"), attrs
    if values.dtype.kind not in "iuf":
        raise WrongType(
            f"the coordinate '{dim}' cannot be written: got {shown(values)}; allowed: numbers and "
            f"datetime64. Leave it out: array.drop_vars({dim!r})"
        )
    return np.array(values, values.dtype.newbyteorder("="), order="C"), attrs


def _may_be_nan(piece: CoordinatePiece) -> bool:
    return piece.values.dtype.kind == "f"


def _changed(dim: str, values: np.ndarray) -> InvalidArgument:
    return InvalidArgument(
        f"arrays differ in the coordinate '{dim}': got {shown(values)}; allowed: the same on all "
        "ranks, in all datasets and steps: a file has it once"
    )
