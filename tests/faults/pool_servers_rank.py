# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool of three servers, of which a rank dies: the lead writes what it saw.

usage: pool_servers_rank.py server|worker DIRECTORY
"""

import os
import pathlib
import signal
import sys
import time

from mpi4py import MPI
from pool_lead import said, tell

import fluvial as fl

VICTIM, SEEN = sys.argv[1], pathlib.Path(sys.argv[2])
# Of the 7 ranks 1 and 4 serve 2 and 3, and 5 and 6.


def kill(rank):
    if VICTIM == "worker":
        os.kill(os.getpid(), signal.SIGKILL)
    os.kill(int((SEEN / f"process-{rank}").read_text()), signal.SIGKILL)
    time.sleep(60)  # until the server's end is this rank's


def rank_after_a_while(_):
    time.sleep(0.01)
    return MPI.COMM_WORLD.rank


def lead(pool):
    victim = 4 if VICTIM == "server" else 5
    lost = pool.with_options(near=5, strict=True).submit(kill, victim)
    again = pool.with_options(near=6, retries=1, strict=False).submit(rank_after_a_while, 0)
    error = lost.exception(timeout=30)
    rest = sorted(set(pool.map(rank_after_a_while, range(40), timeout=30)))
    wide = pool.with_options(ranks=2).submit(fl.parallel(lambda comm: comm.size))
    return [said(error), str(again.result(30)), str(rest), str(wide.result(30))]


def main():
    (SEEN / f"process-{MPI.COMM_WORLD.rank}").write_text(str(os.getpid()))
    MPI.COMM_WORLD.Barrier()
    tell(fl.Pool(stall_timeout=2, stuck_after=3, servers=3), lead, SEEN)


if __name__ == "__main__":
    main()
