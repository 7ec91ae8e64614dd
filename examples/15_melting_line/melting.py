# SPDX-License-Identifier: Apache-2.0
"""The two tasks of a point: a simulation that streams its atoms, and their analysis meanwhile."""

from __future__ import annotations

import itertools

import numpy as np
from lammps import lammps

import fluvial as fl

STEPS_BETWEEN_OUTPUTS = 100
_INPUT = """
units lj
atom_style atomic
lattice fcc {density}
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create {twice} 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
timestep 0.004
fix move all nve
fix heat all temp/csvr {temperature} {temperature} 0.1 4711
run 0 post no
"""


def atoms_of(cells):
    """Return the number of atoms in a cubic crystal with so many cells along each edge."""
    return 4 * cells**3


@fl.parallel
def simulate(comm, stream, temperature, density, cells, outputs):
    """Heat a crystal at constant density; stream positions and velocities."""
    simulation = lammps(cmdargs=["-screen", "none", "-log", "none"], comm=comm)
    words = {"temperature": temperature, "twice": 2 * temperature, "density": density}
    simulation.commands_string(_INPUT.format(cells=cells, **words))
    with fl.open(stream, "w", comm=comm, stall_timeout=60) as series:
        for _ in range(outputs):
            simulation.command(f"run {STEPS_BETWEEN_OUTPUTS} pre no post no")
            mine = simulation.extract_global("nlocal")
            offset = comm.exscan(mine) or 0
            with series.step() as step:
                for name in "xv":
                    values = simulation.numpy.extract_atom(name)[:mine]
                    for axis, values_along in zip("xyz", values.T, strict=True):
                        step.put(
                            f"{name}/{axis}", values_along, offset=offset, shape=atoms_of(cells)
                        )
    simulation.close()
    return outputs * STEPS_BETWEEN_OUTPUTS


@fl.parallel
def analyse(comm, stream, density, cells):
    """Return order (the Bragg peaks: 1 in a perfect crystal, 0 in a liquid) and temperature.

    Each is an array with a value for each output.
    """
    edge = (4 / density) ** (1 / 3)
    reflections = [(1, *signs) for signs in itertools.product((-1, 1), (-1, 1))]
    peaks = 2 * np.pi / edge * np.array(reflections)
    operators = {
        "peaks": fl.ops.StructureFactor.at(peaks),
        "square": fl.ops.Apply(lambda x, y, z: x * x + y * y + z * z, fl.ops.Mean(), name="v^2"),
    }
    inputs = {"peaks": ["x/x", "x/y", "x/z"], "square": ["v/x", "v/y", "v/z"]}
    order, temperature = [], []
    with fl.open(stream, comm=comm, stall_timeout=60) as series:
        for step in series:
            found = step.reduce(operators, inputs=inputs)
            order.append(found["peaks"].s.mean() / atoms_of(cells))
            temperature.append(found["square"] / 3)
    return np.array(order), np.array(temperature, dtype=float)
