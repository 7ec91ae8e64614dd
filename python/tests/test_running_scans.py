# SPDX-License-Identifier: Apache-2.0
"""Scans of files while they run: tests of them, threads, Ctrl-C, and ends before their time."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import xarray as xr
from reading_files.climate import climate, same, write

import fluvial as fl


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(climate(), tmp_path_factory.mktemp("files") / "t.nc")


@pytest.fixture(scope="module")
def ours(path):
    with fl.open(path) as file:
        yield file


def test_ctrl_c_ends_a_scan(path):
    program = (
        "import fluvial as fl, os, signal, threading, time\n"
        "def slow(u):\n"
        "    time.sleep(0.05)\n"
        "    return u > 0\n"
        f"t = fl.open({path!r})['temperature']\n"
        # What is imported by and by: Python 3.11 ends a process by the signal when that comes
        # while modules run code of theirs from a string, though it was caught.
        "t.reduce('mean', over='time')\n"
        "t = t.where(slow)\n"
        "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
        "begin = time.monotonic()\n"
        "try:\n"
        "    for _ in range(1000):\n"
        "        t.reduce('mean', over='time')\n"
        "except KeyboardInterrupt:\n"
        "    print('ended' if time.monotonic() - begin < 5 else 'late')\n"
    )
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "ended\n"


def test_non_blocking(ours, path):
    with xr.open_dataset(path) as dataset:
        t = dataset["temperature"].load().astype("f8")
    pending = ours["temperature"].start("mean", over="time", threads=2, buffer="64 KiB")
    while not pending.test():
        assert 0 <= pending.progress <= 1
    same(pending.wait(), t.mean("time"))
    assert pending.wait() is pending.wait()
    assert pending.progress == 1
    assert pending.stats["bytes_read"] > 0
    assert pending.stats["elements"] == t.size


def test_little_memory_leaves_one_thread(ours):
    def threads_of(**options):
        seen = set()

        def note(values):
            seen.add(threading.get_ident())
            return values > -1e9

        ours["temperature"].where(note).reduce("mean", threads=8, buffer="4 KiB", **options)
        return len(seen)

    assert threads_of(memory="1 KiB") == 1
    assert threads_of(info={"fluvial_memory": "1024"}) == 1
    for info in [{"fluvial_memory": "much"}, {"cb_nodes": 0}, {"fluvial_threads": "-3"}]:
        with pytest.raises(fl.InvalidArgument, match=f"hint {next(iter(info))} makes no sense"):
            threads_of(info=info)


def test_an_abandoned_scan_ends(ours):
    pending = ours["temperature"].start(fl.ops.Apply(np.abs, "mean"))
    del pending


def test_a_program_may_end_while_a_scan_runs(path):
    program = (
        "import fluvial as fl, time\n"
        f"t = fl.open({path!r})['temperature'].where(lambda t: time.sleep(0.02) or t > 0)\n"
        "pending = t.start('mean', threads=2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
