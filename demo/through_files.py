# SPDX-License-Identifier: Apache-2.0
"""The same pipeline through files: every output becomes an openPMD HDF5 file, to be read later.

PyPI's openpmd-api has no MPI in it, so rank 0 of the simulation gathers the atoms and writes a file
an output; this costs a copy through MPI's shared memory, small beside the writing. Each rank of the
analysis opens the files by itself and reads its share. Nothing forces the data onto the disk: the
files may still be in the kernel's page cache when they are read, which favours this pipeline.
"""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import openpmd_api as io
from mpi4py import MPI
from numpy.typing import NDArray

import fluvial as fl
from demo.crystal import Argon
from demo.openpmd_names import AXES, DIMENSIONS, SPECIES, UNITS, series_attributes, step_attributes
from demo.protocol import Plan

if TYPE_CHECKING:
    from demo.simulate import Snapshot

FILE_PATTERN = "melt_%06T.h5"
_DIMENSION_NAMES = tuple(io.Unit_Dimension.__members__.values())


class FileSink:
    """Writes snapshots as openPMD HDF5 files, one an output, from rank 0."""

    def __init__(self, plan: Plan, comm: MPI.Intracomm):
        self._plan, self._comm = plan, comm
        self._bytes = 0
        self._series: Any = None
        if comm.rank == 0:
            self._series = io.Series(str(pathlib.Path(plan.files, FILE_PATTERN)), io.Access.create)
            attributes = series_attributes()
            self._series.set_software(attributes["software"])
            self._series.set_comment(attributes["comment"])
            self._series.set_particles_path("particles")

    def __enter__(self) -> FileSink:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._series is not None:
            self._series.close()

    def write(self, snapshot: Snapshot) -> None:
        """Gather the atoms on rank 0 and write them into a file of their own."""
        counts = self._comm.gather(len(snapshot.position))
        records = {"position": snapshot.position, "velocity": snapshot.velocity}
        columns = {
            (record, axis): self._gather(values[:, column], counts, snapshot.total)
            for record, values in records.items()
            for column, axis in enumerate(AXES)
        }
        self._bytes += 6 * 8 * snapshot.total
        if self._series is None:
            return
        heating = self._plan.heating
        iteration = self._series.iterations[snapshot.step]
        iteration.set_time(snapshot.step * heating.timestep)
        iteration.set_dt(heating.every * heating.timestep)
        iteration.set_time_unit_SI(Argon.TIME)
        for name, value in step_attributes(
            self._plan.crystal.box,
            heating.temperature(snapshot.step),
            snapshot.energy,
            time.time(),
        ).items():
            if name != "timeUnitSI":
                iteration.set_attribute(name, list(value) if isinstance(value, tuple) else value)
        particles = iteration.particles[SPECIES]
        for (record, axis), values in columns.items():
            self._store(particles[record], record, axis, values)
        offset = particles["positionOffset"]
        offset.unit_dimension = _unit_dimension("position")
        for axis in AXES:
            offset[axis].reset_dataset(io.Dataset(np.dtype("float64"), [snapshot.total]))
            offset[axis].make_constant(0.0)
            offset[axis].unit_SI = UNITS["position"]
        iteration.close()

    def figures(self) -> dict[str, Any]:
        """Return the bytes written so far."""
        return {"bytes": self._bytes}

    def _gather(
        self, values: NDArray[np.float64], counts: list[int] | None, total: int
    ) -> NDArray[np.float64]:
        root = self._comm.rank == 0
        gathered = np.empty(total if root else 0)
        self._comm.Gatherv(np.ascontiguousarray(values), [gathered, counts] if root else None)
        return gathered

    @staticmethod
    def _store(record: Any, name: str, axis: str, values: NDArray[np.float64]) -> None:
        record.unit_dimension = _unit_dimension(name)
        component = record[axis]
        component.reset_dataset(io.Dataset(values.dtype, values.shape))
        component.unit_SI = UNITS[name]
        component.store_chunk(values)


def _unit_dimension(record: str) -> dict[Any, float]:
    powers = zip(_DIMENSION_NAMES, DIMENSIONS[record], strict=True)
    return {name: power for name, power in powers if power}


class FileOutput:
    """One output read from its file: what the analysis asks of a step, from the old pipeline."""

    def __init__(self, iteration: Any, number: int, series: Any, comm: MPI.Intracomm):
        self._iteration, self._series, self._comm = iteration, series, comm
        self.step = number
        self.time = float(iteration.time)
        self.attrs = {name: iteration.get_attribute(name) for name in iteration.attributes}
        self.attrs["timeUnitSI"] = iteration.time_unit_SI
        self.seconds_reading = 0.0

    def unit_si(self, name: str) -> float:
        """Return the SI value of a dataset's unit."""
        return float(self._component(name).unit_SI)

    def reduce(self, operators: dict[str, Any], inputs: dict[str, list[str]]) -> dict[str, Any]:
        """Read this rank's share of all inputs and run the operators over it; collective."""
        began = time.perf_counter()
        rank, size = self._comm.rank, self._comm.size
        arrays = {}
        for name in sorted({name for names in inputs.values() for name in names}):
            component = self._component(name)
            count = component.shape[0]
            first, last = rank * count // size, (rank + 1) * count // size
            arrays[name] = component.load_chunk([first], [last - first])
        self._series.flush()
        self.seconds_reading = time.perf_counter() - began
        results: dict[str, Any] = {}
        # One pass for each set of arrays; the same order of collective calls on every rank.
        for names in dict.fromkeys(tuple(inputs[key]) for key in operators):
            together = {key: op for key, op in operators.items() if tuple(inputs[key]) == names}
            results |= fl.reduce(together, [arrays[name] for name in names], comm=self._comm)
        return results

    def _component(self, name: str) -> Any:
        _, species, record, axis = name.split("/")
        return self._iteration.particles[species][record][axis]


class FileSource:
    """All outputs of the files of a plan, in order."""

    def __init__(self, plan: Plan, comm: MPI.Intracomm):
        self._plan, self._comm = plan, comm
        self.stats: dict[str, Any] = {}

    def __enter__(self) -> FileSource:
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def __iter__(self) -> Iterator[FileOutput]:
        """Open each file, yield its output, and close it."""
        series = io.Series(
            str(pathlib.Path(self._plan.files, FILE_PATTERN)),
            io.Access.read_only,
            '{"defer_iteration_parsing": true}',
        )
        for number in series.iterations:
            iteration = series.iterations[number].open()
            yield FileOutput(iteration, number, series, self._comm)
            iteration.close()
        series.close()
