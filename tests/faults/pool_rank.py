# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool whose rank VICTIM kills itself in a task: the lead writes what it saw.

usage: pool_rank.py VICTIM DIRECTORY [--lead-works]
"""

import os
import pathlib
import signal
import sys
import time

from mpi4py import MPI
from pool_lead import said, tell

import fluvial as fl

VICTIM, SEEN = int(sys.argv[1]), pathlib.Path(sys.argv[2])


def die_on(rank):
    if MPI.COMM_WORLD.rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    return MPI.COMM_WORLD.rank


def lead(pool):
    at_victim = pool.with_options(near=VICTIM, strict=True)
    lost = at_victim.submit(die_on, VICTIM).exception(timeout=30)
    again = pool.with_options(retries=1).submit(die_on, -1).result(timeout=30)
    rest = sorted(set(pool.map(lambda _: (time.sleep(0.01), MPI.COMM_WORLD.rank)[1], range(20))))
    wide = pool.with_options(ranks=pool.workers)
    try:
        too_wide = wide.submit(fl.parallel(lambda comm: comm.size)).exception(timeout=30)
    except fl.Error as error:
        too_wide = error
    return [said(lost), str(again != VICTIM), str(rest), type(too_wide).__name__]


def main():
    pool = fl.Pool(stall_timeout=2, stuck_after=3, lead_works="--lead-works" in sys.argv)
    tell(pool, lead, SEEN)


if __name__ == "__main__":
    main()
