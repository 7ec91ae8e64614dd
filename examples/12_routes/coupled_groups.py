# SPDX-License-Identifier: Apache-2.0
"""What more than one path through a network gains two physics modules that exchange data.

    python coupled_groups.py [--topology bgq:4x4x4x4x2] [--group 64] [--mib 4]
    fluvial run -n 6 coupled_groups.py --topology torus:2x3 --group 2

The first hosts of a machine hold one module, the last ones the other, and each host of the first
sends its data to its partner. All flows are planned together. Bui et al. 2016, section 5.5,
measured nearly 3 times the throughput of direct routes for two groups of 64 hosts.

In a job of several ranks, of which each stands for a host, the data is moved as well: an ocean
model has its field cut into rows on the first ranks, and a model of the air wants it in columns on
the last ones.
"""

import argparse

import numpy as np
from mpi4py import MPI

import fluvial as fl


def main():
    """Plan, and say what is predicted; or move data among the ranks of a job."""
    parser = argparse.ArgumentParser(description="Two groups of hosts exchange data.")
    parser.add_argument("--topology", default="bgq:4x4x4x4x2")
    parser.add_argument("--group", type=int, default=64)
    parser.add_argument("--mib", type=float, default=4)
    options = parser.parse_args()
    if MPI.COMM_WORLD.size > 1:
        couple(MPI.COMM_WORLD, options)
        return

    net = fl.route.topology(options.topology)
    senders, receivers = range(options.group), range(net.hosts - options.group, net.hosts)
    size = options.mib * 2**20
    plan = fl.route.plan(net, [(a, b, size) for a, b in zip(senders, receivers, strict=True)])

    bound = net.disjoint_paths_max(senders, receivers)
    counts = [len(paths) for paths in plan.paths]
    proxies = {proxy for paths in plan.paths for path in paths for proxy in path.proxies}
    print(f"{net}: {options.group} flows, at most {bound} paths without a common link")
    print(f"planned ({plan.planner}): {sum(counts)} paths, {min(counts)} to {max(counts)} a flow")
    print(f"hosts that pass data on: {len(proxies)}")
    slowest = max(range(len(plan.flows)), key=lambda i: plan.predict(size, i).seconds)
    found = plan.predict(size, slowest)
    direct = max(plan.predict(size, i).direct_seconds for i in range(len(plan.flows)))
    print(f"{options.mib:g} MiB a flow: {direct / found.seconds:.1f} times as fast as direct")


def couple(comm, options):
    """Hand a field from one group of ranks to the other, step by step."""
    group, first_of_air = options.group, comm.size - options.group
    across = max(1, int((options.mib * 2**20 / 8) ** 0.5))
    n = across * group  # rows and columns of the field
    ocean = [((comm.rank * across, 0), (across, n))] if comm.rank < group else []
    column = (comm.rank - first_of_air) * across
    air = [((0, column), (n, across))] if comm.rank >= first_of_air else []
    with fl.route.Redistribution(
        comm, (n, n), "f8", has=ocean, wants=air, network=options.topology
    ) as coupling:
        for step in range(3):
            rows = np.arange(comm.rank * across, (comm.rank + 1) * across)
            field = [1e6 * step + rows[:, None] + np.arange(n) / n] if ocean else []
            for part in coupling.move(field):
                expected = 1e6 * step + np.arange(n)[:, None]
                assert np.array_equal(part, expected + np.arange(column, column + across) / n)
        if comm.rank == 0:
            print(coupling.explain())


if __name__ == "__main__":
    main()
