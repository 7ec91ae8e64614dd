# SPDX-License-Identifier: Apache-2.0
"""What is selected of a dataset, and what of that a piece of it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .._core import InvalidArgument
from ..base.arguments import unknown_name
from ..base.messages import shown
from ..distribute.piece import Piece
from .series import PipedDataset


class Cut(NamedTuple):
    """The part of a region that lies in a piece of the dataset."""

    selection: tuple[int | slice, ...]
    """In the dataset."""
    offset: tuple[int, ...]
    """In the region."""


class Region(NamedTuple):
    """Positions along each axis of a dataset; an axis with one of them as an int is dropped."""

    axes: tuple[int | range, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is selected."""
        return tuple(len(at) for at in self.axes if not isinstance(at, int))

    def cut(self, piece: Piece) -> Cut | None:
        """Return what a piece has of the region; None for nothing.

        >>> Region((range(0, 10, 3), 5)).cut(Piece((4, 0), (6, 8)))
        Cut(selection=(slice(6, 10, 3), 5), offset=(2,))
        """
        selection: list[int | slice] = []
        offset = []
        for at, begin, length in zip(self.axes, piece.offset, piece.extent, strict=True):
            if isinstance(at, int):
                if not begin <= at < begin + length:
                    return None
                selection.append(at)
                continue
            first = max(0, -((at.start - begin) // at.step))
            last = min(len(at) - 1, (begin + length - 1 - at.start) // at.step)
            if first > last:
                return None
            selection.append(slice(at[first], at[last] + 1, at.step))
            offset.append(first)
        return Cut(tuple(selection), tuple(offset))

    def attributes(self, attrs: Mapping[str, object], sizes: Sequence[int]) -> dict[str, object]:
        """Return the attributes of a mesh with the grid of the region, of a dataset of `sizes`."""
        found = dict(attrs)
        if all(at == range(n) for at, n in zip(self.axes, sizes, strict=True)):
            return found
        axes = self.axes[::-1] if attrs.get("dataOrder") == "F" else self.axes
        kept = [axis for axis, at in enumerate(axes) if not isinstance(at, int)]
        spacing = _numbers(attrs, "gridSpacing", len(axes))
        begin = _numbers(attrs, "gridGlobalOffset", len(axes))
        position = _numbers(attrs, "position", len(axes))
        if spacing is not None and begin is not None:
            # The first element stays where it is; with a larger spacing its share in the cell is
            # another. The cells are those of all components of the record.
            found["gridGlobalOffset"] = [
                begin[axis] + spacing[axis] * _first(axes[axis]) for axis in kept
            ]
            found["gridSpacing"] = [spacing[axis] * _step(axes[axis]) for axis in kept]
        if position is not None:
            found["position"] = [position[axis] / _step(axes[axis]) for axis in kept]
        labels = attrs.get("axisLabels")
        if isinstance(labels, list) and len(labels) == len(axes):
            found["axisLabels"] = [labels[axis] for axis in kept]
        return found


def region_of(
    dataset: PipedDataset, isel: Mapping[str, object], sel: Mapping[str, object]
) -> Region:
    """Return what is selected of a dataset; axes of which nothing is said are whole.

    Raises
    ------
    InvalidArgument, OutOfBounds
        The selection runs backwards, is outside, or names labels that are not there.
    """
    dims = set(dataset.dims)
    by_position = {dim: at for dim, at in isel.items() if dim in dims}
    by_label = {dim: at for dim, at in sel.items() if dim in dims}
    if not by_position and not by_label:
        return Region(tuple(range(n) for n in dataset.shape))
    selected = dataset.isel(by_position).sel(by_label).view.axes
    before = dataset.view.axes if hasattr(dataset, "view") else selected
    record = [isinstance(at, int) for at in before] if before is not selected else []
    axes = tuple(at for axis, at in enumerate(selected) if not (record and record[axis]))
    for dim, at in zip(dataset.dims, axes, strict=True):
        if isinstance(at, range) and at.step < 0:
            raise InvalidArgument(
                f"a selection that runs backwards is not piped: got {shown(at)} along {dim!r}; "
                "allowed: positions that ascend"
            )
    return Region(axes)


def check_dims(datasets: Sequence[PipedDataset], *selections: Mapping[str, object]) -> None:
    """Raise unless each selected dimension is one of some dataset."""
    known = list(dict.fromkeys(dim for dataset in datasets for dim in dataset.dims))
    for selection in selections:
        for dim in selection:
            if dim not in known:
                raise unknown_name("no dataset has the dimension", dim, known)


def _numbers(attrs: Mapping[str, object], name: str, count: int) -> list[float] | None:
    said = attrs.get(name)
    listed = said if isinstance(said, list) else [said]
    numbers = [n for n in listed if isinstance(n, int | float)]
    return list(map(float, numbers)) if len(numbers) == count else None


def _first(at: int | range) -> int:
    return at if isinstance(at, int) else at.start


def _step(at: int | range) -> int:
    return 1 if isinstance(at, int) else at.step
