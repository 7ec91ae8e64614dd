# SPDX-License-Identifier: Apache-2.0
"""One rank of a job with helper ranks, of which one dies.

::

    python helper_ranks_rank.py VICTIM WHEN SEEN

Ranks 0 and 1 exchange, 2 and 3 help. The victim kills itself while it passes data on ("moving"),
or while the others compute ("idle"), or ("told") while the helpers are stopped, so that these hear
of it from rank 0 before they can see it. Each of the others writes what it was told to SEEN/rank-N.
"""

import os
import pathlib
import signal
import sys
import threading
import time

import numpy as np
from mpi4py import MPI

import fluvial as fl

COMM = MPI.COMM_WORLD
BYTES = 20_000_000
EXCHANGES = 1000


def die_later(begun: pathlib.Path) -> None:
    """Kill this process once the exchange to be hit has begun, or the pause before it."""
    while not begun.exists():
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGKILL)


def wait_while_alone(processes: list[int], begun: pathlib.Path) -> None:
    """Let the victim die, and the helpers sleep until its death has been told."""
    for helper in processes[2:]:
        os.kill(helper, signal.SIGSTOP)
        threading.Timer(3.0, os.kill, (helper, signal.SIGCONT)).start()
    begun.touch()
    time.sleep(1.0)


def exchange_on(
    helpers: fl.route.HelperRanks, when: str, begun: pathlib.Path, processes: list[int]
) -> None:
    """Exchange until somebody is missed."""
    plan = fl.route.plan("torus:4,bandwidth=1e8", [(0, 1), (1, 0)], "disjoint")
    data = {COMM.rank: np.zeros(BYTES, "u1")}
    for number in range(EXCHANGES):
        if number == 2 and when == "told":
            if COMM.rank == 0:
                wait_while_alone(processes, begun)
            else:
                time.sleep(60.0)  # the victim has not come when it dies
        elif number == 2:
            begun.touch()
            time.sleep(1.0 if when == "idle" else 0.0)
        helpers.exchange(plan, data, paths=2, window=16384, stall_timeout=20)


def main() -> None:
    """Be one rank."""
    victim, when, seen = int(sys.argv[1]), sys.argv[2], pathlib.Path(sys.argv[3])
    begun = seen.parent / "begun"
    if COMM.rank == victim:
        threading.Thread(target=die_later, args=(begun,), daemon=True).start()
    processes = COMM.allgather(os.getpid())
    told = "nothing"
    began = time.monotonic()
    try:
        with fl.route.HelperRanks(COMM, helps=COMM.rank > 1) as helpers:
            if helpers.helping:
                helpers.serve()
            else:
                exchange_on(helpers, when, begun, processes)
    except fl.Error as error:
        told = f"{type(error).__name__}: {error}"
    report = seen / f".rank-{COMM.rank}"  # appears under its name when it is whole
    report.write_text(f"{time.monotonic() - began:.3f}\n{told}")
    report.rename(seen / f"rank-{COMM.rank}")
    deadline = time.monotonic() + 30
    while len(list(seen.glob("rank-*"))) < COMM.size - 1 and time.monotonic() < deadline:
        time.sleep(0.05)  # a rank that ends now is no second victim
    os._exit(0)  # MPI_Finalize would wait for the dead


main()
