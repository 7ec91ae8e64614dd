# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool whose rank 2 kills itself while others want what it keeps.

Then rank 3 does, in a task that has been cancelled.

usage: pool_keeping_rank.py DIRECTORY; the lead writes there what it saw
"""

import contextlib
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


def die_when_cancelled():
    with contextlib.suppress(fl.TaskCancelled):
        time.sleep(60)
    die_later()


def rank_here(*_):
    return MPI.COMM_WORLD.rank


@fl.parallel
def rank_of_each(comm, *_):
    return MPI.COMM_WORLD.rank


def lead(pool):
    at_victim = pool.with_options(near=VICTIM, strict=True)
    keeping = at_victim.with_options(keep=True)
    made = keeping.submit(make)
    safe = pool.with_options(keep=True, near=1, strict=True).submit(make)
    assert pool.with_options(near=1, strict=True).submit(rank_here, made).result(30) == 1
    two = pool.with_options(ranks=2)
    parts = two.with_options(near=VICTIM, keep="parts").submit(rank_of_each)
    assert two.submit(rank_of_each, fl.own_part(parts)).result(30) in (1, 2)
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
    told += [said(part.exception(30) or failure_of(part)) for part in parts.parts]
    told.append(said(two.submit(rank_of_each, fl.own_part(parts)).exception(30)))
    left = {pool.with_options(near=rank).submit(rank_here, safe).result(30) for rank in (1, 3)}
    told += [str(left), str(len(safe.result(30)))]
    cancelled = pool.with_options(near=3, strict=True).submit(die_when_cancelled)
    while not cancelled.running():
        time.sleep(0.001)
    assert cancelled.cancel(running=True)
    told.append(said(pool.with_options(near=3, strict=True).submit(rank_here).exception(30)))
    assert pool.submit(rank_here).result(30) == 1
    return told


def failure_of(part):
    """Return what is raised when a part is asked for, or the rank that made it."""
    try:
        return part.result(30)
    except fl.Error as error:
        return error


def main():
    tell(fl.Pool(stall_timeout=5, stuck_after=3), lead, SEEN)


if __name__ == "__main__":
    main()
