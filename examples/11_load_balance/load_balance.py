# SPDX-License-Identifier: Apache-2.0
"""An online monitor of load balance, with an alert that the code reacts to.

    mpiexec -n 5 python load_balance.py

All ranks but the last run a code whose particles drift together, so that some ranks get many of
them. After each step a rank streams its number of particles to the last rank and goes on at once.
The monitor compares the numbers of each step; where they are too uneven it raises an alert, and
sends an element back through a second channel. The code then divides its domain anew.
"""

import argparse
from collections import defaultdict

import numpy as np
from mpi4py import MPI

import fluvial as fl

REPORT = np.dtype([("step", "i8"), ("particles", "i8")])
LIMIT = 1.3  # times the mean


class Monitor:
    """Largest number of particles over the mean, of every step; `alert(step, ratio)` past a limit.

    Ranks that are ahead do not disturb the steps before: a step counts when all have reported.
    """

    def __init__(self, ranks, alert):
        self._ranks, self._alert = ranks, alert
        self._open = defaultdict(list)
        self.ratios = {}

    def watch(self, reports):
        """Take a batch of reports."""
        for step, particles in reports.tolist():
            self._open[step].append(particles)
            if len(self._open[step]) == self._ranks:
                numbers = self._open.pop(step)
                self.ratios[step] = max(numbers) / np.mean(numbers)
                if self.ratios[step] > LIMIT:
                    self._alert(step, self.ratios[step])


class Code:
    """Particles on a line; each rank owns those between two edges."""

    def __init__(self, comm, particles):
        self._comm = comm
        self._random = np.random.default_rng(comm.rank)
        self._edges = np.linspace(0, 1, comm.size + 1)
        self._cuts = self._edges[1:-1].copy()
        self._x = self._random.uniform(*self._edges[comm.rank : comm.rank + 2], particles)

    def step(self):
        """Move the particles towards 0.3, and those that left to the ranks that own them now."""
        noise = self._random.normal(scale=0.002, size=len(self._x))
        self._exchange(np.clip(self._x + 0.02 * (0.3 - self._x) + noise, 0, 1 - 1e-9))

    def balance(self):
        """Cut the line so that each rank owns as many particles as any other."""
        sample = np.concatenate(self._comm.allgather(self._x[::20]))
        self._edges[1:-1] = np.quantile(sample, self._cuts)
        self._exchange(self._x)

    @property
    def particles(self):
        """How many this rank has."""
        return len(self._x)

    def _exchange(self, x):
        owner = np.searchsorted(self._edges, x, side="right") - 1
        parts = self._comm.alltoall([x[owner == rank] for rank in range(self._comm.size)])
        self._x = np.concatenate(parts)


def run(code, comm, steps, reports, advice):
    """Run the code, and return the steps after which it was balanced."""
    balanced = [-1]
    for step in range(steps):
        code.step()
        reports.send((step, code.particles))
        advised = -1
        while comm.rank == 0 and (batch := advice.try_next()) is not None:
            advised = int(batch.elements.max())
        # The ranks meet anyhow, for their time step, say; advice from before the last cut is old.
        if comm.allreduce(advised, MPI.MAX) > balanced[-1]:
            code.balance()
            balanced.append(step)
    reports.terminate()
    if comm.rank == 0:
        for _ in advice:
            pass  # came too late
    return balanced[1:]


def main():
    """Run the code on all ranks but the last, and the monitor there."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--particles", type=int, default=20_000, help="of a rank, at first")
    options = parser.parse_args()
    world = MPI.COMM_WORLD
    watches = world.rank == world.size - 1
    comm = world.Split(int(watches), world.rank)
    alerts = []

    def alert(step, ratio):
        alerts.append(step)
        if len(alerts) == 1:
            print(f"alert at step {step}: the busiest rank has {ratio:.2f} times the mean")
        advice.send(step)

    monitor = Monitor(world.size - 1, alert)
    balanced = None
    with (
        fl.Channel(world, producer=not watches, consumer=watches) as forth,
        fl.Channel(world, producer=watches, consumer=world.rank == 0) as back,
    ):
        reports = forth.stream("reports", dtype=REPORT, op=monitor.watch)
        advice = back.stream("advice", dtype="i8")
        if watches:
            reports.operate()
            advice.terminate()
        else:
            balanced = run(Code(comm, options.particles), comm, options.steps, reports, advice)
    balanced = world.bcast(balanced, root=0)
    if watches:
        last = monitor.ratios[options.steps - 1]
        print(f"{len(alerts)} alerts, balanced {len(balanced)} times; at the end {last:.2f}")


if __name__ == "__main__":
    main()
