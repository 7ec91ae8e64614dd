# SPDX-License-Identifier: Apache-2.0
"""LAMMPS on any number of ranks: a hot drop of atoms, written as openPMD to whatever is named.

    mpiexec -n 4 python simulation.py drop             # a stream for other jobs
    mpiexec -n 4 python simulation.py drop%T.h5        # files

The job script decides, also by FLUVIAL_OPTIONS, which has the options of the queue and of files.
At the end it says how much time the output has cost.
"""

import argparse
import json
import pathlib
import time

import numpy as np
from lammps import lammps
from mpi4py import MPI

import fluvial as fl

TIMESTEP = 0.005
SETUP = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
region drop sphere {middle} {middle} {middle} {radius}
create_atoms 1 region drop
mass 1 1.0
velocity all create 0.9 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
timestep {timestep}
fix move all nve
run 0 post no
"""


def put_atoms(step, code, comm):
    """Put this rank's atoms into a step; return their bytes."""
    owned = code.extract_setting("nlocal")
    first = comm.exscan(owned) or 0
    place = {"offset": (first,), "shape": (comm.allreduce(owned),)}
    nbytes = 0
    for record, name in (("position", "x"), ("velocity", "v")):
        vectors = code.numpy.extract_atom(name)[:owned]
        for axis, component in enumerate("xyz"):
            step.put(f"particles/atoms/{record}/{component}", vectors[:, axis], **place)
            nbytes += vectors[:, axis].nbytes
    step.put("particles/atoms/id", code.numpy.extract_atom("id")[:owned], **place)
    return nbytes


def simulate(comm, options):
    """Run until the time is over or all outputs are made; return what it took."""
    code = lammps(cmdargs=["-screen", "none", "-log", "none"], comm=comm)
    cells = options.cells
    shape = {"cells": cells, "middle": cells / 2, "radius": 0.45 * cells}
    code.commands_string(SETUP.format(timestep=TIMESTEP, **shape))
    done = {"steps": 0, "outputs": 0, "discarded": 0, "bytes": 0, "lost_s": 0.0, "output_s": []}
    edge = code.extract_global("boxhi")[0]
    with fl.open(options.series, "w", comm=comm) as series:
        series.attrs["box"] = [edge] * 3
        begun = time.perf_counter()
        while not over(comm, options, done["steps"] // options.every, begun):
            code.command(f"run {options.every} pre no post no")
            done["steps"] += options.every
            if options.no_output:
                continue
            mark = time.perf_counter()
            with series.step(time=done["steps"] * TIMESTEP, iteration=done["steps"]) as step:
                if step.accepted:
                    done["bytes"] += put_atoms(step, code, comm)
            spent = time.perf_counter() - mark
            done["lost_s"] += spent
            done["output_s"] += [spent] if step.accepted else []
            done["outputs" if step.accepted else "discarded"] += 1
        done["seconds"] = time.perf_counter() - begun
    code.close()
    return done


def over(comm, options, outputs, begun):
    """Tell whether it is time to end: the first rank decides."""
    spent = time.perf_counter() - begun
    late = options.seconds is not None and spent >= options.seconds
    return comm.bcast(late or (options.outputs is not None and outputs >= options.outputs))


def main():
    """Simulate, and say what the output has cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("series", help="a stream, run.h5, data%%T.h5, run.bp …")
    parser.add_argument("--cells", type=int, default=20, help="of 4 atoms, along each axis")
    parser.add_argument("--every", type=int, default=10, help="steps from output to output")
    parser.add_argument("--outputs", type=int, help="end after so many")
    parser.add_argument("--seconds", type=float, help="end after so much time")
    parser.add_argument("--no-output", action="store_true", help="to compare with")
    parser.add_argument("--report", type=pathlib.Path, help="a file of JSON for the figures")
    options = parser.parse_args()
    if options.outputs is None and options.seconds is None:
        options.outputs = 10
    comm = MPI.COMM_WORLD
    of_all = comm.gather(simulate(comm, options))
    if comm.rank != 0:
        return
    first = of_all[0]
    lost = np.mean([done["lost_s"] for done in of_all])
    if options.report is not None:
        options.report.write_text(json.dumps(of_all))
    print(
        f"{first['steps']} steps in {first['seconds']:.2f} s: {first['outputs']} outputs, "
        f"{first['discarded']} discarded; {lost:.2f} s ({100 * lost / first['seconds']:.1f} %) "
        "went into output"
    )


if __name__ == "__main__":
    main()
