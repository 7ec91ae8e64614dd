# SPDX-License-Identifier: Apache-2.0
"""Irregular parallel output: the energetic atoms of a running LAMMPS job, in one openPMD file.

    mpiexec -n 3 python energetic_particles.py OUT.h5

All ranks but the last run LAMMPS. An atom whose kinetic energy passes a limit is tagged, and from
then on written at every output, wherever it goes. Which rank has how many of them changes all the
time. They are streamed to the last rank, which appends them to the file while LAMMPS goes on; then
the same run writes collectively, where all ranks wait at each output until the file is written.
"""

import argparse
import pathlib
import time

import h5py
import numpy as np
from lammps import lammps
from mpi4py import MPI
from particle_file import PARTICLE, ParticleFile

import fluvial as fl

LIMIT = 6.0  # kinetic energy; the mean is 1.5
TIMESTEP = 0.005
SETUP = """
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {cells} 0 {cells} 0 {cells}
create_box 1 box
fix tags all property/atom i_tagged
create_atoms 1 box
mass 1 1.0
velocity all create 2.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
timestep {timestep}
fix move all nve
run 0 post no
"""


def energetic_atoms(code, step):
    """Return the records of this rank's tagged atoms; tags go with atoms from rank to rank."""
    owned = code.extract_setting("nlocal")
    atoms = {name: code.numpy.extract_atom(name)[:owned] for name in ("id", "x", "v", "i_tagged")}
    energy = (atoms["v"] ** 2).sum(axis=1) / 2
    atoms["i_tagged"][energy > LIMIT] = 1
    chosen = np.flatnonzero(atoms["i_tagged"])
    records = np.empty(len(chosen), PARTICLE)
    records["step"], records["id"] = step, atoms["id"][chosen]
    records["position"], records["velocity"] = atoms["x"][chosen], atoms["v"][chosen]
    records["energy"] = energy[chosen]
    return records


def simulate(comm, options, write):
    """Run LAMMPS and call write(records) at each output; return seconds in all and in write."""
    code = lammps(cmdargs=["-screen", "none", "-log", "none"], comm=comm)
    code.commands_string(SETUP.format(cells=options.cells, timestep=TIMESTEP))
    begun, writing = time.perf_counter(), 0.0
    for step in range(options.every, options.steps + 1, options.every):
        code.command(f"run {options.every} pre no post no")
        records = energetic_atoms(code, step)
        mark = time.perf_counter()
        write(records)
        writing += time.perf_counter() - mark
    seconds = time.perf_counter() - begun
    code.close()
    return comm.allreduce(seconds, MPI.MAX), comm.allreduce(writing, MPI.MAX)


def streamed(world, code_comm, options):
    """Write through a stream. The file's rank works while the others go on."""
    consumes = code_comm is None
    times = None
    with fl.Channel(world, producer=not consumes, consumer=consumes) as channel:
        stream = channel.stream("energetic", dtype=PARTICLE)
        if consumes:
            file = ParticleFile(options.path, TIMESTEP)
            for particles in stream:
                file.append(particles)
            file.close()
        else:
            times = simulate(code_comm, options, stream.send)
    return world.bcast(times, root=0)


def collective(world, code_comm, options):
    """Write at each output, together."""
    times = None
    if code_comm is not None:
        root = code_comm.rank == 0
        file = ParticleFile(reference(options), TIMESTEP) if root else None

        def write(records):
            counts = code_comm.gather(records.nbytes)
            everything = np.empty(sum(counts) // PARTICLE.itemsize if root else 0, PARTICLE)
            code_comm.Gatherv(
                [records, MPI.BYTE], [everything.view("u1"), counts, MPI.BYTE] if root else None
            )
            if root:
                file.append(everything)
            code_comm.Barrier()  # as a collective write ends

        times = simulate(code_comm, options, write)
        if root:
            file.close()
    return world.bcast(times, root=0)


def reference(options):
    """Return where the file of the second run is."""
    return options.path.with_suffix(".collective.h5")


def particles_in(path):
    """Return (step, id, energy) of all particles of a file, sorted."""
    with h5py.File(path) as file:
        found = [
            (int(step), int(number), float(energy))
            for step, group in file["data"].items()
            for number, energy in zip(
                group["particles/energetic/id"][:],
                group["particles/energetic/energy"][:],
                strict=True,
            )
        ]
    return sorted(found)


def main():
    """Run both, and compare what they wrote and how long the simulation stood still."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=pathlib.Path)
    parser.add_argument("--cells", type=int, default=10, help="of 4 atoms, along each axis")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--every", type=int, default=10, help="steps from output to output")
    options = parser.parse_args()
    world = MPI.COMM_WORLD
    writes = world.rank == world.size - 1
    code_comm = world.Split(MPI.UNDEFINED if writes else 0, world.rank)
    code_comm = None if writes else code_comm
    for name, variant in (("streamed", streamed), ("collective", collective)):
        seconds, waiting = variant(world, code_comm, options)
        if world.rank == 0:
            share = 100 * waiting / seconds
            print(f"{name}: {waiting:.3f} s of {seconds:.2f} s went into output ({share:.1f} %)")
    if world.rank == 0:
        particles = particles_in(options.path)
        same = particles == particles_in(reference(options))
        steps = len({step for step, _, _ in particles})
        print(f"{len(particles)} particles in {steps} steps; the same in both files: {same}")
        reference(options).unlink()


if __name__ == "__main__":
    main()
