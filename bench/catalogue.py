# SPDX-License-Identifier: Apache-2.0
"""The benches by name: each answers one question and lives in the folder of that name."""

from __future__ import annotations

CATALOGUE: dict[str, str] = {
    "stage": "How fast does a step get from a writer to a reader on the same host, beside SST?",
    "spill": "How fast do steps that overflow the queue go over a disk, beside bare files?",
    "network": "How fast does a step get to a reader by TCP, beside a bare socket?",
    "route": "How fast is a flow by several paths of a network, beside MPI's own message?",
    "kernels": "Do the reductions run at the speed of reading the same memory?",
    "scan": "How fast is a file reduced, beside MPI-IO, xarray, CDO, NCO and a bare loop?",
    "stream": "How fast do elements go from producers to consumers, beside plain MPI?",
    "collective": "What does computing inside the read gain over reading, then computing?",
}
