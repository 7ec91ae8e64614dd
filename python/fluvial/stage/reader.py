# SPDX-License-Identifier: Apache-2.0
"""The reading end of a series: its steps, and what is computed on them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Self, TypedDict, cast

import numpy as np

from .. import _core
from ..base.arguments import to_bool, to_rank
from ..base.html_table import html_table
from ..compute.passes import Results
from ..compute.registry import Reduced
from ..compute.specs import Inputs, Specs
from ..describe.attributes import Attributes
from ..describe.group_attributes import groups_of, iteration_of, own_attributes
from ..describe.records import Particles, Records, meshes_of, particles_of
from ..describe.selection import Over, Selection, one_of, runs_backwards
from ..distribute.assignment import Strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece
from ..mpi.communicator import Communicator
from .bare_reduction import Described, is_array, reduce_bare
from .dataset import Dataset
from .full_disk import FullDisk
from .read_together import read_together
from .share import share_of
from .step_views import Masking, Read, Views, Weighting, to_views


class _Manner(TypedDict):
    """What all reductions of a step are told alike."""

    skipna: bool | None
    min_count: int | None
    local: bool


class ReadStep(Mapping[str, Dataset]):
    """A step being read: a mapping of names to datasets. Ends when the series goes on."""

    def __init__(self, series: ReadSeries, core: _core.ReadStep) -> None:
        self.series = series
        self._manners: dict[str, tuple[bool, bool]] = {}
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
        return own_attributes(self._core.attributes)

    @property
    def iteration(self) -> int:
        """Number of the iteration: what the writer said, or that of the step."""
        return iteration_of(self.said, self.index)

    @property
    def groups(self) -> dict[str, Attributes]:
        """Attributes of what datasets are in, by path: species, records, all meshes."""
        return groups_of(self.said)

    @property
    def time(self) -> float:
        """In units of the attribute `timeUnitSI`; NaN when the writer gave none."""
        return float(self.attrs.get("time", np.nan))

    @property
    def dt(self) -> float:
        """Length of the step, in the same unit; NaN when the writer gave none."""
        return float(self.attrs.get("dt", np.nan))

    @property
    def meshes(self) -> Records:
        """The meshes of a step in openPMD's words: ``step.meshes["E"].x``."""
        return meshes_of(self, self.series.attrs)

    @property
    def particles(self) -> Particles:
        """The species of particles likewise: ``step.particles["e"]["position"].x``."""
        return particles_of(self, self.series.attrs)

    def names(self) -> list[str]:
        """Return the names of the datasets of this step."""
        return self._core.names()

    def _ipython_key_completions_(self) -> list[str]:
        return self.names()

    def read(
        self, names: Iterable[str] | None = None, selection: Selection = None
    ) -> dict[str, Read]:
        """Read several datasets: one call into the library for all of them. Local.

        Each is what `Dataset.read` returns; so are the errors, which name the dataset.

        Parameters
        ----------
        names
            Of the datasets, in the order of the result; None: all.
        selection
            The same of each dataset, as for `Dataset.read`; None: everything.

        Examples
        --------
        >>> fields = step.read(["meshes/E/x", "meshes/E/y"])              # doctest: +SKIP
        >>> fields["meshes/E/x"].mean()                                   # doctest: +SKIP
        """
        return read_together(self, self._core, names, selection)

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
        op: Specs,
        inputs: Inputs,
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
        over = one_of(over, axis, dim)
        manner = _Manner(skipna=skipna, min_count=min_count, local=local)
        if (
            is_array(weights)
            and is_array(where)
            and not options
            and not self._needs_views(inputs, skipna, where)
            and not (runs_backwards(selection) and self.views is not None)
        ):
            return reduce_bare(
                self, op, inputs, over, selection, weights=weights, where=where, **manner
            )
        return to_views(self).reduce(
            op, inputs, over, selection, weights=weights, where=where, **manner, **options
        )

    @functools.cached_property
    def said(self) -> Mapping[str, object]:
        """Attributes of the step, not to be changed."""
        return self._core.attributes

    @functools.cached_property
    def views(self) -> Views | None:
        """Its datasets by name and coordinate; None without xarray."""
        return self.series._views(self)

    def host_of(self, rank: int) -> str:
        """Return the host of that rank of the writer; see `ReadSeries.host_of`."""
        return self.series.host_of(rank)

    def run(self, prepare: Callable[[], Described], local: bool) -> Results:
        """Run what `prepare` describes to the core; what it raises is raised on all ranks."""
        return self.series._core.reduce(self._core, prepare, to_bool(local, "local"))

    def _needs_views(self, inputs: object, skipna: bool | None, where: object) -> bool:
        """Tell whether a call wants more than NumPy's words say, or results have labels."""
        if skipna is False and where is not None:
            return True
        named = False
        for name in [inputs] if isinstance(inputs, str) else _all_names(inputs):
            try:
                decodes, has_names = self._manner_of(cast(str, name))
            except (_core.Error, TypeError):
                return False  # what is wrong is found, and raised on all ranks, by what comes
            if decodes:
                return True
            named = named or has_names
        return named and self.views is not None

    def _manner_of(self, name: str) -> tuple[bool, bool]:
        """Return whether a dataset is decoded, and whether its axes have names."""
        if (known := self._manners.get(name)) is None:
            dataset = self[name]
            known = self._manners[name] = (dataset.decodes, dataset.has_names)
        return known

    def mine(
        self,
        strategy: Strategy = "hyperslabs",
        names: Iterable[str] | None = None,
        *,
        own: Mapping[str, Own] | None = None,
    ) -> dict[str, list[Piece]]:
        """Return this rank's parts of each dataset, by a strategy of `fluvial.distribute`.

        Collective over the series' communicator, but no data moves: the ranks compare strategy,
        names and step by one message of 40 bytes, and each computes the same distribution. All
        ranks together get everything that was written, each element once. Their hosts are
        gathered at the first call.

        Parameters
        ----------
        strategy
            A name, such as ``"by-host(binpacking, fallback=hyperslabs)"``, or a function; see
            `fluvial.distribute.assign`.
        names
            Of datasets, each of which is distributed for itself; None: all.
        own
            Functions by the names that `strategy` uses.

        Raises
        ------
        InvalidArgument
            An unknown strategy or dataset, on any rank; the ranks differ in what they ask for.
        Error
            The strategy leaves elements without a reader.

        Examples
        --------
        >>> for name, pieces in step.mine("even-binpacking").items():     # doctest: +SKIP
        ...     for piece in pieces:
        ...         work_on(step[name][piece.selection])
        """
        return share_of(self.series._core, self._core, strategy, names, own)

    def _repr_html_(self) -> str:
        rows = ((d.name, d.dtype, d.shape) for d in map(self.__getitem__, self))
        return html_table(f"step {self.index}", ("dataset", "dtype", "shape"), rows)


