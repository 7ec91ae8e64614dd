# SPDX-License-Identifier: Apache-2.0
"""A step being written to files, as `WriteStep` is to a stream."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import NamedTuple, Protocol, Self, overload

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_ints, to_text
from ..base.messages import shown
from ..describe.attributes import plain
from ..store.step_contents import Extent
from .put_arguments import Named, Said, as_put, as_span, refuse_array
from .put_coordinates import PutCoordinates

_DTYPES = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
}
_BYTES_MAX = 2**62  # of a dataset: offsets in files have 63 bits


class Part(NamedTuple):
    """What a rank has put of a dataset."""

    offset: tuple[int, ...]
    array: np.ndarray


class Put(NamedTuple):
    """All that a rank has put into a step."""

    number: int
    attrs: Mapping[str, object]
    groups: Mapping[str, Mapping[str, object]]
    extents: dict[str, Extent]
    parts: dict[str, list[Part]]
    failed: str | None
    """What ended the step's block; None: nothing did."""


class _Chunk(NamedTuple):
    """A part that can be put."""

    name: str
    extent: Extent
    attrs: Said
    """As the caller gave them."""
    part: Part


class _Series(Protocol):
    """What a step needs of its series."""

    coordinates: PutCoordinates | None
    """Of labelled arrays; None: the files have no place for them."""

    def attributes_of(
        self, name: str, attrs: Mapping[str, object] | None
    ) -> Mapping[str, object]: ...

    def write(self, put: Put) -> None: ...


