# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool whose rank 2 kills itself while others want what it keeps.

usage: pool_keeping_rank.py DIRECTORY; the lead writes there what it saw
"""

import os
import pathlib
import signal
import sys
import time

from mpi4py import MPI
from pool_lead import said, tell

import fluvial as fl

VICTIM, SEEN = 2, pathlib.Path(sys.argv[1])


def make():
    return b"." * 1_000_000


def die_later():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGKILL)


def rank_here(*_):
    return MPI.COMM_WORLD.rank


def lead(pool):
    at_victim = pool.with_options(near=VICTIM, strict=True)
    keeping = at_victim.with_options(keep=True)
    made = keeping.submit(make)
    safe = pool.with_options(keep=True, near=1, strict=True).submit(make)
    assert pool.with_options(near=1, strict=True).submit(rank_here, made).result(30) == 1
    dies = at_victim.submit(die_later)
    while not dies.running():
        time.sleep(0.001)
    waits = pool.with_options(near=3, strict=True).submit(rank_here, made)
    told = [said(waits.exception(30)), said(dies.exception(30))]
    told.append(said(pool.submit(rank_here, made).exception(30)))
    try:
        made.result(30)
    except fl.Error as error:
        told.append(said(error))
    left = {pool.with_options(near=rank).submit(rank_here, safe).result(30) for rank in (1, 3)}
    return [*told, str(left), str(len(safe.result(30)))]


def main():
    tell(fl.Pool(stall_timeout=5, stuck_after=3), lead, SEEN)


if __name__ == "__main__":
    main()