class ReadSeries:
    """The reading end; a context manager and an iterator over steps. See `fluvial.open`.

    Several threads may read and reduce at the same time, while one calls `next`.
    """

    def __init__(
        self,
        name: str,
        comm: Communicator | None,
        core: _core.Reader,
        views: Callable[[ReadStep], Views | None],
    ) -> None:
        self.name = name
        self.comm = comm
        self._views = views
        self._core = core
        self._full_disk = FullDisk(name)

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
        self._full_disk.tell(self._core)
        return None if core is None else ReadStep(self, core)

    @property
    def attrs(self) -> Attributes:
        """Attributes of the series, as known with the latest step."""
        return Attributes(self._core.attributes)

    @property
    def host(self) -> str:
        """Of the writer's first rank."""
        return self._core.host

    def host_of(self, rank: int) -> str:
        """Return the host of that rank of the writer.

        Raises
        ------
        OutOfBounds
            The writer cannot have such a rank.
        """
        return self._core.host_of(to_rank(rank, "no such rank of the writer"))

    @property
    def status(self) -> dict[str, object]:
        """The whole stream: its queue, its writer, and a list of all readers, as of now.

        Raises
        ------
        InvalidArgument
            The series is closed.
        """
        return self._core.status

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

    def __exit__(self, kind: object, *_: object) -> None:
        # What failed in the middle of a step has not read it: a job that resumes gets it again.
        self._core.close(kind is None)


def _all_names(inputs: object) -> Iterable[object]:
    """Return the names in what a call has for inputs, whatever else is in it."""
    given = list(inputs.values()) if isinstance(inputs, Mapping) else [inputs]
    return [n for names in given for n in (names if isinstance(names, list | tuple) else [names])]
