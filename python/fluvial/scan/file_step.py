# SPDX-License-Identifier: Apache-2.0
"""A step of files: an iteration of openPMD, a record along the axis of time, or a whole file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeGuard

import numpy as np
import xarray as xr

from ..base.arguments import to_names, to_text
from ..base.html_table import html_table
from ..describe.attributes import Attributes
from ..describe.dates import TIME, step_attributes
from ..describe.records import Particles, Records, meshes_of, particles_of
from ..describe.selection import Selection
from ..distribute.assignment import Strategy
from ..distribute.own_strategy import Own
from ..distribute.piece import Piece
from ..mpi.communicator import Communicator
from ..store.joined_dimension import file_of_record
from ..store.joined_files import JoinedFiles
from ..store.record_layout import STEP_ATTRIBUTE
from ..store.stored_steps import StoredStep
from .file_dataset import FileDataset
from .file_share import share_of_files
from .joint_reductions import JointReductions
from .view import View


class FileStep(JointReductions, Mapping[str, FileDataset]):
    """A step of a series of files: a mapping of names to datasets, as `ReadStep` is of a live one.

    Usable until the series is closed; any number of them at a time. A dataset of a record has no
    axis of time any more; its time is among its coordinates.
    """

    def __init__(self, stored: StoredStep, comm: Communicator | None) -> None:
        self.comm = comm
        self._files = stored.files
        self._stored = stored

    @property
    def index(self) -> int:
        """Number of the iteration or record, or in the file's name."""
        return self._stored.number

    @property
    def iteration(self) -> int:
        """The same: the number of the iteration."""
        return self._stored.number

    @property
    def groups(self) -> dict[str, Attributes]:
        """Attributes of what datasets are in, by path: species, records, all meshes."""
        return self._files.groups

    @property
    def skipped(self) -> int:
        """Steps that were lost before this one: none."""
        return 0

    @property
    def attrs(self) -> Attributes:
        """Attributes of the iteration or the file; of a record, its time where that is a number.

        With its units as `timeUnits`, and as `timeUnitSI` where these are known; and the numbers
        that the writer of the record's file was told of its steps.
        """
        if self._stored.record is None:
            return Attributes(self._files.attrs)
        found = self._coordinate()
        said: dict[str, object] = {}
        if found is not None and _is_number(time := found.values[()]):
            said = {TIME: float(time), **step_attributes(found.attrs)}
        said.update(_step_numbers(self._files, *self._stored.record))
        return Attributes(said)

    @property
    def time(self) -> Any:
        """In units of the attribute `timeUnitSI`, or the record's coordinate; NaN without one.

        A float, but a numpy.datetime64 or a date of cftime where the coordinate of a record is.
        """
        if self._stored.record is None:
            return _number(self._files.attrs.get("time"))
        found = self._coordinate()
        time = np.nan if found is None else found.values[()]
        return float(time) if _is_number(time) else time

    @property
    def dt(self) -> float:
        """Length of the step in units of `timeUnitSI`; NaN where the file does not say."""
        return _number(self.attrs.get("dt"))

    @property
    def meshes(self) -> Records:
        """The meshes of a step of openPMD: ``step.meshes["E"].x``."""
        return meshes_of(self, self._of_series())

    @property
    def particles(self) -> Particles:
        """The particle species of a step of openPMD: ``step.particles["e"]["position"].x``."""
        return particles_of(self, self._of_series())

    def mine(
        self,
        strategy: Strategy = "hyperslabs",
        names: Iterable[str] | None = None,
        *,
        own: Mapping[str, Own] | None = None,
    ) -> dict[str, list[Piece]]:
        """Return this rank's parts of each dataset, as `ReadStep.mine` does of a live step.

        Collective over the series' communicator; no data moves. What is distributed are the chunks
        in which a dataset is stored, or all of it where there are none; which rank wrote
        them is not known.
        """
        return share_of_files(self, names, self.comm, strategy, own)

    def read(
        self, names: Iterable[str] | None = None, selection: Selection = None
    ) -> dict[str, xr.DataArray]:
        """Read several datasets, as `ReadStep.read` does of a live step: each by its `read`."""
        wanted = to_names(names, self, "One dataset is read by step[name].read()")
        return {name: self[name].read(selection) for name in wanted}

    def names(self) -> list[str]:
        """Return the names of the datasets of this step."""
        return list(self._files.names)

    def _ipython_key_completions_(self) -> list[str]:
        return self.names()

    def __getitem__(self, name: str) -> FileDataset:
        to_text(name, "the name of a dataset")
        files = self._files
        view = View.whole(files.dims_of(name), files.shape_of(name), files.decode)
        if self._stored.record is not None:
            dim, position = self._stored.record
            axis = files.axis_of(name, dim)
            if axis is not None:
                time = view.dims[axis]
                view = dataclasses.replace(view.isel({time: position}), record=time)
        return FileDataset(files, name, view, self.comm)

    def __contains__(self, name: object) -> bool:
        return name in self._files.names

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self._files.names)

    def _of_series(self) -> Mapping[str, object]:
        return self._files.attrs if self._stored.attrs is None else self._stored.attrs

    def _coordinate(self) -> xr.Variable | None:
        """Return the coordinate of the record; None without one."""
        if self._stored.record is None:
            return None
        dim, position = self._stored.record
        known = dim in self._files.names
        found = self._files.labels(dim, dim.rpartition("/")[2]) if known else None
        return None if found is None else found[position]

    def __repr__(self) -> str:
        return f"<fluvial.FileStep {self.index} of '{self._files.path}': {', '.join(self)}>"

    def _repr_html_(self) -> str:
        rows = ((d.name, d.dtype, d.shape) for d in map(self.__getitem__, self))
        return html_table(f"step {self.index}", ("dataset", "dtype", "shape"), rows)


def _step_numbers(files: JoinedFiles, dim: str, record: int) -> Iterator[tuple[str, object]]:
    """Yield what the writer of a record's file said of it: other files may say other things."""
    found = file_of_record(files.opened(), dim, record)
    if found is None:
        return
    file, own = found
    for name in file.names:
        if name not in file.unreadable:
            dataset = file.dataset(name)
            marked = STEP_ATTRIBUTE in dataset.attributes
            if marked and len(dataset.shape) == 1 and own < dataset.shape[0]:
                yield name, dataset.read((own,), (1,)).item()


def _number(said: object) -> float:
    return float(said) if _is_number(said) else np.nan


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.integer | np.floating)
