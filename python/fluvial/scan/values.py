# SPDX-License-Identifier: Apache-2.0
"""The elements of what is selected of a dataset in files, read into memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import cast

import numpy as np
import numpy.typing as npt
import xarray as xr

from .._core import WrongType
from ..base.arguments import as_array
from ..describe.attributes import Attributes
from ..describe.selection import Selection, has_new_axis, to_hyperslab
from ..describe.storage_attributes import plain_attributes
from ..store.joined_files import JoinedFiles
from .decoded import read_decoded
from .view import View


class Values:
    """What a dataset in files has of an array: `read`, indexing, iteration, ``np.asarray``."""

    _files: JoinedFiles
    _name: str
    _view: View

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the selection."""
        raise NotImplementedError

    @property
    def attrs(self) -> Attributes:
        """Attributes of the dataset."""
        raise NotImplementedError

    def read(self, selection: Selection = None) -> xr.DataArray:
        """Read the selection into memory, decoded; what is missing or masked is NaN. Local."""
        view = self._view if selection is None else self._view.getitem(selection)
        coords = self._coords(view)
        return xr.DataArray(
            self._values(view),
            dims=view.kept,
            coords={k: v for k, v in coords.items() if set(v.dims) <= set(view.kept)},
            name=self._name.rpartition("/")[2],
            attrs=plain_attributes(self.attrs) if view.decode else self.attrs,
        )

    def stored(self, selection: Selection = None) -> np.ndarray:
        """Return the selected elements as they are in the file, neither decoded nor labelled."""
        view = dataclasses.replace(self._view, decode=False, where=(), arithmetic=None)
        return read_decoded(
            self._files, self._name, view if selection is None else view.getitem(selection)
        )

    def load(self) -> xr.DataArray:
        """Read the selection into memory, as `read`."""
        return self.read()

    def __getitem__(self, selection: Selection) -> xr.DataArray:
        """Read the selection, as `read`; with a new axis, as NumPy's None, an array without labels.

        The same as of a `Dataset` of a live step; types cannot tell.
        """
        if not has_new_axis(selection):
            return self.read(selection)
        hyperslab, index = to_hyperslab(selection, self.shape, new_axes=True, backwards=True)
        along = zip(*hyperslab, strict=True)
        chosen = tuple(slice(begin, begin + n * step, step) for begin, n, step in along)
        return cast(xr.DataArray, self.read(chosen).values[index])

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return as_array(self.read().values, dtype, copy)

    @property
    def values(self) -> np.ndarray:
        """What `read` gives, without its labels: the selection is read at each use. Local."""
        return self.read().values

    def __len__(self) -> int:
        if not self.shape:
            raise WrongType("a dataset without dimensions has no length: got shape (); read it")
        return self.shape[0]

    def __iter__(self) -> Iterator[xr.DataArray]:
        """Iterate over the first axis, as over a NumPy array; each turn reads one entry."""
        return map(self.__getitem__, range(len(self)))

    def _values(self, view: View) -> np.ndarray:
        return read_decoded(self._files, self._name, view)

    def _coords(self, view: View) -> dict[str, xr.Variable]:
        """Return the coordinates of what is selected; axes selected away have scalar ones."""
        return view.of(self._files.coordinates(self._name, view.dims))
