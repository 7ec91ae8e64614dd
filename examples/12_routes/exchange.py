# SPDX-License-Identifier: Apache-2.0
"""Two ranks of a job exchange data along the paths of a plan.

    fluvial run -n 6 exchange.py

The ranks stand for the hosts of a small torus. The first and the last one send to each other; the
ranks between them are proxies, which pass windows of the data on.
"""

import numpy as np
from mpi4py import MPI

import fluvial as fl

comm = MPI.COMM_WORLD
last = comm.size - 1
plan = fl.route.plan(f"torus:2x{comm.size // 2}", [(0, last), (last, 0)])  # the same on every rank

data = np.linspace(0, 1, 500_000)
mine = {0: data} if comm.rank == 0 else {1: -data} if comm.rank == last else {}
arrived = fl.route.exchange(comm, plan, mine, paths=3, window=2**14)

lines = []
for flow, found in arrived.items():
    assert (found.view("f8") == (data if flow == 0 else -data)).all()
    ways = ", ".join(" → ".join(map(str, path.stops)) for path in plan.paths[flow])
    lines.append(f"rank {comm.rank} has {found.nbytes} bytes, by {ways}")
everybody = comm.gather(lines)
if comm.rank == 0:
    print(*(line for said in everybody for line in said), sep="\n")
