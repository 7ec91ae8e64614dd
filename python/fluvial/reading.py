# SPDX-License-Identifier: Apache-2.0
"""The reading end of a series: steps, datasets, and what is computed on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from . import _core, ops
from ._core import WrongType
from .arguments import as_array, to_array, to_int, unknown_name, wrong_type
from .attributes import Attributes
from .communicator import handle_of
from .passes import Results, more_passes
from .reduce import name_specs, wrap_results
from .selection import to_dims, to_hyperslab


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
        return Attributes(self._core.attributes)

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
            everything. (Of ``dataset[None]``, as in NumPy, None is a new axis.)

        Raises
        ------
        OutOfBounds, InvalidArgument
            The selection is outside the shape or cannot be used, or the step has ended.
        Error
            Nobody wrote some of the elements; names the first such region.
        """
        return self._core.read(None) if selection is None else self[selection]

    def __getitem__(self, selection: Any) -> npt.NDArray[Any]:
        """Return the selected elements as `read` does; None is a new axis, as in NumPy."""
        hyperslab, dropped = to_hyperslab(selection, self.shape, new_axes=True)
        return self._core.read(hyperslab)[dropped]

    def __len__(self) -> int:
        if not self.shape:
            raise WrongType("a dataset without dimensions has no length: got shape (); read it")
        return self.shape[0]

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        """Iterate over the first axis, as over a NumPy array; each turn reads one entry."""
        return map(self.__getitem__, range(len(self)))

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> npt.NDArray[Any]:
        return as_array(self.read(), dtype, copy)

    def slab(self, rank: int, size: int) -> tuple[slice, ...]:
        """Return the `rank`-th of `size` equal parts along the first axis, as a selection."""
        size = to_int(size, "size", 1)
        rank = to_int(rank, "rank")
        if not 0 <= rank < size:
            raise _core.OutOfBounds(f"no such part: got rank {rank}; allowed: 0 to {size - 1}")
        if not self.shape:
            return ()
        base, larger = divmod(self.shape[0], size)
        begin = rank * base + min(rank, larger)
        return (slice(begin, begin + base + (rank < larger)), *[slice(None)] * (self.ndim - 1))

    @property
    def dims(self) -> tuple[str, ...]:
        """Names of the axes: the attribute `axisLabels`, or dim_0, dim_1 … where there is none."""
        labels = self.attrs.get("axisLabels")
        if isinstance(labels, list) and len(labels) == len(set(labels)) == self.ndim:
            return tuple(map(str, labels))
        return tuple(f"dim_{axis}" for axis in range(self.ndim))

    def axes(self, over: int | str | Sequence[int | str]) -> list[int]:
        """Return axes, given by name or number, as numbers."""
        dims = self.dims
        return [dims.index(dim) for dim in to_dims(over, dims)]

    def reduce(
        self,
        op: Any,
        over: int | str | Sequence[int | str] | None = None,
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
            Axis or axes to reduce, by number, or by name where the dataset has openPMD's attribute
            `axisLabels`; None: all. The others are kept.
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
        return Attributes(self._core.attributes)

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
        return self._core.has(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def reduce(
        self,
        op: Any,
        inputs: str | Sequence[str] | Mapping[str, str | Sequence[str]],
        over: int | str | Sequence[int | str] | None = None,
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
        operators: dict[str, Any] = {}
        described: dict[str, Any] = {}

        def prepare() -> dict[str, Any]:
            """Return what the core needs; what this raises is raised on all ranks."""
            named = name_specs(op)
            if not named:
                raise _core.InvalidArgument(
                    "no operator: got none; allowed: one or more, such as 'mean'"
                )
            wanted = to_inputs(inputs, named)
            datasets = list(dict.fromkeys(d for names in wanted.values() for d in names))
            operators.update({n: ops.resolve(spec, skipna=skipna) for n, spec in named.items()})
            first = self[datasets[0]]
            described.update(
                {
                    "datasets": datasets,
                    "entries": [
                        (n, o, [datasets.index(d) for d in wanted[n]]) for n, o in operators.items()
                    ],
                    "selection": None
                    if selection is None
                    else to_hyperslab(selection, first.shape)[0],
                    "over": [] if over is None else first.axes(over),
                    "weights": None
                    if weights is None
                    else to_array(weights, "weights").astype("f8"),
                    "mask": None if mask is None else to_array(mask, "mask").astype("?"),
                }
            )
            return described

        results = self._series._core.reduce(self._core, prepare, bool(local))

        def again(asked: Mapping[str, Any]) -> Results:
            entries = [(n, asked[n], i) for n, _, i in described["entries"] if n in asked]
            more = {**described, "entries": entries}
            return self._series._core.reduce(self._core, lambda: more, bool(local))

        # The step stays until the series goes on; all ranks get the same results.
        return wrap_results(op, operators, more_passes(operators, results, again))


class ReadSeries:
    """The reading end; a context manager and an iterator over steps. See `fluvial.open`.

    Several threads may read and reduce at the same time, while one calls `next`.
    """

    def __init__(self, name: str, comm: Any, **options: Any) -> None:
        self.name = name
        self._core = _core.Reader(name=name, comm=handle_of(comm), **options)

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
        return Attributes(self._core.attributes)

    @property
    def host(self) -> str:
        """Of the writer."""
        return self._core.host

    @property
    def stats(self) -> dict[str, int | float]:
        """Steps, bytes viewed and copied, queue, lag, seconds spent waiting, so far."""
        return self._core.stats

    def close(self) -> None:
        """Leave the stream. The writer goes on, and what was read stays valid.

        May be called from any thread: one that waits in `next` gets InvalidArgument. Does nothing
        in a child by fork.
        """
        self._core.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def to_inputs(inputs: Any, operators: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the names of the datasets that each operator reads."""
    if not isinstance(inputs, Mapping):
        return dict.fromkeys(operators, _names(inputs))
    if missing := [name for name in operators if name not in inputs]:
        raise unknown_name("no such operator among the inputs", missing[0], inputs)
    return {name: _names(inputs[name]) for name in operators}


def _names(inputs: Any) -> list[str]:
    names = [inputs] if isinstance(inputs, str) else inputs
    if (
        not isinstance(names, list | tuple)
        or not names
        or not all(isinstance(name, str) for name in names)
    ):
        remedy = "The operator comes first: reduce('mean', 'temperature')."
        raise wrong_type("the input", inputs, "the name of a dataset, or a list of names", remedy)
    return list(names)
