# SPDX-License-Identifier: Apache-2.0
"""What of a dataset in files takes part in a reduction: selection, masks, weights, groups."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import xarray as xr

from ..base.arguments import unknown_name
from ..compute.arithmetic import Arithmetic
from ..describe.selection import Indexers, Over, Selection, to_dims, to_hyperslab, to_indexers
from . import positions
from .positions import Positions
from .predicates import Predicate


class Groups(NamedTuple):
    """Selected indices of one axis put into groups; results get an axis of the groups."""

    dim: str
    """That is grouped."""
    labels: xr.Variable
    """One a group; its dimension names the new axis."""
    group: np.ndarray
    """Of each selected index, in the order of the file; -1: in none."""


@dataclasses.dataclass(frozen=True)
class View:
    """Axes of a dataset with what was selected of them. Immutable."""

    dims: tuple[str, ...]
    """Of every axis, those that were selected away too."""
    shape: tuple[int, ...]
    axes: tuple[Positions, ...]
    where: tuple[Predicate, ...] = ()
    weights: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict)
    """Factors of whole axes of the file, by dimension."""
    groups: Groups | None = None
    arithmetic: Arithmetic | None = None
    """What becomes of each element before it is reduced."""
    decode: bool | str = True
    """CF attributes hold; "xarray": but for valid ranges."""
    record: str | None = None
    """The dimension of records, of a step that is one of them."""

    @classmethod
    def whole(cls, dims: Sequence[str], shape: tuple[int, ...], decode: bool | str) -> View:
        """Return everything of a dataset; axes without a name are called dim_0, dim_1 …."""
        named: list[str] = []
        for axis, dim in enumerate(dims):
            short = dim.rpartition("/")[2] or f"dim_{axis}"
            named.append(short if short not in named else f"{short}_{axis}")
        return cls(tuple(named), shape, tuple(range(n) for n in shape), decode=decode)

    @property
    def kept(self) -> tuple[str, ...]:
        """Dimensions that were not selected away."""
        return tuple(
            d for d, at in zip(self.dims, self.axes, strict=True) if not isinstance(at, int)
        )

    def at(self, dim: str) -> Positions:
        """Return what is selected along a dimension."""
        return self.axes[self.dims.index(dim)]

    def check(self, dim: Hashable) -> str:
        """Return the name of a dimension; InvalidArgument when there is none."""
        if isinstance(dim, str) and dim in self.kept:
            return dim
        raise unknown_name("no such dimension", dim, self.kept)

    def replace(self, dim: str, selected: Positions) -> View:
        """Return the same with other positions along one dimension."""
        axis = self.dims.index(dim)
        return dataclasses.replace(self, axes=(*self.axes[:axis], selected, *self.axes[axis + 1 :]))

    def isel(self, indexers: Indexers) -> View:
        """Select by number, as xarray's isel."""
        view = self
        wanted = to_indexers(indexers, "isel", "a dict of dimensions to numbers")
        for dim, indexer in wanted.items():
            name = view.check(dim)
            view = view.replace(name, positions.by_index(view.at(name), indexer, name))
        return view

    def getitem(self, selection: Selection) -> View:
        """Select by NumPy's basic indexing over the dimensions that are left."""
        shape = tuple(positions.length(self.at(dim)) for dim in self.kept)
        (start, count, stride), index = to_hyperslab(selection, shape, backwards=True)
        view = self
        for dim, begin, n, step, entry in zip(self.kept, start, count, stride, index, strict=True):
            along = positions.axis_of(self.at(dim), dim)
            if isinstance(entry, slice):
                chosen: Positions = along[begin : begin + n * step : step][entry]
            else:
                chosen = along[begin]
            view = view.replace(dim, chosen)
        return view

    def over(self, over: Over | None) -> tuple[str, ...]:
        """Return the dimensions to reduce, given by name or number; None: all."""
        return self.kept if over is None else to_dims(over, self.kept)

    def of(self, variables: Mapping[str, xr.Variable]) -> dict[str, xr.Variable]:
        """Return what is selected of variables along whole axes; scalar ones stay as they are."""
        out = {}
        for name, variable in variables.items():
            if not variable.dims:
                out[name] = variable
            elif variable.dims[0] in self.dims:
                at = self.at(str(variable.dims[0]))
                out[name] = variable[at if isinstance(at, int) else positions.as_array(at)]
        return out
