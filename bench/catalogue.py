# SPDX-License-Identifier: Apache-2.0
"""The benches by name: each answers one question and lives in the folder of that name."""

from __future__ import annotations

CATALOGUE: dict[str, str] = {
    "stage": "How fast does a step get from a writer to a reader on the same host, beside SST?",
    "engine": "How fast is a program of ADIOS2 by Fluvial's engine, beside SST?",
    "datasets": "What does a step of thousands of datasets cost, beside SST?",
    "spill": "How fast do steps that overflow the queue go over a disk, beside bare files?",
    "write": "How fast do ranks write a file together, plain and compressed, beside libhdf5?",
    "pipe": "What does output through a pipe cost a simulation, beside writing the file itself?",
    "strategies": "How fast is a simulation's data loaded by each distribution strategy?",
    "network": "How fast does a step get to a reader by TCP, beside a bare socket?",
    "rails": "How fast does a step get to another host over three networks, beside one?",
    "scale": "What does a step between many hosts cost, counted for 16 to 100,000 ranks?",
    "route": "How fast is a flow by several paths of a network, beside MPI's own message?",
    "flow": "How many tasks are run in a second, beside bare MPI, mpi4py, Dask and Parsl?",
    "kernels": "Do the reductions run at the speed of reading the same memory?",
    "scan": "How fast is a file reduced, beside MPI-IO, xarray, CDO, NCO and a bare loop?",
    "stream": "How fast do elements go from producers to consumers, beside plain MPI?",
    "swift": "How many leaf calls a second does a script make, beside its pool alone?",
    "collective": "What does computing inside the read gain over reading, then computing?",
}
