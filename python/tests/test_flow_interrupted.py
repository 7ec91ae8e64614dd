# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C in the `with` block of a pool cancels its tasks; other exceptions wait for them."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from fluvial.flow.serving_thread import ServingThread
from fluvial.launch import Launcher
from harness import wait_until

import fluvial as fl

PROGRAM = """
import faulthandler
faulthandler.dump_traceback_later(45, exit=True)
import os, pathlib, signal, sys, threading, time
import fluvial as fl

signal.signal(signal.SIGINT, signal.default_int_handler)

def waits(begun):
    begun.touch()
    while not fl.task_cancelled():
        time.sleep(0.01)

def interrupt(begun):
    while not begun.exists():
        time.sleep(0.01)
    times.append(time.monotonic())
    while not over.is_set():  # Python drops one that comes while it finalizes an object
        os.kill(os.getpid(), signal.SIGINT)
        over.wait(15)

over = threading.Event()
workers, where, begun, times = int(sys.argv[1]) or None, sys.argv[2], pathlib.Path(sys.argv[3]), []
try:
    with fl.Pool(workers) as whole:
        pool = whole.with_options(priority=1) if where == "options" else whole
        if whole.leads:
            futures = [pool.submit(waits, begun)]
            futures += [pool.submit(time.sleep, 0.2) for _ in range(1000)]  # 100 s on two ranks
            threading.Thread(target=interrupt, args=[begun]).start()
            if where == "result":
                futures[-1].result()
            elif where == "options":
                with pool:
                    futures[-1].result()
            elif where == "map":
                list(pool.map(time.sleep, [0.2] * 1000))
except KeyboardInterrupt:
    over.set()
    took = time.monotonic() - times[0]
    cancelled = sum(future.cancelled() for future in futures)
    print(cancelled >= 900, all(future.done() for future in futures), took < 30)
"""


@pytest.mark.any_mpi
@pytest.mark.parametrize(
    ("ranks", "workers", "where"),
    [
        (1, 0, "result"),
        (1, 0, "exit"),
        (1, 0, "map"),
        (1, 0, "options"),
        (1, 2, "result"),
        (1, 2, "exit"),
        (3, 0, "result"),
        (3, 0, "exit"),
    ],
)
def test_ctrl_c_cancels_what_waits_and_what_runs(ranks, workers, where, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    words = [sys.executable, str(program), str(workers), where, str(tmp_path / "begun")]
    if ranks > 1:
        words = Launcher.detect().command(ranks, words)
    environment = Launcher.detect().environment()
    ran = subprocess.run(words, env=environment, timeout=60, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, "True True True"), ran.stderr


MAKES_A_POOL = """
import os, signal, threading, time
from mpi4py import MPI
import fluvial as fl

signal.signal(signal.SIGINT, signal.default_int_handler)
comm = MPI.COMM_WORLD
begin = time.monotonic()
if comm.rank == 0:
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    fl.Pool(comm=comm, initializer=time.sleep, initargs=(1000,))
except KeyboardInterrupt:
    print(time.monotonic() - begin < 20, flush=True)
    os._exit(1)  # the other rank still sleeps
"""


@pytest.mark.any_mpi
def test_ctrl_c_ends_the_wait_for_an_initializer(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(MAKES_A_POOL)
    words = Launcher.detect().command(2, [sys.executable, str(program)])
    environment = Launcher.detect().environment()
    ran = subprocess.run(words, env=environment, timeout=60, capture_output=True, text=True)
    assert ran.stdout.strip() == "True", ran.stderr


def test_a_lock_that_ctrl_c_has_left_taken_does_not_keep_a_pool_from_ending():
    """As Ctrl-C leaves it that comes when Python has just taken a future's lock."""
    with fl.Pool() as pool:
        futures = [pool.submit(time.sleep, 0.01) for _ in range(20)]
        for future in futures:
            future.result()
        holder = threading.Thread(target=futures[-1]._condition.acquire)
        holder.start()
        holder.join()
        asked = []
        asking = threading.Thread(target=lambda: asked.append(futures[-1].done()), daemon=True)
        asking.start()
        asking.join(20)
        assert asked == [True]


@pytest.mark.parametrize("workers", [None, 2], ids=["own process", "two ranks"])
def test_other_exceptions_wait_for_the_tasks(workers):
    with pytest.raises(LookupError), fl.Pool(workers) as pool:
        futures = [pool.submit(pow, i, 2) for i in range(20)]
        raise LookupError
    assert [future.result() for future in futures] == [i * i for i in range(20)]


@pytest.mark.any_mpi
@pytest.mark.parametrize("workers", [None, 2], ids=["own process", "two ranks"])
@pytest.mark.parametrize("cancel_futures", [True, "running"])
def test_a_pool_ends_whose_tasks_are_cancelled(workers, cancel_futures):
    pool = fl.Pool(workers)
    running = pool.submit(time.sleep, 0.5)
    wait_until(running.running)
    waiting = [pool.submit(time.sleep, 0.5) for _ in range(100)]
    pool.shutdown(cancel_futures=cancel_futures)
    assert running.cancelled() == (cancel_futures == "running")
    assert sum(future.cancelled() for future in waiting) >= 90
    _, others = concurrent.futures.wait([running, *waiting], timeout=0)
    assert not others


def _abandon_map(pool, running):
    with pytest.raises(TimeoutError):
        list(pool.map(time.sleep, [0.5] * 2500, timeout=0))


def _shut_down(pool, running):
    waiting = [pool.submit(time.sleep, 0.5) for _ in range(2500)]
    pool.shutdown(cancel_futures=True)
    assert running.result() is None
    assert sum(future.cancelled() for future in waiting) > 2000
    assert all(future.done() for future in waiting)


@pytest.mark.parametrize("cancel", [_shut_down, _abandon_map])
def test_the_job_of_a_pool_is_asked_for_many_tasks_at_once(cancel, monkeypatch):
    with fl.Pool(1) as pool:
        running = pool.submit(time.sleep, 0.5)
        wait_until(running.running)
        ask, asked = pool._core._ask, []

        def note(word, about):
            asked.append(word)
            return ask(word, about)

        monkeypatch.setattr(pool._core, "_ask", note)
        cancel(pool, running)
    assert asked.count("cancel") >= 3  # of a thousand tasks each
    # The one that runs, which might be tried again, is asked for whenever the pool is looked at.
    assert len(asked) < 500


def test_what_is_to_be_cancelled_is_one_of_three():
    with fl.Pool() as pool:
        message = "unknown cancel_futures: got 'all'; allowed: False, True, 'running'"
        with pytest.raises(fl.InvalidArgument, match=message):
            pool.shutdown(cancel_futures="all")
        assert pool.submit(abs, -1).result() == 1


def test_a_rank_that_is_lost_does_not_stand_for_ctrl_c():
    with pytest.raises(KeyboardInterrupt) as raised, fl.Pool(1) as pool:
        died = pool.submit(os._exit, 1)
        assert isinstance(died.exception(timeout=60), fl.PeerLost)
        raise KeyboardInterrupt
    assert raised.value.__notes__[0].startswith("PeerLost: ")


def test_a_wait_that_ctrl_c_broke_off_goes_on():
    seconds = 3.0
    begin = time.monotonic()
    thread = ServingThread(lambda: time.sleep(seconds), core=object())
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(KeyboardInterrupt):
            thread.wait()
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert time.monotonic() - begin < seconds
    thread.wait()
    assert time.monotonic() - begin >= seconds
