# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool in which first ranks of teams kill themselves, and then others of the team.

usage: pool_team_rank.py SERVERS DIRECTORY; the lead writes there what it saw. Five ranks run tasks.
"""

import os
import pathlib
import signal
import sys
import time

from mpi4py import MPI
from pool_lead import said, tell

import fluvial as fl

SERVERS, SEEN = int(sys.argv[1]), pathlib.Path(sys.argv[2])
LARGE = 200_000_000


def die():
    os.kill(os.getpid(), signal.SIGKILL)


@fl.parallel
def dies_in(comm, dead, name, size=1):
    """Have the ranks `dead` die the first time, one after the other; the rest return later."""
    rank = MPI.COMM_WORLD.rank
    before = SEEN / f"{name} {rank}"
    if rank in dead and not before.exists():
        before.touch()
        time.sleep(0.3 * dead.index(rank))
        die()
    if comm.rank > 0:
        time.sleep(0.3 * len(dead) + 0.2)
    return b"." * size


@fl.parallel
def rank_of_each(comm):
    return comm.gather(MPI.COMM_WORLD.rank)


def memory():
    """Return what this process has in memory, in bytes."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def lead(pool):
    everywhere = pool.with_options(ranks=5)
    first, *others = everywhere.submit(rank_of_each).result(30)
    on_others = [pool.with_options(near=rank, strict=True) for rank in others[:2]]
    before = [one.submit(memory).result(30) for one in on_others]
    kept = everywhere.with_options(keep="parts").submit(dies_in, [first], "parts", LARGE)
    told = [said(kept.exception(30)), said(kept.parts[2].exception(30))]
    deadline = time.monotonic() + 20
    for one, bytes_before in zip(on_others, before, strict=True):
        while one.submit(memory).result(30) - bytes_before > LARGE / 2:
            assert time.monotonic() < deadline, "a part of what has failed is still kept"
            time.sleep(0.05)
    left = pool.with_options(ranks=4).submit(rank_of_each).result(30)
    again = pool.with_options(ranks=(2, 4), retries=1).submit(dies_in, others[:2], "again")
    return [str(first), *told, str(left == others), str(len(again.result(30)))]


def main():
    tell(fl.Pool(stall_timeout=5, stuck_after=60, servers=SERVERS), lead, SEEN)


if __name__ == "__main__":
    main()
