# SPDX-License-Identifier: Apache-2.0
"""Writer: an MPI job that hands over its atoms' velocities, step by step, to a reading job."""

import numpy as np
from mpi4py import MPI

import fluvial as fl

comm = MPI.COMM_WORLD
n, rng = 100_000, np.random.default_rng(comm.rank)
with fl.open("gas", "w", comm=comm) as series:  # waits for one reader job
    for i in range(10):
        v = rng.normal(scale=1 + i, size=n)  # this rank's atoms, one step of a simulation
        with series.step(time=0.1 * i) as step:
            step.put("particles/gas/velocity/x", v, offset=[comm.rank * n], shape=[comm.size * n])
