# SPDX-License-Identifier: Apache-2.0
"""A condition that is an array of bool: elements count where it is True."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Hashable, Sequence

import numpy as np
import xarray as xr

from .. import _core
from .._core import InvalidArgument
from ..base.messages import shown
from ..compute.companions import Labels, in_axes_of
from ..store.file_by_library import LibraryContents, LibraryDataset, file_by_library
from . import positions
from .positions import Positions

_REMEDY = "Give a DataArray with named dimensions where it lacks some of them"


@dataclasses.dataclass(frozen=True, eq=False)
class ArrayMask:
    """Where an array of bool is True, at the positions of the file for which it was given.

    It keeps one bit an element, so that it is unpacked as pieces of the file are read, and is the
    same whatever becomes of the array.
    """

    axes: tuple[range, ...]
    """Positions in the file, in its order, for which there are elements along each axis."""
    shape: tuple[int, ...]
    """As long as the axes, or 1 where the array is the same all along an axis."""
    bits: np.ndarray
    """Packed along the last axis."""

    @classmethod
    def of(
        cls,
        array: np.ndarray | np.bool_ | xr.DataArray,
        dims: Sequence[str],
        axes: Sequence[Positions],
        labels: Callable[[str], xr.Variable | None],
    ) -> ArrayMask:
        """Return the condition that an array is for what is selected along the axes of a file.

        Parameters
        ----------
        array
            A NumPy array with the shape of the selection, or a DataArray with some of its
            dimensions, in any order, and equal coordinates. What it masks is not True. A bool of
            NumPy, which it makes of a comparison of one number, is an array without axes.
        dims, labels
            Names of all axes of the file, and the coordinate along a whole one.

        Raises
        ------
        InvalidArgument
            Another dtype than bool, another shape, dimensions or coordinates.
        """
        if array.dtype != np.dtype(bool):
            raise InvalidArgument(
                f"a condition that is an array is one of bool: got {shown(array)}; allowed: dtype "
                "bool. Compare it first: where(array > 0)."
            )
        kept = {d: at for d, at in zip(dims, axes, strict=True) if not isinstance(at, int)}
        shape = tuple(map(len, kept.values()))
        if isinstance(array, xr.DataArray):
            values = _by_names(array, kept, labels)
        elif array.shape != shape:
            raise InvalidArgument(
                f"the array of a condition does not fit: got shape {array.shape}; allowed: "
                f"{shape}, that of what is selected ({', '.join(kept) or 'no dimension'}). "
                f"{_REMEDY}."
            )
        else:
            values = np.ma.filled(array, False)
        upwards = tuple(slice(None, None, 1 if at.step > 0 else -1) for at in kept.values())
        away = [axis for axis, at in enumerate(axes) if isinstance(at, int)]
        values = np.expand_dims(values[upwards], away)
        bits = np.packbits(np.atleast_1d(values), axis=-1)
        bits.flags.writeable = False
        return cls(tuple(map(positions.ascending, axes)), values.shape, bits)

    def at(self, axes: Sequence[Positions]) -> np.ndarray:
        """Return the elements at positions among those it was given for, in the file's order."""
        wanted = [positions.ascending(at) for at in axes]
        index = []
        for at, own in zip(wanted, self.axes, strict=True):
            begin = own.index(at[0]) if len(at) else 0
            end = own.index(at[-1]) + 1 if len(at) else 0
            index.append(slice(begin, end, max(1, at.step // own.step)))
        return np.broadcast_to(self._unpacked(index), tuple(map(len, wanted)))

    def read(self, start: Sequence[int], count: Sequence[int]) -> np.ndarray:
        """Return the elements of a region of the file, False where there are none."""
        found = np.zeros(tuple(count), dtype=bool)
        index, into = [], []
        for begin, length, own in zip(start, count, self.axes, strict=True):
            first = min(len(own), max(0, -((own.start - begin) // own.step)))
            behind = min(len(own), max(first, -((own.start - begin - length) // own.step)))
            index.append(slice(first, behind, 1))
            low = own.start + first * own.step - begin
            into.append(slice(low, low + (behind - first) * own.step, own.step))
        found[tuple(into)] = self._unpacked(index)
        return found

    def parts_like(self, parts: Sequence[_core.FileDataset]) -> list[_core.FileDataset]:
        """Return it as a dataset of 0 and 1 that a scan reads beside another one, cut alike."""
        begins = np.cumsum([0, *(part.shape[0] if part.shape else 1 for part in parts)]).tolist()

        def read(name: str, start: tuple[int, ...], count: tuple[int, ...]) -> np.ndarray:
            moved = (start[0] + begins[int(name)], *start[1:]) if start else ()
            return self.read(moved, count).view(np.uint8)

        stated = [
            LibraryDataset(str(number), "uint8", tuple(part.shape), ("",) * len(part.shape), {}, ())
            for number, part in enumerate(parts)
        ]
        file = file_by_library(
            LibraryContents("the array of a condition", "arrays in memory", {}, {}, stated, None),
            read,
        )
        return [file.dataset(dataset.name) for dataset in stated]

    @functools.cached_property
    def digest(self) -> str:
        """Equal for equal arrays at equal positions."""
        of_bits = hashlib.blake2b(np.ascontiguousarray(self.bits).data, digest_size=16)
        of_bits.update(repr((self.axes, self.shape)).encode())
        return of_bits.hexdigest()

    def _unpacked(self, index: Sequence[slice]) -> np.ndarray:
        """Return the elements at these indices, whose last axis is unpacked no farther."""
        if not self.shape:
            return np.unpackbits(self.bits, count=1).view(bool).reshape(())
        chosen = [
            slice(0, min(1, at.stop - at.start)) if n == 1 else at
            for at, n in zip(index, self.shape, strict=True)
        ]
        last = chosen[-1]
        first = last.start // 8
        packed = self.bits[(*chosen[:-1], slice(first, -(-last.stop // 8)))]
        bits = np.unpackbits(packed, axis=-1).view(bool)
        return bits[..., last.start - 8 * first : last.stop - 8 * first : last.step]


def _by_names(
    array: xr.DataArray,
    kept: dict[str, range],
    labels: Callable[[str], xr.Variable | None],
) -> np.ndarray:
    """Return an array with the axes of what is selected, of length 1 where it has none itself."""
    for dim, length in array.sizes.items():
        if dim in kept and length != len(kept[str(dim)]):
            raise InvalidArgument(
                f"the array of a condition does not fit along '{dim}': got length {length}; "
                f"allowed: {len(kept[str(dim)])}, as of what is selected. Select alike: "
                f"where(array.isel({dim}=…))."
            )
    indexes: dict[Hashable, object] = {}
    for dim in array.indexes:
        whole = labels(str(dim)) if dim in kept else None
        if whole is not None:
            indexes[dim] = whole[positions.as_array(kept[str(dim)])].to_index()
    known = Labels(tuple(kept), indexes)
    return in_axes_of(array.values, array, "the array of a condition", known)