class FileWriteStep:
    """A step being written to a file, as `WriteStep` is to a stream; a context manager.

    What was put is kept until the step ends, and then written by all ranks, each its own.
    """

    def __init__(
        self,
        series: _Series,
        index: int,
        attrs: Mapping[str, object],
        groups: Mapping[str, Mapping[str, object]],
    ) -> None:
        self._series = series
        self._put = Put(index, attrs, groups, {}, {}, None)
        self._over = False

    @property
    def index(self) -> int:
        """Number of the iteration, from 0."""
        return self._put.number

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._over

    @property
    def accepted(self) -> bool:
        """True: no step of a file is discarded."""
        return True

    @overload
    def put(
        self,
        name: str,
        array: npt.ArrayLike,
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, object] | None = None,
    ) -> None: ...
    @overload
    def put(
        self,
        name: Named,
        *,
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, object] | None = None,
    ) -> None: ...
    def put(
        self,
        name: str | Named,
        array: npt.ArrayLike | None = None,
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, object] | None = None,
    ) -> None:
        """Keep a copy of this rank's chunk of a dataset until the step ends. Local.

        Parameters and errors are those of `WriteStep.put`. Chunks of a dataset may not overlap and
        leave nothing out: a file has no place for what no rank wrote. Coordinates of labelled
        arrays along their own axes are written, too, where the files have a place for them: netCDF.
        """
        given: list[tuple[object, npt.ArrayLike | None]] = [(name, array)]
        if isinstance(name, Mapping):
            refuse_array(array)
            given = list(name.items())
        chunks = [self._copied(*one, offset, shape, attrs) for one in given]
        if self._series.coordinates is not None:
            self._series.coordinates.note(
                (array, chunk.part.offset, chunk.extent.shape)
                for (_, array), chunk in zip(given, chunks, strict=True)
            )
        for chunk in chunks:
            self._keep(chunk)

    def _copied(
        self,
        name: object,
        array: npt.ArrayLike | None,
        offset: Sequence[int] | None,
        shape: Sequence[int] | None,
        attrs: Said,
    ) -> _Chunk:
        values, attrs = as_put(name, array, attrs)
        values = _as_numbers(values)
        if values.size > 1 and not any(values.strides):  # one value, seen many times
            one = np.broadcast_to(values[(0,) * values.ndim].copy(), values.shape)
            return self._checked(name, one, offset, shape, attrs, made=one)
        chunk = self._checked(name, values, offset, shape, attrs)
        chunk.part.array[...] = values
        return chunk

    def span(
        self,
        name: str,
        dtype: npt.DTypeLike,
        count: Sequence[int],
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, object] | None = None,
    ) -> np.ndarray:
        """Return an array to fill before the step ends, as `WriteStep.span`."""
        asked, stored = as_span(dtype)
        like = np.broadcast_to(np.zeros((), stored), to_ints(count, "count"))
        chunk = self._checked(name, like, offset, shape, attrs)
        self._keep(chunk)
        return chunk.part.array.view(asked) if asked.kind == "b" else chunk.part.array

    def _keep(self, chunk: _Chunk) -> None:
        said = self._series.attributes_of(chunk.name, chunk.attrs)
        self._put.extents[chunk.name] = chunk.extent._replace(attrs=said)
        self._put.parts.setdefault(chunk.name, []).append(chunk.part)

    def _checked(
        self,
        named: object,
        like: np.ndarray,
        offset: Sequence[int] | None,
        shape: Sequence[int] | None,
        attrs: Mapping[str, object] | None,
        made: np.ndarray | None = None,
    ) -> _Chunk:
        name = to_text(named, "the name of the dataset")
        self._check_open()
        dtype = like.dtype.newbyteorder("=")
        if dtype.name not in _DTYPES:
            raise InvalidArgument(
                f"'{name}' has a dtype that cannot be used: got {dtype}; allowed: integers, "
                "floating and complex numbers of NumPy. Convert it with array.astype(...)"
            )
        whole = like.shape if shape is None else to_ints(shape, "shape")
        begin = (0,) * like.ndim if offset is None else to_ints(offset, "offset")
        if len(whole) != like.ndim or len(begin) != like.ndim:
            raise InvalidArgument(
                f"dimensions of '{name}' do not fit: got offset {shown(begin)} and shape "
                f"{shown(whole)}; allowed: {like.ndim} numbers each, as many as the array has axes"
            )
        if any(b < 0 or b + n > w for b, n, w in zip(begin, like.shape, whole, strict=True)):
            raise InvalidArgument(
                f"the chunk of '{name}' is outside of the dataset: got {shown(like.shape)} at "
                f"{shown(begin)}; allowed: inside of {shown(whole)}"
            )
        if math.prod(whole) * dtype.itemsize > _BYTES_MAX:
            raise InvalidArgument(
                f"'{name}' is too large: got shape {shown(whole)} of {dtype}; allowed: at most "
                f"{_BYTES_MAX} bytes"
            )
        known = self._put.extents.get(name)
        if known is not None and (known.dtype, known.shape) != (dtype.name, whole):
            raise InvalidArgument(
                f"'{name}' was put otherwise before: got {dtype.name} {shown(whole)}; allowed: "
                f"{known.dtype} {shown(known.shape)}, as in this step"
            )
        part = Part(begin, np.empty(like.shape, dtype) if made is None else made.astype(dtype))
        said = None if attrs is None else plain(attrs)
        return _Chunk(name, Extent(dtype.name, whole, {}), said, part)

    def _check_open(self) -> None:
        if self._over:
            raise InvalidArgument("the step has ended; put into it inside its `with` block")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        self._check_open()
        self._over = True
        if kind is None:
            self._series.write(self._put)
            return
        failed = f"{kind.__name__}: {shown(str(error))}"
        with contextlib.suppress(_core.Error):  # what ended the block is raised
            self._series.write(Put(self.index, {}, {}, {}, {}, failed))


def _as_numbers(values: np.ndarray) -> np.ndarray:
    """Return the same elements, bool as uint8; refuse what a stream refuses, in its words."""
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.newbyteorder("=").name not in _DTYPES:
        _core.dtype_name(values)
    return values


def varying(put: Put) -> set[str]:
    """Return the datasets whose elements are not all what their attribute `value` says."""
    return {
        name
        for name, found in put.parts.items()
        if "value" in (said := put.extents[name].attrs) and _varies(found, said["value"])
    }


def _varies(parts: Sequence[Part], value: object) -> bool:
    """Tell whether not all elements of parts are one value, NaN among them."""
    for _, array in parts:
        seen = array if any(array.strides) else array[(slice(0, 1),) * array.ndim]
        try:
            wanted = np.array(value, array.dtype)
        except (TypeError, ValueError, OverflowError):  # another attribute that is called so
            return True
        if wanted.ndim or not (((seen == wanted) | ((seen != seen) & (wanted != wanted))).all()):
            return True
    return False
