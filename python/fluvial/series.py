# SPDX-License-Identifier: Apache-2.0
"""Series: the steps of one name, written by one job and read by another while they run."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, NamedTuple, Self, overload

import numpy as np
import numpy.typing as npt

from . import _core, ops
from .attributes import Attributes, plain
from .reduce import name_specs, wrap_results
from .selection import to_hyperslab, to_index

Full = Literal["block", "discard-newest", "discard-oldest"]


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


class WriteStep:
    """A step being written; a context manager. Ends on exit, is given up on an exception."""

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

    def put(
        self,
        name: str,
        array: npt.ArrayLike,
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        """Copy this rank's chunk of a dataset into the staging area, from any strides, once.

        Local; blocks while the byte limit is reached and the queue's policy is "block".

        Parameters
        ----------
        name
            E.g. "particles/atoms/position/x".
        array
            The chunk; any of Fluvial's dtypes. It may be changed once this returns.
        offset
            Global coordinates of its first element; None: zeros.
        shape
            Of the whole dataset, the same on all ranks; None: the array's.
        attrs
            Of the dataset; kept for later steps until they are given anew.

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
        if not isinstance(array, np.ndarray):
            array = np.asarray(array)
        self._core.put(name, array, offset, shape, plain(attrs))

    def span(
        self,
        name: str,
        dtype: npt.DTypeLike,
        count: Sequence[int],
        offset: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> npt.NDArray[Any]:
        """Return a writable array inside the staging area for this rank's chunk: no copy at all.

        Fill it before the step ends; its first contents are undefined. Errors as `put`.

        Parameters
        ----------
        name, offset, shape, attrs
            As for `put`; `shape` is `count` unless given.
        dtype
            Of the dataset.
        count
            Shape of the chunk.
        """
        name_of_dtype = np.dtype(dtype).name
        return self._core.span(name, name_of_dtype, tuple(count), offset, shape, plain(attrs))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._core.end()
        else:
            self._core.abandon()


class WriteSeries:
    """The writing end; a context manager. See `fluvial.open`."""

    def __init__(self, name: str, comm: Any, **options: Any) -> None:
        self.name = name
        self.attrs: Attributes = {}
        """Attributes of the series; set them before the first step."""
        self._written_attrs: Attributes = {}
        self._core = _core.Writer(name=name, comm=_handle(comm), **options)

    def step(
        self,
        time: float | None = None,
        dt: float | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> WriteStep:
        """Begin the next step; use it in a `with`. Local, but waits as the queue's policy says.

        Parameters
        ----------
        time, dt
            Of the step, in units of its attribute `timeUnitSI` seconds (openPMD 1.1); they become
            attributes too.
        attrs
            Further attributes of the step.

        Raises
        ------
        TimedOut
            The queue stayed full for `step_timeout`; names who holds it.
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
            attributes["time"] = float(time)
        if dt is not None:
            attributes["dt"] = float(dt)
        return WriteStep(self._core.begin_step(attributes))

    @property
    def stats(self) -> dict[str, int | float]:
        """Steps, bytes, queue, readers, seconds spent waiting and copying, so far."""
        return self._core.stats

    @property
    def contact_path(self) -> str:
        """The file by which readers find the stream."""
        return self._core.contact_path

    def close(self) -> None:
        """End the stream; readers get what is queued. Local; waits for nobody."""
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


class Dataset:
    """An n-d array of a step, spread over chunks. Usable until the step ends."""

    def __init__(self, step: ReadStep, core: _core.StagedDataset) -> None:
        self._step = step
        self._core = core

    @property
    def name(self) -> str:
        """Name of the dataset in its step."""
        return self._core.name

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype of the elements."""
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
    def attrs(self) -> Attributes:
        """Attributes of the dataset."""
        return self._core.attributes

    @property
    def chunks(self) -> list[Chunk]:
        """Where the data lies, one entry a put, of all writer ranks."""
        host = self._step._series.host
        return [Chunk(offset, extent, rank, host) for offset, extent, rank in self._core.chunks]

    def read(self, selection: Any = None) -> npt.NDArray[Any]:
        """Return the selected elements as a NumPy array. Local.

        Where one chunk holds all of them, the result is a read-only view of the writer's memory,
        otherwise a gathered copy. Either stays valid as long as it is referenced, also after the
        step, the series and the writer are gone; a view keeps its step's memory occupied until
        then.

        Parameters
        ----------
        selection
            What NumPy's basic indexing takes, with positive steps: ``np.s_[10:20, ::2, 3]``; None:
            everything.

        Raises
        ------
        InvalidArgument
            The selection is outside the shape, or the step has ended.
        Error
            Nobody wrote some of the elements; names the first such region.
        """
        if selection is None:
            return self._core.read(None)
        hyperslab, dropped = to_hyperslab(selection, self.shape)
        return self._core.read(hyperslab)[dropped]

    def __getitem__(self, selection: Any) -> npt.NDArray[Any]:
        return self.read(selection)

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        array = self.read()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            return array.astype(dtype)
        return array.copy() if copy else array

    def slab(self, rank: int, size: int) -> tuple[slice, ...]:
        """Return the `rank`-th of `size` equal parts along the first axis, as a selection."""
        if not 0 <= rank < size:
            raise _core.InvalidArgument(f"no such part: got rank {rank}; allowed: 0 to {size - 1}")
        if not self.shape:
            return ()
        base, larger = divmod(self.shape[0], size)
        begin = rank * base + min(rank, larger)
        return (slice(begin, begin + base + (rank < larger)), *[slice(None)] * (self.ndim - 1))

    def reduce(
        self,
        op: Any,
        over: int | Sequence[int] | None = None,
        selection: Any = None,
        *,
        skipna: bool = False,
        weights: npt.ArrayLike | None = None,
        mask: npt.ArrayLike | None = None,
        local: bool = False,
    ) -> Any:
        """Reduce where the data lies; the result is on all ranks.

        Collective over the series' communicator unless `local`: each rank works on an equal part,
        and partial results are merged in log2(ranks) messages.

        Parameters
        ----------
        op
            A name ("mean"), an operator of `fluvial.ops`, or a list or dict of them: one pass over
            the data.
        over
            Axis or axes to reduce; None: all. The others are kept.
        selection
            As for `read`; an axis selected by an int is kept with length 1.
        skipna
            For operators given by name: pass over NaN.
        weights, mask
            Arrays with the extent of the selection.
        local
            Reduce everything on this rank alone.

        Returns
        -------
        A NumPy scalar, an array of the kept axes' shape, or what the operator says; a list or dict
        of them for a list or dict of operators.

        Raises
        ------
        InvalidArgument
            An argument is wrong, on any rank; the step has ended.
        Error
            Nobody wrote some of the elements.
        """
        return self._step.reduce(
            op, self.name, over, selection, skipna=skipna, weights=weights, mask=mask, local=local
        )

    def __repr__(self) -> str:
        return f"<fluvial.Dataset '{self.name}' {self.dtype}{list(self.shape)}>"


class ReadStep(Mapping[str, Dataset]):
    """A step being read: a mapping of names to datasets. Ends when the series goes on."""

    def __init__(self, series: ReadSeries, core: _core.ReadStep) -> None:
        self._series = series
        self._core = core

    @property
    def index(self) -> int:
        """Number of the step, as the writer counts."""
        return self._core.index

    @property
    def skipped(self) -> int:
        """Steps between the previous one that this reader got and this one."""
        return self._core.skipped

    @property
    def attrs(self) -> Attributes:
        """Attributes of the step; `time` and `dt` are among them where the writer gave them."""
        return self._core.attributes

    @property
    def time(self) -> float:
        """In units of the attribute `timeUnitSI`; NaN when the writer gave none."""
        return float(self.attrs.get("time", np.nan))

    @property
    def dt(self) -> float:
        """Length of the step, in the same unit; NaN when the writer gave none."""
        return float(self.attrs.get("dt", np.nan))

    def names(self) -> list[str]:
        """Return the names of the datasets of this step."""
        return self._core.names()

    def __getitem__(self, name: str) -> Dataset:
        return Dataset(self, self._core.dataset(name))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._core.has(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def reduce(
        self,
        op: Any,
        inputs: str | Sequence[str] | Mapping[str, str | Sequence[str]],
        over: int | Sequence[int] | None = None,
        selection: Any = None,
        *,
        skipna: bool = False,
        weights: npt.ArrayLike | None = None,
        mask: npt.ArrayLike | None = None,
        local: bool = False,
    ) -> Any:
        """Reduce several datasets of equal shape with several operators, in one pass.

        Collective over the series' communicator unless `local`. Parameters are those of
        `Dataset.reduce`, and:

        Parameters
        ----------
        inputs
            Names of datasets: one, or as many as the operator has inputs (a structure factor takes
            three position components), for all operators; or a dict of them by operator name.

        Examples
        --------
        >>> step.reduce({"sq": sq, "fastest": "max"},                     # doctest: +SKIP
        ...             {"sq": ["pos/x", "pos/y", "pos/z"], "fastest": "speed"})
        """
        named = name_specs(op)
        if isinstance(inputs, (str, list, tuple)) or not isinstance(inputs, Mapping):
            wanted = dict.fromkeys(named, _names(inputs))
        else:
            wanted = {name: _names(inputs[name]) for name in named}
        datasets = list(dict.fromkeys(dataset for names in wanted.values() for dataset in names))
        operators = {name: ops.resolve(spec, skipna=skipna) for name, spec in named.items()}
        results = self._series._core.reduce(
            self._core,
            datasets,
            [(name, o, [datasets.index(d) for d in wanted[name]]) for name, o in operators.items()],
            None if selection is None else to_hyperslab(selection, self[datasets[0]].shape)[0],
            [] if over is None else [over] if isinstance(over, int) else list(over),
            None if weights is None else np.asarray(weights, dtype=np.float64),
            None if mask is None else np.asarray(mask, dtype=bool),
            local,
        )
        return wrap_results(op, operators, results)


class ReadSeries:
    """The reading end; a context manager and an iterator over steps. See `fluvial.open`."""

    def __init__(self, name: str, comm: Any, **options: Any) -> None:
        self.name = name
        self._core = _core.Reader(name=name, comm=_handle(comm), **options)

    def __iter__(self) -> Iterator[ReadStep]:
        while (step := self.next()) is not None:
            yield step

    def next(self) -> ReadStep | None:
        """End the previous step and wait for the next; None at the end of the stream. Local.

        Raises
        ------
        TimedOut
            No step came within `step_timeout`; call again to go on.
        PeerLost
            The writer failed, and every complete step has been read.
        PeerStalled
            The writer gives no heartbeat (call again to go on), or this reader was evicted because
            it gave none.
        """
        core = self._core.next()
        return None if core is None else ReadStep(self, core)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the series, as known with the latest step."""
        return self._core.attributes

    @property
    def host(self) -> str:
        """Of the writer."""
        return self._core.host

    @property
    def stats(self) -> dict[str, int | float]:
        """Steps, bytes viewed and copied, queue, lag, seconds spent waiting, so far."""
        return self._core.stats

    def close(self) -> None:
        """Leave the stream. The writer goes on, and what was read stays valid."""
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@overload
def open(
    name: str,
    mode: Literal["w"],
    comm: Any = None,
    *,
    queue_steps: int = 4,
    queue_bytes: int | str | None = None,
    full: Full = "block",
    readers: int = 1,
    directory: str | os.PathLike[str] | None = None,
    rendezvous_timeout: float = 60.0,
    step_timeout: float = 300.0,
    stall_timeout: float = 10.0,
    on_stalled_reader: Literal["evict", "wait"] = "evict",
) -> WriteSeries: ...
@overload
def open(
    name: str,
    mode: Literal["r"] = "r",
    comm: Any = None,
    *,
    start: Literal["oldest", "next"] = "oldest",
    directory: str | os.PathLike[str] | None = None,
    rendezvous_timeout: float = 60.0,
    step_timeout: float = 300.0,
    stall_timeout: float = 10.0,
) -> ReadSeries: ...
def open(name: str, mode: str = "r", comm: Any = None, **options: Any) -> WriteSeries | ReadSeries:
    """Open the stream `name` for writing ("w") or reading ("r"). Collective over `comm`.

    Writer and reader are different jobs on one host, launched separately, of any sizes. Whichever
    comes first waits for the other.

    Parameters
    ----------
    name
        1 to 128 letters, digits, ".", "_" or "-", the same for both jobs.
    mode
        "w" or "r".
    comm
        An mpi4py communicator, which is duplicated; None for a serial program.
    directory
        Of the contact file (mode 0600) by which jobs find and trust each other; None:
        FLUVIAL_DIRECTORY, XDG_RUNTIME_DIR or the working directory, the first that is set.
    rendezvous_timeout
        Seconds to wait for the other job.
    step_timeout
        Seconds that a writer waits for room, a reader for a step.
    stall_timeout
        Seconds without a heartbeat after which a process counts as stopped.
    queue_steps
        Writer: steps in the queue at most, the one being written included.
    queue_bytes
        Writer: bytes in the queue at most, over all ranks, e.g. "2 GiB"; None: a quarter of the
        host's memory.
    full
        Writer: what happens to a step that finds the queue full: the writer waits ("block"), the
        new step is given up ("discard-newest"), or the oldest that no reader has begun
        ("discard-oldest").
    readers
        Writer: reader jobs to wait for; 0 to start at once.
    on_stalled_reader
        Writer: "evict" takes a stopped reader out of the queue, "wait" waits for it.
    start
        Reader: begin with the "oldest" step still queued, or with the "next" to be completed.

    Returns
    -------
    A `WriteSeries` or a `ReadSeries`, both context managers.

    Raises
    ------
    InvalidArgument
        An option is wrong, ranks differ in theirs, or another writer has the name. On every rank,
        as all others.
    TimedOut
        The other job did not come within `rendezvous_timeout`.
    StaleContact
        Reader: the writer of the contact file is dead.
    Refused
        Reader: wrong key, or another user's stream.

    Examples
    --------
    >>> with fl.open("melt", "w", queue_steps=2) as series:               # doctest: +SKIP
    ...     with series.step(time=0.5) as step:
    ...         step.put("particles/atoms/position/x", x)
    >>> with fl.open("melt") as series:                                   # doctest: +SKIP
    ...     for step in series:
    ...         print(step.time, step["particles/atoms/position/x"].reduce("mean"))
    """
    options["directory"] = os.fspath(options.get("directory") or "")
    for option, default in _TIMES.items():
        options.setdefault(option, default)
    writes: dict[str, Any] = {
        "queue_steps": 4,
        "queue_bytes": None,
        "full": "block",
        "readers": 1,
        "on_stalled_reader": "evict",
    }
    mine: dict[str, Any] = {"w": writes, "r": {"start": "oldest"}}.get(mode, {})
    if mode not in ("w", "r"):
        raise _core.InvalidArgument(f"unknown mode: got {mode!r}; allowed: 'w', 'r'")
    for option, default in mine.items():
        options.setdefault(option, default)
    allowed = {"directory", *_TIMES, *mine}
    if unknown := set(options) - allowed:
        raise _core.InvalidArgument(
            f"unknown option for mode {mode!r}: got {', '.join(sorted(unknown))}; "
            f"allowed: {', '.join(sorted(allowed))}"
        )
    if not isinstance(name, str):
        raise _core.InvalidArgument(
            f"the name of the stream cannot be used: got {name!r}; allowed: a str"
        )
    for option, default in {**mine, **_TIMES}.items():
        options[option] = _typed(option, options[option], default)
    if mode == "w":
        return WriteSeries(name, comm, **options)
    return ReadSeries(name, comm, **options)


_TIMES = {"rendezvous_timeout": 60.0, "step_timeout": 300.0, "stall_timeout": 10.0}


def _typed(option: str, value: Any, default: Any) -> Any:
    """Return the value as the core takes it: seconds, a choice, a number of bytes or a count."""
    kind: type[Any]
    if option == "queue_bytes":
        value, kind = to_bytes(value), int
    elif isinstance(default, float):
        kind = float
        if isinstance(value, numbers.Real) and not isinstance(value, bool):
            value = float(value)
    elif isinstance(default, str):
        kind = str
    else:
        value, kind = to_index(value, option, "an int"), int
    bits = 63 if option == "queue_bytes" else 31
    if not isinstance(value, kind) or (kind is int and not -(2**bits) <= value < 2**bits):
        allowed = {float: "a number of seconds", str: "a str", int: f"an int of {bits + 1} bits"}[kind]
        raise _core.InvalidArgument(
            f"{option} has an unusable value: got {value!r}; allowed: {allowed}"
        )
    return value


def to_bytes(size: int | str | None) -> int:
    """Return a number of bytes from 1048576, "1 MiB", "2 GB"; None is 0.

    >>> to_bytes("1.5 KiB")
    1536
    """
    if size is None:
        return 0
    if isinstance(size, str):
        units = {"B": 1}
        for power, letter in enumerate("KMGT", start=1):
            units[f"{letter}iB"] = 1024**power
            units[f"{letter}B"] = 1000**power
        number = size.rstrip("iBKMGT").strip()
        unit = size[len(size.rstrip("iBKMGT")) :] or "B"
        try:
            return int(float(number) * units[unit])
        except (ValueError, KeyError, OverflowError):
            raise _core.InvalidArgument(
                f"cannot read a number of bytes: got {size!r}; "
                "allowed: a number with B, KiB, MiB, GiB, KB, MB …"
            ) from None
    return to_index(size, "queue_bytes", "an int, or a str like '2 GiB'")


def _handle(comm: Any) -> int | None:
    if comm is None:
        return None
    if not hasattr(comm, "py2f"):
        raise _core.InvalidArgument(
            f"not a communicator: got {comm!r}; "
            "allowed: an mpi4py communicator, or None for a serial program"
        )
    return int(comm.py2f())


def _names(inputs: str | Sequence[str]) -> list[str]:
    return [inputs] if isinstance(inputs, str) else list(inputs)
