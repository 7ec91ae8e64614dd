# SPDX-License-Identifier: Apache-2.0
"""The end of a job that has lost ranks."""

from __future__ import annotations

import atexit
import functools
import os
import sys


@functools.cache
def abort_at_exit() -> None:
    """Have this process abort the job when it exits: MPI_Finalize would wait for lost ranks."""
    process = os.getpid()

    def abort() -> None:
        from mpi4py import MPI

        if os.getpid() != process:  # a child by fork(): the job is its parent's
            return
        if MPI.Is_initialized() and not MPI.Is_finalized():
            print("fluvial: a rank of a pool was lost; ending the MPI job", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            MPI.COMM_WORLD.Abort(1)
            os._exit(1)

    atexit.register(abort)
