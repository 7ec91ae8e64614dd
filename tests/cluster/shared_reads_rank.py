# SPDX-License-Identifier: Apache-2.0
"""A rank of a reader that reads a whole step: ``shared_reads_rank.py NAME FOLDER``.

It touches begun-RANK in the folder, with its process in it, and writes what it got to read-RANK.
"""

import json
import os
import pathlib
import sys

from cluster.test_shared_reads import TIMES, is_right
from mpi4py import MPI

import fluvial as fl


def main() -> None:
    """Read one step."""
    name, where = sys.argv[1], pathlib.Path(sys.argv[2])
    rank = MPI.COMM_WORLD.rank
    series = fl.open(name, comm=MPI.COMM_WORLD, **TIMES)
    step = series.next()
    MPI.COMM_WORLD.Barrier()
    (where / f"begun-{rank}").write_text(str(os.getpid()))
    right = is_right(step["x"].read(), 0)
    stats = series.stats
    told = [right, stats["bytes_received"], stats["bytes_from_neighbours"]]
    half = where / f"half-{rank}"
    half.write_text(json.dumps(told))
    half.rename(where / f"read-{rank}")
    os._exit(0)  # with a rank that died MPI_Finalize would not return


main()
