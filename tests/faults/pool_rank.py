# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool whose rank VICTIM kills itself in a task: the lead writes what it saw.

usage: pool_rank.py VICTIM DIRECTORY [--lead-works] [--within-message]
"""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import numpy as np
from mpi4py import MPI
from pool_lead import said, tell

import fluvial as fl

VICTIM, SEEN = int(sys.argv[1]), pathlib.Path(sys.argv[2])
PROCESSES = MPI.COMM_WORLD.allgather(os.getpid())


def die_on(rank):
    if MPI.COMM_WORLD.rank == rank:
        os.kill(os.getpid(), signal.SIGKILL)
    return MPI.COMM_WORLD.rank


def die_within_message(rank):
    """Return what is too long for the lead, which is stopped, to have it before this rank dies."""
    os.kill(PROCESSES[0], signal.SIGSTOP)
    subprocess.Popen(["sh", "-c", f"sleep 0.8; kill -CONT {PROCESSES[0]}"])
    threading.Timer(0.3, die_on, (rank,)).start()
    return np.ones(500_000)


def lead(pool):
    die = die_within_message if "--within-message" in sys.argv else die_on
    at_victim = pool.with_options(near=VICTIM, strict=True)
    lost = at_victim.submit(die, VICTIM).exception(timeout=30)
    if die is die_within_message:
        time.sleep(6)  # what MPI says of the message does not end the pool later either
    again = pool.with_options(retries=1).submit(die_on, -1).result(timeout=30)
    rest = sorted(set(pool.map(lambda _: (time.sleep(0.01), MPI.COMM_WORLD.rank)[1], range(20))))
    too_late = at_victim.submit(die_on, -1).exception(timeout=30)
    assert isinstance(too_late, fl.PeerLost), too_late
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
