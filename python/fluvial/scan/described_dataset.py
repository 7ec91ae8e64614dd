# SPDX-License-Identifier: Apache-2.0
"""What a dataset in files says of itself: its name, extent, types, attributes and layout."""

from __future__ import annotations

from typing import Literal, TypedDict, cast

import numpy as np
import xarray as xr

from ..base.html_table import html_table
from ..describe.attributes import Attributes, AttributeValue
from . import positions, request
from .values import Values
from .view import View


class Layout(TypedDict, total=False):
    """Where the bytes of a dataset lie; which entries there are follows from `kind`."""

    kind: Literal["affine", "chunked", "by library"]
    offset: int
    """Affine: of the first element in the file."""
    strides: tuple[int, ...]
    """Affine: bytes between elements along each axis."""
    chunk: tuple[int, ...]
    """Chunked: extents of a chunk."""
    filters: tuple[str, ...]
    """Chunked: what encodes a chunk, in the order of writing."""
    swapped: bool
    """Affine or chunked: whether the byte order is not this machine's."""
    why: str
    """By library: why these bytes are read by the format's own library alone."""
    granule: tuple[int, ...]
    """By library: extents that are best read together; () where it does not matter."""


class DescribedDataset(Values):
    """The part of `FileDataset` that neither selects nor computes."""

    @property
    def name(self) -> str:
        """Path in the file: "temperature", "data/0/meshes/E/x"."""
        return self._name

    @property
    def view(self) -> View:
        """What is selected, masked and weighted of it."""
        return self._view

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the dimensions that are left."""
        return self._view.kept

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the selection."""
        return tuple(positions.length(self._view.at(dim)) for dim in self.dims)

    @property
    def sizes(self) -> dict[str, int]:
        """Extents by dimension."""
        return dict(zip(self.dims, self.shape, strict=True))

    @property
    def ndim(self) -> int:
        """Number of dimensions that are left."""
        return len(self.dims)

    @property
    def size(self) -> int:
        """Number of selected elements."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of the selected elements, as operators see them."""
        return self.size * self.dtype.itemsize

    @property
    def dtype(self) -> np.dtype:
        """Of the values as operators see them: packed or possibly missing integers are float64."""
        stored = self._files.parts_of(self._name)[0].dtype
        decoding = self._files.decoding(self._name, self._view.decode)
        if decoding.drops_values or self._view.where:
            request.promote(decoding, stored)
        decoded = np.dtype(decoding.decoded(stored))
        arithmetic = self._view.arithmetic
        return decoded if arithmetic is None else arithmetic(np.ones(1, decoded)).dtype

    @property
    def stored_dtype(self) -> np.dtype:
        """Of the elements as they are in the file."""
        return np.dtype(self._files.parts_of(self._name)[0].dtype)

    @property
    def constant(self) -> AttributeValue | None:
        """What all elements are, where the file says it once: openPMD's constant component."""
        return self._files.parts_of(self._name)[0].constant

    @property
    def attrs(self) -> Attributes:
        """Attributes as they are in the file; none after arithmetic."""
        if self._view.arithmetic is not None:
            return Attributes()
        return Attributes(self._files.attributes_of(self._name))

    @property
    def coords(self) -> xr.Coordinates:
        """Coordinates of the selection; read when asked for, times decoded."""
        return xr.Coordinates(dict(self._coords(self._view)))

    @property
    def layout(self) -> Layout:
        """Where the (first) file's bytes lie: 'kind', strides or chunk and filters, byte order."""
        return cast(Layout, self._files.parts_of(self._name)[0].layout)

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Extents of the chunks in the file; None when it has none."""
        layout = self.layout
        return layout.get("chunk") or layout.get("granule") or None

    def __repr__(self) -> str:
        sizes = ", ".join(f"{d}: {n}" for d, n in zip(self.dims, self.shape, strict=True))
        computed = "" if self._view.arithmetic is None else f", {self._view.arithmetic},"
        what = f"'{self._name}' {self.dtype} ({sizes}){computed}"
        return f"<fluvial.{type(self).__name__} {what} of {self._files.path!r}>"

    def _repr_html_(self) -> str:
        return html_table(repr(self), ("attribute", "value"), self.attrs.items())
