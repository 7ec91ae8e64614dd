# SPDX-License-Identifier: Apache-2.0
"""Run a Python program as one rank of a job.

::

    python python_program.py PROGRAM ARGUMENT …
    python python_program.py -m MODULE ARGUMENT …

As `python -m mpi4py` does: an exception that is not caught ends the whole job by MPI_Abort, instead
of leaving the other ranks in MPI_Finalize. But mpiexec ends all processes at once then, before what
this one has said of its end is read; so it waits a moment. This file imports nothing of Fluvial.
"""

import atexit
import os
import sys
import time

from mpi4py.run import main as run_program

_READ_S = 0.3  # in which what was printed is read by those that pass it on


def _wait_to_be_read() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    time.sleep(_READ_S)


def main() -> None:
    """Run the program that the command line names."""
    if not sys.flags.safe_path:
        sys.path[0] = os.getcwd()  # of a module; for a file it is the file's folder, later on
    try:
        run_program()
    except SystemExit as end:
        if end.code not in (None, 0):
            atexit.register(_wait_to_be_read)
        raise
    except BaseException:
        atexit.register(_wait_to_be_read)
        raise


if __name__ == "__main__":
    main()
