# SPDX-License-Identifier: Apache-2.0
"""Scans of which a rank is stopped, interrupted, or late: no other one waits for ever."""

import os
import signal
import threading
import time

import h5py
import numpy as np
import pytest
from harness import scenario, wait_until

LIMIT = 2.0  # the least
ROWS = 1000


def _file(where):
    """Write a file once, and return its path."""
    path = where / "x.h5"
    if not path.exists():
        new = where / f"new-{os.getpid()}.h5"
        with h5py.File(new, "w") as file:
            file["x"] = np.arange(ROWS * 4.0).reshape(ROWS, 4)
        new.rename(path)
    return path


def _sum(fl, path, comm, **options):
    with fl.open(path) as file:
        return float(file["x"].reduce("sum", comm=comm, **options))


def _told(fl, work):
    """Return what a call ends with: its result, or the error's type, text and how long it took."""
    begin = time.monotonic()
    try:
        return work()
    except fl.Error as error:
        return type(error).__name__, str(error), time.monotonic() - begin


@scenario("job on 4 ranks", timeout=120)
class test_a_rank_that_is_stopped:
    """A rank is stopped before a scan to which the others have come."""

    def job(comm, fl, where):
        path = _file(where)
        total = _sum(fl, path, comm)  # the ranks know each other
        time.sleep(1.5)  # so that beats were heard
        comm.Barrier()
        if comm.rank == 3:
            (where / "stop me").touch()
            wait_until((where / "it was stopped").exists, timeout=60)
        told = _told(fl, lambda: _sum(fl, path, comm, stall_timeout=LIMIT))
        (where / f"told {comm.rank}").touch()
        wait_until(lambda: all((where / f"told {rank}").exists() for rank in range(4)), timeout=60)
        return told, _sum(fl, path, comm, stall_timeout=LIMIT) == total

    def check(jobs):
        job = jobs.start("job")
        wait_until((jobs.where / "stop me").exists, timeout=60, what="the first scan")
        pid = job.pid(3)
        job.signal(signal.SIGSTOP, rank=3)
        others = [jobs.where / f"told {rank}" for rank in range(3)]
        wait_until(lambda: all(file.exists() for file in others), timeout=40, what="the error")
        (jobs.where / "it was stopped").touch()
        job.signal(signal.SIGCONT, rank=3)
        for (kind, message, took), again in jobs.finish()["job"]:
            assert kind == "PeerStalled"
            assert f"rank 3 of 4: process {pid} on " in message
            assert f"stall_timeout={LIMIT:g} s" in message
            assert took < 30
            assert again  # the ranks are together again


@scenario("job on 2 ranks", timeout=90)
class test_a_rank_that_is_interrupted:
    """Ctrl-C on one rank ends the scan of the others, which run, and may come late."""

    def job(comm, fl, where):
        path = _file(where)
        total = _sum(fl, path, comm)
        if comm.rank == 0:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
            with pytest.raises(KeyboardInterrupt):
                _sum(fl, path, comm)
            (where / "interrupted").touch()
            told = None
        else:
            wait_until((where / "interrupted").exists, timeout=40)
            told = _told(fl, lambda: _sum(fl, path, comm))
        return told, _sum(fl, path, comm) == total

    def check(jobs):
        (_, first), ((_, message, took), again) = jobs.finish()["job"]
        assert "rank 0 of 2" in message
        assert took < 5
        assert first
        assert again


@scenario("job on 3 ranks", timeout=90)
class test_a_rank_that_is_late:
    """It is waited for, longer than any limit, as long as it runs."""

    def job(comm, fl, where):
        path = _file(where)
        if comm.rank == 1:
            end = time.monotonic() + 1.6 * LIMIT
            while time.monotonic() < end:  # and keeps Python's lock
                pass
        return _sum(fl, path, comm, stall_timeout=LIMIT)

    def check(jobs):
        assert jobs.finish()["job"] == [sum(range(ROWS * 4))] * 3


@scenario("job on 2 ranks", timeout=60)
class test_an_error_in_an_independent_scan:
    """It is that rank's alone: the other one is right, though it is still at it."""

    def job(comm, fl, where):
        def fails(x):
            raise LookupError("no such thing")

        def takes_long(x):
            time.sleep(1.0)  # longer than the time between two looks
            return x >= 0

        with fl.open(_file(where)) as file:
            chosen = file["x"].where(fails if comm.rank == 0 else takes_long)
            try:
                return float(chosen.reduce("sum", comm=comm, mode="independent"))
            except LookupError as error:
                return str(error)

    def check(jobs):
        assert jobs.finish()["job"] == ["no such thing", sum(range(ROWS * 4))]


@scenario("job on 2 ranks", timeout=60)
class test_a_limit_that_is_too_short:
    def job(comm, fl, where):
        path = _file(where)
        limit = 0.5 if comm.rank == 1 else 10
        return _told(fl, lambda: _sum(fl, path, comm, stall_timeout=limit))

    def check(jobs):
        for kind, message, _ in jobs.finish()["job"]:
            assert kind == "InvalidArgument"
            assert "stall_timeout is out of range: got 0.5 s; allowed: 2 s or more" in message
