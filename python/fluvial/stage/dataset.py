# SPDX-License-Identifier: Apache-2.0
"""A dataset of a live step: read in place, reduced where it lies."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple, NoReturn, Self

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import WrongType
from ..base.arguments import as_array
from ..base.html_table import html_table
from ..compute.reductions import Reductions
from ..compute.registry import Reduced
from ..compute.specs import Specs
from ..describe.attributes import Attributes, AttributeValue
from ..describe.axis_labels import axis_labels
from ..describe.group_attributes import said_of_group
from ..describe.records import unit_of
from ..describe.selection import (
    Over,
    Selection,
    has_new_axis,
    one_of,
    slab_of,
    to_dims,
    to_hyperslab,
)
from ..describe.storage_attributes import says_decoding
from ..distribute.assignment import Strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece
from .by_name import ByName
from .lazy_dataset import LazyDataset
from .step_views import Masking, Read, Step, Weighting, to_views

if TYPE_CHECKING:
    pass


class Chunk(NamedTuple):
    """Where a part of a dataset lies."""

    offset: tuple[int, ...]
    """Global coordinates of its first element."""
    extent: tuple[int, ...]
    """Number of elements along each axis."""
    rank: int
    """Of the writer that put it."""
    host: str
    """That it lies on."""


class Dataset(Reductions[Reduced], ByName):
    """An n-d array of a step, spread over chunks. Usable until the step ends.

    It speaks the language of `FileDataset`: what selects, masks, weights and computes returns a
    `StepDataset`, which needs xarray. Where its axes have names, results have labels, too.

    Examples
    --------
    >>> t = step["meshes/T"]                                              # doctest: +SKIP
    >>> t.sel(x=slice(0, 2.5)).where("value > 0").mean("y")               # doctest: +SKIP
    """

    def __init__(self, step: Step, core: _core.StagedDataset) -> None:
        self._step = step
        self._core = core

    @property
    def name(self) -> str:
        """Name of the dataset in its step."""
        return self._core.name

    @property
    def dtype(self) -> np.dtype:
        """Of the values as they are read: packed or possibly missing integers are float64."""
        return self._lazily().dtype if self.decodes else self.stored_dtype

    @property
    def stored_dtype(self) -> np.dtype:
        """Of the elements as they were put."""
        return np.dtype(self._core.dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Global shape."""
        return self._core.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._core.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.size * self.dtype.itemsize

    @property
    def attrs(self) -> Attributes:
        """Attributes of the dataset."""
        return Attributes(self._said)

    @property
    def chunks(self) -> list[Chunk]:
        """Where the data lies, one entry a put, of all writer ranks."""
        host_of = self._step.host_of
        return [
            Chunk(offset, extent, rank, host_of(rank)) for offset, extent, rank in self._core.chunks
        ]

    def load(self) -> Read:
        """Read everything, as `read`."""
        return self.read()

    def read(self, selection: Selection = None) -> Read:
        """Return the selected elements as an array. Local.

        A NumPy array, or where the axes have names (and xarray is installed) an xarray.DataArray
        with coordinates, whose ``values`` are that array.

        Where one chunk holds all of them, the result is a read-only view of the writer's memory,
        otherwise a gathered copy. Either stays valid as long as it is referenced, also after the
        step, the series and the writer are gone; a view keeps its step's memory occupied until
        then.

        Parameters
        ----------
        selection
            What NumPy's basic indexing takes: ``np.s_[10:20, ::2, 3]``; None: everything. (Of
            ``dataset[None]``, as in NumPy, None is a new axis.)

        Raises
        ------
        OutOfBounds, InvalidArgument
            The selection is outside the shape or cannot be used, or the step has ended.
        Error
            No rank wrote some of the elements; names the first such region.
        """
        if (labelled := self._labelled()) is not None:
            return labelled.read(selection)
        return self._core.read(None) if selection is None else self[selection]

    def __getitem__(self, selection: Selection) -> Read:
        """Return the selected elements as `read` does; None is a new axis, as in NumPy."""
        labelled = None if has_new_axis(selection) else self._labelled()
        if labelled is not None:
            return labelled.read(selection)
        hyperslab, index = to_hyperslab(selection, self.shape, new_axes=True, backwards=True)
        if not self.decodes:
            return self._core.read(hyperslab)[index]
        along = zip(*hyperslab, strict=True)
        chosen = tuple(slice(begin, begin + n * step, step) for begin, n, step in along)
        return self._lazily().read(chosen).values[index]

    def stored(self, selection: Selection = None) -> np.ndarray:
        """Return the selected elements as they were put: as `read`, but not decoded or labelled."""
        if selection is None:
            return self._core.read(None)
        hyperslab, index = to_hyperslab(selection, self.shape, backwards=True)
        return self._core.read(hyperslab)[index]

    def __len__(self) -> int:
        if not self.shape:
            raise WrongType("a dataset without dimensions has no length: got shape (); read it")
        return self.shape[0]

    def __iter__(self) -> Iterator[Read]:
        """Iterate over the first axis, as over a NumPy array; each turn reads one entry."""
        return map(self.__getitem__, range(len(self)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        values = self._lazily().read().values if self.decodes else self._core.read(None)
        return as_array(values, dtype, copy)

    @property
    def values(self) -> np.ndarray:
        """The whole dataset, read into memory by this rank, as ``np.asarray`` does."""
        return np.asarray(self)

    def slab(self, rank: int, size: int) -> tuple[slice, ...]:
        """Return the `rank`-th of `size` equal parts along the first axis, as a selection."""
        return slab_of(self.shape, rank, size)

    def mine(
        self, strategy: Strategy = "hyperslabs", *, own: Mapping[str, Own] | None = None
    ) -> list[Piece]:
        """Return this rank's parts of the dataset, by a strategy. Collective: see `ReadStep.mine`.

        >>> sum(dataset[piece.selection].sum() for piece in dataset.mine())  # doctest: +SKIP
        """
        return self._step.mine(strategy, [self.name], own=own)[self.name]

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes by openPMD's attribute `axisLabels`; dim_0, dim_1 … without one.

        Of the dataset, of its group, or of the step: the first with a label for each axis.
        """
        return self._labels or tuple(f"dim_{axis}" for axis in range(self.ndim))

    @property
    def sizes(self) -> dict[str, int]:
        """Extents by dimension."""
        return dict(zip(self.dims, self.shape, strict=True))

    @property
    def has_names(self) -> bool:
        """Whether the axes have names, so that results have labels."""
        return self._labels is not None

    @property
    def decodes(self) -> bool:
        """Whether attributes declare missing or packed values, so that elements are decoded."""
        return says_decoding(self._said)

    @functools.cached_property
    def _said(self) -> dict[str, AttributeValue]:
        return self._core.attributes

    @functools.cached_property
    def _labels(self) -> tuple[str, ...] | None:
        said = self._step.said
        group = self.name.rpartition("/")[0]
        of_group = said_of_group(said, group, "axisLabels", "dataOrder")
        return axis_labels(self.ndim, self._said, of_group, said)

    def axes(self, over: Over) -> list[int]:
        """Return axes, given by name or number, as numbers."""
        dims = self.dims
        return [dims.index(dim) for dim in to_dims(over, dims)]

    def reduce(
        self,
        op: Specs,
        over: Over | None = None,
        selection: Selection = None,
        *,
        skipna: bool | None = None,
        min_count: int | None = None,
        weights: Weighting | None = None,
        where: Masking | None = None,
        local: bool = False,
        axis: Over | None = None,
        dim: Over | None = None,
        **options: object,
    ) -> Reduced:
        """Reduce where the data lies; the result is on all ranks.

        Collective over the series' communicator unless `local`: each rank works on an equal part,
        and partial results are merged in log2(ranks) messages.

        Parameters
        ----------
        op
            A name ("mean"), an operator of `fluvial.ops`, or a list or dict of them: one pass over
            the data.
        over
            Axis or axes to reduce, by number or name; None: all. The others are kept.
        axis, dim
            The same as `over`.
        selection
            As for `read`. Of a dataset without names of axes, one that is selected by an int is
            kept with length 1, unless another runs backwards: that gives what `FileDataset.reduce`
            does.
        skipna
            NaN does not count, unless an operator was made to let it propagate. False: it
            propagates. What attributes declare as missing never counts; False: it makes the result
            NaN.
        min_count
            Fewer elements that count make the result NaN, as in xarray: 1 for a sum of nothing.
        weights
            An array with the extent of the selection, or as for `weighted`.
        where
            An array of bool with the extent of the selection, or as for `where`.
        local
            Reduce everything on this rank alone.
        **options
            How a scan works, where one is needed: for conditions, groups, weights of axes and
            values to decode. See `fluvial.scan.options.ScanOptions`.

        Returns
        -------
        Without names of axes a NumPy scalar, an array of the kept axes' shape, or what the operator
        says; a list or dict of them for a list or dict of operators. With names, and after what
        selects, masks or weights: what `FileDataset.reduce` returns.

        Raises
        ------
        InvalidArgument
            An argument is wrong, on any rank; the step has ended.
        Error
            No rank wrote some of the elements.
        """
        return self._step.reduce(
            op,
            self.name,
            one_of(over, axis, dim),
            selection,
            skipna=skipna,
            min_count=min_count,
            weights=weights,
            where=where,
            local=local,
            **options,
        )

    @property
    def si(self) -> LazyDataset:
        """The same in SI units: times openPMD's attribute `unitSI`, where it has one."""
        return self._lazily() * unit_of(self._said, self.name)

    def _lazily(self) -> LazyDataset:
        return to_views(self._step).dataset(self.name)

    def _labelled(self) -> LazyDataset | None:
        """Return the dataset that gives labels and decodes; None where NumPy's words are enough."""
        if self.decodes:
            return self._lazily()
        views = self._step.views if self.has_names else None
        return None if views is None else views.dataset(self.name)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise WrongType(
            f"a dataset of a live step cannot be pickled: got {self!r}; allowed: arrays. Read it "
            "first: dataset.read()."
        )

    def _repr_html_(self) -> str:
        return html_table(repr(self), ("attribute", "value"), self.attrs.items())

    def __repr__(self) -> str:
        return f"<fluvial.Dataset '{self.name}' {self.stored_dtype}{list(self.shape)}>"
