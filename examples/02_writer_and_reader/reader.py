# SPDX-License-Identifier: Apache-2.0
"""Reader: another MPI job, of another size, that computes on each step where it lies."""

from mpi4py import MPI

import fluvial as fl

comm = MPI.COMM_WORLD
with fl.open("gas", comm=comm) as series:
    for step in series:  # until the writer closes
        v = step["particles/gas/velocity/x"]
        found = v.reduce({"mean": "mean", "spread": "std"})  # one pass, shared by all ranks
        mine = v[v.slab(comm.rank, comm.size)]  # this rank's part, an array
        if comm.rank == 0:
            mean, spread = found["mean"], found["spread"]
            print(f"t={step.time:.1f}: {v.shape[0]} atoms, mean {mean:.3f}, spread {spread:.3f}")
