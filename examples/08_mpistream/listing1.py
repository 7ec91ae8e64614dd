# SPDX-License-Identifier: Apache-2.0
"""Listing 1 of "A Data Streaming Model in MPI" (doi:10.1145/2831129.2831131) in Python.

mpiexec -n 10 python -m mpi4py listing1.py
"""

from mpi4py import MPI

import fluvial as fl

comm = MPI.COMM_WORLD
produces = comm.rank < comm.size - 2  # the last two consume
with fl.Channel(comm, producer=produces, consumer=not produces) as channel:
    numbers = channel.stream("numbers", dtype="int32", op=["count", "sum"])
    for i in range(100 if produces else 0):
        numbers.send(i)  # at this rank's own pace
    if comm.rank == comm.size - 1:
        print(*numbers.result())  # of all producers, when they have ended
