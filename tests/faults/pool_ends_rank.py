# SPDX-License-Identifier: Apache-2.0
"""One rank of a pool whose lead ends it while tasks run: each rank writes how it went on.

usage: pool_ends_rank.py HOW DIRECTORY
"""

import contextlib
import pathlib
import sys
import time

from mpi4py import MPI

import fluvial as fl

HOW, SEEN = sys.argv[1], pathlib.Path(sys.argv[2])


def tell(line):
    with open(SEEN / f"rank-{MPI.COMM_WORLD.rank}", "a") as file:
        file.write(f"{line}\n")


def busy(number, seconds=0.4):
    (SEEN / f"begun-{number}").touch()
    time.sleep(seconds)
    (SEEN / f"ended-{number}").touch()
    return number


@fl.parallel
def busy_together(comm, number):
    busy(f"{number}-{comm.rank}")
    comm.barrier()
    return comm.size


def submit_and_wait_for_begin(pool):
    """Return tasks of which two run, of one rank and of two, and six wait."""
    futures = [pool.with_options(ranks=2).submit(busy_together, 0)]
    futures += [pool.submit(busy, number) for number in range(1, 8)]
    while not (SEEN / "begun-1").exists() or not (SEEN / "begun-0-1").exists():
        time.sleep(0.005)
    return futures


def told_of(futures):
    """Return whether all futures are done, how many have a result, and how many were cancelled."""
    done = [future for future in futures if future.done()]
    cancelled = sum(future.cancelled() for future in done)
    results = sum(not f.cancelled() and f.exception() is None for f in done)
    return f"{done == futures} {results} {cancelled}"


def shut_down_and_cancel(pool):
    futures = submit_and_wait_for_begin(pool)
    pool.shutdown(cancel_futures=True)
    tell(told_of(futures))
    try:
        pool.submit(busy, 9)
    except fl.InvalidArgument as error:
        tell(error)


def shut_down_without_waiting(pool):
    futures = submit_and_wait_for_begin(pool)
    pool.shutdown(wait=False)
    tell(told_of(futures[:2]))
    for future in futures:
        future.result(timeout=30)
    tell(told_of(futures))


def raise_in_with(pool):
    futures = []
    try:
        with pool:
            futures += submit_and_wait_for_begin(pool)
            raise LookupError("the lead's own")
    finally:
        tell(told_of(futures))


def raise_with_a_task_that_never_ends(pool):
    futures = []
    try:
        with pool:
            futures += [pool.with_options(timeout=1).submit(busy, 0, 3)]
            while not (SEEN / "begun-0").exists():
                time.sleep(0.005)
            raise LookupError("the lead's own")
    finally:
        tell(type(futures[0].exception(timeout=0)).__name__)


def raise_and_leave(pool):
    submit_and_wait_for_begin(pool)
    raise LookupError("the lead's own")


def exit_and_leave(pool):
    submit_and_wait_for_begin(pool)
    sys.exit(3)


def shut_down_in_a_callback(pool):
    """It runs in the pool's own thread, which is not to wait for itself."""
    first = pool.submit(busy, 0, 0.05)
    others = [pool.submit(busy, number) for number in range(1, 8)]
    first.add_done_callback(lambda _: pool.shutdown())
    with contextlib.suppress(fl.InvalidArgument):
        while True:
            pool.submit(abs, 1)
            time.sleep(0.01)
    pool.shutdown()
    tell(told_of([first, *others]))


def main():
    pool = fl.Pool(stuck_after=20)
    if pool.leads:
        globals()[HOW](pool)
    else:
        tell("served")


if __name__ == "__main__":
    main()
