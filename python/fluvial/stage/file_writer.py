# SPDX-License-Identifier: Apache-2.0
"""The writing end of a series in files: what a stream would carry becomes openPMD in HDF5."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_dtype, to_float, to_ints, to_text
from ..base.messages import shown
from ..describe.attributes import plain
from ..describe.group_attributes import Groups, plain_groups, to_iteration
from ..mpi.communicator import Communicator, check_communicator
from ..mpi.together import Together
from ..store.hdf5_output import Hdf5Output, check_free, remove, write_part
from ..store.numbered_files import file_of_number, has_number, numbered_files
from ..store.openpmd_layout import Extent, series_attributes, step_layout
from .merged_puts import merged
from .writer import as_put

_DTYPES = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
}
_BYTES_MAX = 2**62  # of a dataset: offsets in files have 63 bits


class Part(NamedTuple):
    """What a rank has put of a dataset."""

    offset: tuple[int, ...]
    array: np.ndarray


class FileWriteStep:
    """A step being written to a file, as `WriteStep` is to a stream; a context manager.

    What was put is kept until the step ends, and then written by all ranks, each its own.
    """

    def __init__(
        self,
        series: FileWriteSeries,
        index: int,
        attrs: dict[str, Any],
        groups: dict[str, dict[str, Any]],
    ) -> None:
        self._series = series
        self._attrs = attrs
        self._groups = groups
        self._extents: dict[str, Extent] = {}
        self._parts: dict[str, list[Part]] = {}
        self._over = False
        self.index = index
        """Number of the iteration, from 0."""

    @property
    def accepted(self) -> bool:
        """True: no step of a file is discarded."""
        return True

    def put(
        self,
        name: str,
        array: npt.ArrayLike,
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, object] | None = None,
    ) -> None:
        """Keep a copy of this rank's chunk of a dataset until the step ends. Local.

        Parameters and errors are those of `WriteStep.put`. Chunks of a dataset may not overlap and
        leave nothing out: a file has no place for what nobody wrote.
        """
        values, attrs = as_put(name, array, attrs)
        if values.size > 1 and not any(values.strides):  # one value, seen many times
            part = np.broadcast_to(values[(0,) * values.ndim].copy(), values.shape)
            self._keep(name, part, offset, shape, attrs, made=part)
        else:
            self._keep(name, values, offset, shape, attrs)[...] = values

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
        like = np.broadcast_to(np.zeros((), to_dtype(dtype)), to_ints(count, "count"))
        return self._keep(name, like, offset, shape, attrs)

    def _keep(
        self,
        name: str,
        like: np.ndarray,
        offset: Sequence[int] | None,
        shape: Sequence[int] | None,
        attrs: Mapping[str, object] | None,
        made: np.ndarray | None = None,
    ) -> np.ndarray:
        to_text(name, "the name of the dataset")
        self._check_open()
        dtype = like.dtype.newbyteorder("=")
        if dtype.name not in _DTYPES:
            raise InvalidArgument(
                f"'{name}' has a dtype that cannot be used: got {dtype}; allowed: integers, "
                "floating and complex numbers of NumPy"
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
        known = self._extents.get(name)
        if known is not None and (known.dtype, known.shape) != (dtype.name, whole):
            raise InvalidArgument(
                f"'{name}' was put otherwise before: got {dtype.name} {shown(whole)}; allowed: "
                f"{known.dtype} {shown(known.shape)}, as in this step"
            )
        said = self._series._attributes_of(name, plain(attrs))
        self._extents[name] = Extent(dtype.name, whole, said)
        part = Part(begin, np.empty(like.shape, dtype) if made is None else made.astype(dtype))
        self._parts.setdefault(name, []).append(part)
        return part.array

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
            said = self._attrs, self._groups
            self._series._write(self.index, said, self._extents, self._parts, None)
            return
        with contextlib.suppress(_core.Error):  # what ended the block is raised
            failed = f"{kind.__name__}: {shown(str(error))}"
            self._series._write(self.index, ({}, {}), {}, {}, failed)


def _varies(parts: Sequence[Part], value: object) -> bool:
    """Tell whether not all elements of parts are one value, NaN among them."""
    for _, array in parts:
        seen = array if any(array.strides) else array[(slice(0, 1),) * array.ndim]
        wanted = np.array(value, array.dtype)
        if not (((seen == wanted) | ((seen != seen) & (wanted != wanted))).all()):
            return True
    return False


class FileWriteSeries:
    """The writing end of a series in files; a context manager. See `fluvial.open`.

    Steps begin and end on all ranks together. One rank lays out the file, and each writes its own
    parts; neither h5py nor libhdf5 needs MPI for it.
    """

    def __init__(self, name: str, comm: Communicator | None, step_timeout: float = 300.0) -> None:
        if comm is not None:
            check_communicator(comm)
        self.name = name
        self.attrs: dict[str, object] = {}
        """Attributes of the series; set them before the first step."""
        self._comm = None if comm is None else comm.Dup()
        self._ranks = Together(
            self._comm, to_float(step_timeout, "step_timeout"), f"write '{name}'"
        )
        self._numbered = has_number(name)
        self._index = 0
        self._steps = 0
        self._bytes = 0
        self._said: dict[str, dict[str, Any]] = {}
        self._step: FileWriteStep | None = None
        self._output: Hdf5Output | None = None
        self._opened: tuple[str, int] | None = None
        self._closed = False
        self._ranks.run(self._check_name)

    def step(
        self,
        time: float | None = None,
        dt: float | None = None,
        attrs: Mapping[str, object] | None = None,
        *,
        iteration: int | None = None,
        groups: Groups | None = None,
    ) -> FileWriteStep:
        """Begin the next step, as `WriteSeries.step`; use it in a `with`.

        Raises
        ------
        InvalidArgument
            Another step is open, or the series is closed; `iteration` is not above the last one.
        """
        if self._closed:
            raise InvalidArgument("the series is closed; use it inside its `with` block")
        if self._step is not None and not self._step._over:
            raise InvalidArgument(
                f"a step begins while another is open: got step {self._index}; allowed: after step "
                f"{self._step.index} has ended. Leave its `with` block first"
            )
        attributes: dict[str, Any] = plain(attrs)
        if time is not None:
            attributes["time"] = to_float(time, "time")
        if dt is not None:
            attributes["dt"] = to_float(dt, "dt")
        if iteration is not None and to_iteration(iteration) < self._index:
            raise InvalidArgument(
                f"iterations of files ascend: got {shown(iteration)}; allowed: {self._index} and "
                "above"
            )
        index = self._index if iteration is None else iteration
        self._step = FileWriteStep(self, index, attributes, plain_groups(groups))
        self._index = index + 1
        self._steps += 1
        return self._step

    @property
    def stats(self) -> dict[str, int | float]:
        """Steps and bytes that this rank has written so far."""
        return {"steps": self._steps, "bytes": self._bytes}

    def close(self) -> None:
        """Close the file. Collective; idempotent.

        Raises
        ------
        SystemError
            It cannot be written; on all ranks.
        """
        if self._closed:
            return
        self._closed = True
        self._close_file()
        self._ranks.run(self._close_output)
        if self._comm is not None:
            self._comm.Free()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        elif not self._closed:
            # The others may be anywhere: what is collective would wait for them.
            self._closed = True
            self._close_file()
            self._close_output()

    def _attributes_of(self, name: str, attrs: dict[str, Any]) -> dict[str, Any]:
        """Return the attributes of a dataset: those of earlier steps until they are given anew."""
        if attrs:
            self._said[name] = attrs
        return self._said.get(name, {})

    def _write(
        self,
        index: int,
        said: tuple[dict[str, Any], dict[str, Any]],
        extents: dict[str, Extent],
        parts: dict[str, list[Part]],
        failed: str | None,
    ) -> None:
        """Write a step; all ranks do, or none. Collective."""
        regions = {
            name: [(p.offset, p.array.shape) for p in found] for name, found in parts.items()
        }
        varying = {
            name
            for name, found in parts.items()
            if "value" in (said_of := extents[name].attrs) and _varies(found, said_of["value"])
        }
        of_all = self._ranks.gather((failed, extents, regions, varying))
        try:
            path, offsets = self._ranks.run(lambda: self._lay_out(index, *said, of_all))

            def write_parts() -> None:
                file = self._file_at(path)
                for name, begin in offsets.items():
                    for part in parts.get(name, ()):
                        write_part(file, path, begin, extents[name].shape, *part)
                        self._bytes += part.array.nbytes

            self._ranks.run(write_parts, everywhere=True)
            self._ranks.run(self._finish)
        except Exception:
            self._give_up(index)
            raise

    def _give_up(self, index: int) -> None:
        """Take a step out again that was not written; what has failed before may fail here."""
        output = self._output
        if output is None:
            return
        with contextlib.suppress(OSError, RuntimeError, KeyError):
            if not self._numbered:
                output.give_up(index)
                return
            self._output = None
            os.unlink(output.path)
            output.close()

    def _lay_out(
        self, index: int, attrs: dict[str, Any], groups: dict[str, Any], of_all: Any
    ) -> tuple[str, dict[str, int]]:
        """Make the objects of a step; on the first rank."""
        for rank, (failed, *_) in enumerate(of_all):
            if failed is not None:
                raise _core.Error(
                    f"step {index} is not written: got an error on rank {rank}, {failed}; "
                    "allowed: steps that end on all ranks"
                )
        extents = merged(of_all)
        series = series_attributes(
            plain(self.attrs),
            os.path.basename(self.name) if self._numbered else None,
            _core.__version__,
        )
        varying = set().union(*(names for *_, names in of_all))
        layout = step_layout(attrs, extents, series, groups, varying)
        if self._output is None:
            path = file_of_number(self.name, index) + ".part" if self._numbered else self.name
            self._output = Hdf5Output(path, series)
        return self._output.path, self._output.lay_out(index, layout)

    def _finish(self) -> None:
        if self._output is None:
            return
        if not self._numbered:
            self._output.finish()
            return
        path = self._output.path
        self._close_output()
        os.replace(path, path.removesuffix(".part"))

    def _close_output(self) -> None:
        output, self._output = self._output, None
        if output is not None:
            output.close()

    def _file_at(self, path: str) -> int:
        """Return a descriptor of the file that is being written."""
        if self._opened is not None and self._opened[0] == path and not self._numbered:
            return self._opened[1]
        self._close_file()
        try:
            self._opened = (path, os.open(path, os.O_WRONLY | os.O_CLOEXEC))
        except OSError as error:
            raise _core.SystemError(
                f"'{path}' cannot be opened: got {error.strerror}; allowed: a file that all ranks "
                "see, on a file system that they share"
            ) from None
        return self._opened[1]

    def _close_file(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            os.close(opened[1])

    def _check_name(self) -> None:
        if self._numbered:
            try:
                found = numbered_files(self.name)
            except _core.NoSuchFile:
                found = []
            check_free([path for _, path in found], self.name)
        elif os.path.isfile(self.name):
            remove(self.name)  # or it would be read as this one, should no step be written
