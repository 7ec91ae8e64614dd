# SPDX-License-Identifier: Apache-2.0
"""The writing end of a series: one job that offers steps."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self, overload

import numpy as np
import numpy.typing as npt

from .. import _core
from ..base.arguments import to_float
from ..describe.attributes import AttributeValue, plain
from ..describe.group_attributes import Groups, to_iteration, with_groups
from ..mpi.communicator import Communicator
from .full_disk import FullDisk
from .put_arguments import Named, as_put, as_puts, as_span, refuse_array


class WriteStep:
    """A step being written; a context manager.

    Ends on exit, and is given up on an exception: also where it cannot end, such as by TimedOut
    when the disk that it goes to stays full. The next step may be begun then.
    """

    def __init__(self, core: _core.WriteStep) -> None:
        self._core = core

    @property
    def index(self) -> int:
        """Number of the step, from 0."""
        return self._core.index

    @property
    def accepted(self) -> bool:
        """False once the queue's policy has discarded the step; puts are then free, and lost."""
        return self._core.accepted

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
        """Copy this rank's chunk of a dataset into the staging area, from any strides, once.

        Or its chunks of many: ``put({name: array, …})`` is one call into the library for all of
        them, and an error in one of them means that none is put. Local; blocks while the byte limit
        is reached and the queue's policy is "block".

        Parameters
        ----------
        name
            E.g. "particles/atoms/position/x"; or a mapping of names to arrays, such as a dict or an
            xarray.Dataset. What follows is then the same for all of its datasets.
        array
            The chunk; any of Fluvial's dtypes. It may be changed once this returns. Masked elements
            of a floating masked array are written as NaN; an integer one is refused, as no reader
            could tell them. Of a labelled array (xarray's, a dataset of a step or file) attributes
            are carried along, and the names of its dimensions as `axisLabels`; coordinates are not:
            put them as datasets of their own.
        offset
            Global coordinates of its first element (an int of a 1-D one); None: zeros.
        shape
            Of the whole dataset, the same on all ranks; None: the array's.
        attrs
            Of the dataset; kept for later steps until some are given anew, which take the place of
            all (``{}``: of none). They go before those of a labelled array.

        Raises
        ------
        InvalidArgument
            The chunk is outside of `shape`, another rank gave another dtype or shape, or the step
            alone exceeds `queue_bytes`.
        TimedOut
            There was no room within `step_timeout`.
        PeerLost
            Another rank of the writer died or failed.
        SystemError
            The host has no memory left.
        """
        if isinstance(name, str) or not isinstance(name, Mapping):
            if type(array) is not np.ndarray:
                array, attrs = as_put(name, array, attrs)
            self._core.put(name, array, offset, shape, None if attrs is None else plain(attrs))
            return
        refuse_array(array)
        arrays, said = as_puts(name, attrs)
        self._core.put_together(arrays, offset, shape, said)

    def span(
        self,
        name: str,
        dtype: npt.DTypeLike,
        count: Sequence[int],
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, object] | None = None,
    ) -> np.ndarray:
        """Return a writable array inside the staging area for this rank's chunk: no copy at all.

        Fill it before the step ends; its first contents are undefined. Errors as `put`.

        Parameters
        ----------
        name, offset, shape, attrs
            As for `put`; `shape` is `count` unless given.
        dtype
            Of the dataset; bool is uint8 to readers, as it is from `put`.
        count
            Shape of the chunk.
        """
        asked, stored = as_span(dtype)
        said = None if attrs is None else plain(attrs)
        span = self._core.span(name, stored.name, count, offset, shape, said)
        return span.view(asked) if asked.kind == "b" else span

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._core.abandon()
            return
        try:
            self._core.end()
        except BaseException:
            # It is still open when the disk stayed full, and over when Ctrl-C came with its end.
            with contextlib.suppress(_core.InvalidArgument):
                self._core.abandon()
            raise


class WriteSeries:
    """The writing end; a context manager. See `fluvial.open`.

    Several threads may use it, and put into one step at the same time.
    """

    def __init__(self, name: str, comm: Communicator | None, core: _core.Writer) -> None:
        self.name = name
        self.attrs: dict[str, object] = {}
        """Attributes of the series; set them before the first step."""
        self._written_attrs: dict[str, AttributeValue] = {}
        self._core = core
        self._full_disk = FullDisk(name)

    def step(
        self,
        time: float | None = None,
        dt: float | None = None,
        attrs: Mapping[str, object] | None = None,
        *,
        iteration: int | None = None,
        groups: Groups | None = None,
    ) -> WriteStep:
        """Begin the next step; use it in a `with`. Local, but waits as the queue's policy says.

        Parameters
        ----------
        time, dt
            Of the step, in units of its attribute `timeUnitSI` seconds (openPMD 1.1); they become
            attributes too.
        attrs
            Further attributes of the step.
        iteration
            Its number where that is another than the step's, which counts from 0.
        groups
            Attributes of what datasets are in, by path: ``{"particles/e": {"particleShape": 3.0}}``
            of a species, "meshes" of all meshes, "meshes/E" of a record. Readers get them as
            `ReadStep.groups`.

        Raises
        ------
        TimedOut
            The queue stayed full for `step_timeout`; names the reader that holds it.
        PeerLost
            Another rank of the writer died or failed.
        InvalidArgument
            Another step is open, or the series is closed.
        """
        if self.attrs or self._written_attrs:
            of_series = plain(self.attrs)
            if of_series != self._written_attrs:
                self._core.set_attributes(of_series)
                self._written_attrs = of_series
        attributes = plain(attrs)
        if time is not None:
            attributes["time"] = to_float(time, "time")
        if dt is not None:
            attributes["dt"] = to_float(dt, "dt")
        self._full_disk.tell(self._core)
        if iteration is not None or groups:
            number = None if iteration is None else to_iteration(iteration)
            attributes = with_groups(attributes, groups, number)
        return WriteStep(self._core.begin_step(attributes))

    @property
    def stats(self) -> dict[str, int | float]:
        """Steps, bytes, queue, readers, seconds spent waiting and copying, so far."""
        return self._core.stats

    @property
    def contact_path(self) -> str:
        """The file by which readers find the stream."""
        return self._core.contact_path

    @property
    def contact(self) -> str:
        """What the contact file says, for readers that cannot see it; it holds the key.

        >>> fl.open("melt", contact=text)                                 # doctest: +SKIP
        """
        return self._core.contact

    def close(self) -> None:
        """End the stream; readers get what is queued. Local.

        Waits for none but readers on other hosts, until they have everything: `step_timeout` at
        most, then this is TimedOut.

        May be called from any thread: others that wait in a call of the series get InvalidArgument,
        and a step that they have open is given up. Does nothing in a child by fork.
        """
        self._full_disk.tell(self._core)
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self._core.abort(f"{kind.__name__}: {error}")
