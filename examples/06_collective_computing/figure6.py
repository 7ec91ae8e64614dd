# SPDX-License-Identifier: Apache-2.0
"""Figure 6 in Python: the same shares, a sum of each while it is read.

mpiexec -n 3 python figure6.py t.nc temperature
"""

import sys

from mpi4py import MPI

import fluvial as fl

path, name = sys.argv[1:]
comm = MPI.COMM_WORLD
with fl.open(path) as file:
    data = file[name]
    dim = data.shape[0]
    share = slice(dim * comm.rank // comm.size, dim * (comm.rank + 1) // comm.size)
    pending = data.isel({data.dims[0]: share}).start("sum", shuffle="to-one")
    # ... what the program does meanwhile ...
    total = float(pending.wait())
if comm.rank == 0:
    print(f"sum of {name}: {total:.0f}, by {comm.size} ranks")
