# SPDX-License-Identifier: Apache-2.0
"""Scans whose ranks are on two hosts, in a cluster in a box."""

import os
import signal
import time

import h5py
import numpy as np
import pytest
from harness import scenario, wait_until

LIMIT = 2.0
SHAPE = (1000, 4)


def _sum(fl, path, comm):
    with fl.open(path) as file:
        return float(file["x"].reduce("sum", comm=comm, stall_timeout=LIMIT))


def _files(where, ranks):
    return [where / f"told {rank}" for rank in ranks]


@pytest.mark.parametrize("what", ["stopped", "cut off"])
@scenario("job on 4 ranks of hosts 1-2", timeout=120)
class test_of_a_scan_a_rank_does_not_answer:
    """Ranks 2 and 3 are on the second host; of a stopped rank those on the first are told."""

    def job(comm, fl, where, what):
        path = where / "x.h5"
        if comm.rank == 0:
            with h5py.File(path, "w") as file:
                file["x"] = np.ones(SHAPE)
        comm.Barrier()
        assert _sum(fl, path, comm) == np.prod(SHAPE)
        time.sleep(2.5)  # so that beats were heard
        with fl.open(path) as file:
            # It has begun everywhere: MPI cannot be told to give up a communicator half made.
            scan = file["x"].start("sum", comm=comm, stall_timeout=LIMIT)
            comm.Barrier()
            if comm.rank == 3:
                (where / "now").touch()
                wait_until((where / "done").exists, timeout=60)
            begin = time.monotonic()
            try:
                told = str(scan.wait())
            except fl.PeerStalled as error:
                told = str(error)
            took = time.monotonic() - begin
        (where / f"told {comm.rank}").touch()
        wait_until((where / "mended").exists, timeout=60)
        if what == "cut off":
            os._exit(0)  # MPI may have given up the connection
        return told, took

    def check(jobs, what):
        job = jobs.start("job", what=what)
        wait_until((jobs.where / "now").exists, timeout=60, what="the first scan")
        if what == "stopped":
            job.signal(signal.SIGSTOP, rank=3)
        else:
            jobs.box.unplug(2)
        (jobs.where / "done").touch()
        alive = range(4 if what == "cut off" else 3)
        wait_until(
            lambda: all(file.exists() for file in _files(jobs.where, alive)),
            timeout=40,
            what="the error",
        )
        if what == "stopped":
            job.signal(signal.SIGCONT, rank=3)
        else:
            jobs.box.plug_in(2)
        (jobs.where / "mended").touch()
        if what == "cut off":
            jobs.outcome("job")
            return
        for told, took in jobs.finish()["job"]:
            assert "rank 3 of 4: process " in told
            assert took < 30
