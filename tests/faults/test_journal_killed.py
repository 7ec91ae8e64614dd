# SPDX-License-Identifier: Apache-2.0
"""kill -9 of a program whose pool has a journal: what was reported as finished is not lost."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from fluvial.flow.journal import Journal
from fluvial.launch import Launcher
from harness import wait_until
from harness.kills import KILLS, TAKES_S

PROGRAM = pathlib.Path(__file__).with_name("journal_program.py")

IN_A_JOB = """
import pathlib, sys, time
import fluvial as fl

def run(folder, number):
    (folder / f"ran-{number}").touch()
    time.sleep(0.02)
    return number

folder = pathlib.Path(sys.argv[1])
with fl.Pool(journal=folder / "journal") as pool:
    if pool.leads:
        keyed = pool.with_options(key="{1}".format)
        futures = [keyed.submit(run, folder, number) for number in range(40)]
        for number, future in enumerate(futures):
            assert future.result() == number
            (folder / f"told-{number}").touch()
"""


@pytest.mark.timeout(300 + TAKES_S)
def test_killed_at_any_moment(tmp_path, seed):
    seeds = [str(seed + further) for further in range(KILLS)]
    argv = [sys.executable, str(PROGRAM), str(tmp_path), *seeds]
    ended = subprocess.run(argv, capture_output=True, text=True, timeout=280 + TAKES_S, check=False)
    assert ended.returncode == 0, ended.stderr
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    assert len(told) == KILLS
    assert [one for one in told if one["again"] or not one["right"]] == []
    assert sum(one["told"] for one in told) > 10 * KILLS  # many had finished
    assert any(one["told"] < 60 for one in told)  # and not always all


def test_where_no_file_can_be_mapped_as_shared(tmp_path, seed):
    """As on some network file systems; here the system call is what refuses."""
    library = tmp_path / "no_shared_mappings.so"
    source = PROGRAM.with_name("no_shared_mappings.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    folder = tmp_path / "folder"
    folder.mkdir()
    there = os.environ | {"LD_PRELOAD": str(library), "NO_SHARED_MAPPINGS": str(folder)}
    maps = "import mmap, sys; f = open(sys.argv[1], 'wb+'); f.truncate(1); mmap.mmap(f.fileno(), 1)"
    refused = subprocess.run(
        [sys.executable, "-c", maps, str(folder / "mapped")],
        env=there,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "OSError: [Errno 19]" in refused.stderr
    argv = [sys.executable, str(PROGRAM), str(folder), str(seed), str(seed + 1)]
    done = subprocess.run(argv, env=there, capture_output=True, text=True, timeout=90, check=True)
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(told) == 2
    assert [one for one in told if one["again"] or not one["right"]] == []


@pytest.mark.any_mpi
def test_all_ranks_of_a_job(tmp_path):
    launcher = Launcher.detect()
    argv = [sys.executable, "-c", IN_A_JOB, str(tmp_path)]
    with launcher.start(3, argv, timeout=60) as job:
        wait_until(lambda: (tmp_path / "told-10").exists(), timeout=50, what="ten results")
        job.signal(9)
        assert job.wait(30) != 0
    told = {mark.name[5:] for mark in tmp_path.glob("told-*")}
    assert len(told) < 40
    journal = Journal(tmp_path / "journal")
    assert not [number for number in told if number not in journal]
    journal.close()
    for mark in tmp_path.glob("ran-*"):
        mark.unlink()
    with launcher.start(3, argv, timeout=60) as job:
        assert job.wait(60) == 0
    assert not told & {mark.name[4:] for mark in tmp_path.glob("ran-*")}
