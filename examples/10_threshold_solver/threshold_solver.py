# SPDX-License-Identifier: Apache-2.0
"""A threshold collective in an iterative solver with a slow rank.

    mpiexec -n 5 python threshold_solver.py

After each iteration all ranks want to know whether the sum of their errors is still too large. Long
before convergence a few errors are enough to tell. In every iteration one rank is slow (it writes a
checkpoint, say, or the system has something else to do there), and not always the same. With
MPI_Allreduce all wait for it every time; with a threshold collective the others go on at once, and
have their own slow iteration while it catches up. Both ways run in one job and iterate alike.
"""

import argparse
import time

import numpy as np
from mpi4py import MPI

import fluvial as fl

TOLERANCE = 1e-12


class Solver:
    """A system of this rank's own, x = A x + b, by Jacobi's method."""

    def __init__(self, rank, unknowns):
        random = np.random.default_rng(rank)
        self._coupling = random.uniform(0, 2, (unknowns, unknowns)) * 0.8 / unknowns
        self._b = random.normal(size=unknowns)
        self._x = np.zeros(unknowns)
        self._rank, self._iteration = rank, 0

    def iterate(self, ranks, slow_s):
        """Improve x; return the squared norm of the change."""
        if self._iteration % ranks == self._rank:
            time.sleep(slow_s)
        self._iteration += 1
        better = self._b + self._coupling @ self._x
        change = better - self._x
        self._x = better
        return float(change @ change)


def solve(comm, options, too_large):
    """Iterate until the sum of errors is small enough; return iterations and seconds."""
    solver = Solver(comm.rank, options.unknowns)
    comm.Barrier()
    begun, iterations = time.perf_counter(), 1
    while too_large(solver.iterate(comm.size, options.slow)):
        iterations += 1
    return iterations, comm.allreduce(time.perf_counter() - begun, MPI.MAX)


def main():
    """Solve twice on all ranks but the last, which gives the verdicts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--unknowns", type=int, default=300)
    parser.add_argument("--slow", type=float, default=0.01, help="seconds that the slow rank takes")
    options = parser.parse_args()
    world = MPI.COMM_WORLD
    judges = world.rank == world.size - 1
    comm = world.Split(int(judges), world.rank)
    with fl.Channel(world, producer=not judges, consumer=judges) as channel:
        threshold = channel.threshold(TOLERANCE)
        if not judges:
            waiting, at_once = (
                solve(comm, options, too_large)
                for too_large in (
                    lambda error: comm.allreduce(error) > TOLERANCE,
                    threshold.contribute,
                )
            )
            if comm.rank == 0:
                for name, (iterations, seconds) in (
                    ("MPI_Allreduce", waiting),
                    ("threshold collective", at_once),
                ):
                    print(f"{name}: {iterations} iterations in {seconds:.3f} s")
                print(f"saved: {100 * (1 - at_once[1] / waiting[1]):.0f} %")
    late = world.bcast(threshold.late, root=world.size - 1)
    if world.rank == 0:
        print(f"{late} contributions came when their verdict was known")


if __name__ == "__main__":
    main()
