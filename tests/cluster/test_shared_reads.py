# SPDX-License-Identifier: Apache-2.0
"""Ranks of a reader that share a host: what several want crosses the network once."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from faults.roles import SHORT
from faults.traces import stream_name
from fluvial.launch import Launcher
from harness import scenario, wait_until
from harness.box import NoBox
from harness.rails import join_by_networks

import fluvial as fl

NUMBERS = 1_000_000
"""Of 8 bytes in a chunk; a step has four."""
ARRAY = 4 * 8 * NUMBERS
PACE = 8e6
"""Bytes per second of a slow cable, on which a step takes four seconds."""
TIMES = {**SHORT, "stall_timeout": 8}
PROGRAM = pathlib.Path(__file__).with_name("shared_reads_rank.py")
# Launchers end a job when one of their children dies, so each rank is the child of a shell.
SHELL = """
"$@"
for _ in $(seq 300); do [ -e "$SEEN/enough" ] && exit; sleep 0.1; done
"""


def array(step):
    return np.random.default_rng(step).random((4, NUMBERS))


def is_right(values, step, part=np.s_[:, :]):
    return bool((np.asarray(values) == array(step)[part]).all())


def write(comm, fl, where, steps=3, **options):
    rank, size = (comm.rank, comm.size) if comm else (0, 1)
    with fl.open(stream_name(where), "w", comm=comm, **{**TIMES, **options}) as series:
        for index in range(steps):
            mine = array(index)
            with series.step() as step:
                for row in range(rank, 4, size):
                    step.put("x", mine[row : row + 1], offset=(row, 0), shape=(4, NUMBERS))


def read(comm, fl, where, parts=(np.s_[:, :],), **options):
    """Read a part of each step; return bytes over the network, and from neighbours."""
    with fl.open(stream_name(where), comm=comm, **{**TIMES, **options}) as series:
        for index, step in enumerate(series):
            part = parts[(comm.rank + index) % len(parts)]
            assert is_right(step["x"][part], index, part)
        return series.stats["bytes_received"], series.stats["bytes_from_neighbours"]


def crossed(jobs, steps, **options):
    """Run the jobs; return what crossed the cable, in arrays a step, and what ranks say."""
    jobs.start("writer", steps=steps)
    jobs.start("reader", **options)
    told = jobs.finish()["reader"]
    return jobs.box.sent_bytes(1) / (ARRAY * steps), told


@scenario("writer on 2 ranks of host 1, reader on 3 ranks of host 2", writer=write, reader=read)
def test_three_ranks_read_all(jobs):
    arrays, told = crossed(jobs, steps=5)
    assert 1 <= arrays < 1.3
    assert all(received + shared == 5 * ARRAY for received, shared in told)
    assert sum(received for received, _ in told) <= arrays * 5 * ARRAY


@pytest.mark.one_mpi
@scenario("writer on 1 rank of host 1, reader on 3 ranks of host 2", writer=write, reader=read)
def test_each_for_itself(jobs, monkeypatch):
    """By the option, and by the environment."""
    arrays, told = crossed(jobs, steps=1, fetch="each")
    assert arrays >= 3
    assert told == [(ARRAY, 0)] * 3
    monkeypatch.setenv("FLUVIAL_FETCH", "each")
    before = jobs.box.sent_bytes(1)
    assert crossed(jobs, steps=1)[1] == told
    assert jobs.box.sent_bytes(1) - before >= 3 * ARRAY


def test_a_choice_that_there_is_not(tmp_path):
    with pytest.raises(fl.InvalidArgument, match=r"fetch.*'twice'.*'once', 'each'"):
        fl.open("any", fetch="twice", directory=tmp_path)


@pytest.mark.one_mpi
@scenario("writer on 1 rank of host 1, reader on 3 ranks of host 2", writer=write, reader=read)
def test_encrypted_data_is_shared(jobs):
    jobs.start("writer", encrypt=True)
    jobs.start("reader")
    told = jobs.finish()["reader"]
    assert all(received + shared == 3 * ARRAY for received, shared in told)
    assert jobs.box.sent_bytes(1) < 1.3 * 3 * ARRAY


@pytest.mark.one_mpi
@scenario("writer on 1 rank of host 1, reader on 3 ranks of host 2", writer=write, reader=read)
def test_data_by_libfabric_is_shared(jobs):
    jobs.start("writer")
    jobs.start("reader", transport="libfabric:tcp;ofi_rxm")
    told = jobs.finish()["reader"]
    assert all(received + shared == 3 * ARRAY for received, shared in told)
    assert jobs.box.sent_bytes(1) < 1.3 * 3 * ARRAY


@pytest.mark.one_mpi
@scenario("writer on 1 rank of host 1, reader on 3 ranks of host 2", writer=write, reader=read)
def test_parts_that_overlap(jobs):
    """Rows in common cross once; columns that differ do not help each other, and are right."""
    rows = [np.s_[0:3, :], np.s_[1:4, :], np.s_[1:3, 100:900_000]]
    arrays, told = crossed(jobs, steps=6, parts=rows)
    assert 1 <= arrays < 2
    assert sum(shared for _, shared in told) > 0
    columns = [np.s_[:, :700_000:3], np.s_[2, 5:400_001], np.s_[:, 300_000:]]
    crossed(jobs, steps=6, parts=columns)


@pytest.mark.one_mpi
@scenario("writer on 1 rank of host 1, reader on 3 ranks of host 2", writer=write, reader=read)
def test_parts_that_differ(jobs):
    parts = [np.s_[0, :], np.s_[1, :], np.s_[2:4, :]]
    arrays, told = crossed(jobs, steps=8, parts=parts)
    assert 1 <= arrays < 1.3
    assert [shared for _, shared in told] == [0, 0, 0]


@scenario(
    "writer on 4 ranks of hosts 1-2, reader on 5 ranks of hosts 2-3", writer=write, reader=read
)
def test_ranks_on_the_hosts_of_a_writer(jobs):
    """Those beside some of the data share what they do not have there."""
    told = jobs.finish()["reader"]
    sums = [received + shared for received, shared in told]
    assert sums == 3 * [3 * ARRAY / 2] + 2 * [3 * ARRAY]
    assert 1.5 <= sum(received for received, _ in told) / (3 * ARRAY) < 1.8


SMALL = 40_000
"""Numbers of an array that would come along with its step."""


@pytest.mark.one_mpi
@scenario("writer on 1 rank of host 1, reader on 3 ranks of host 2")
class test_data_that_comes_along_with_steps:
    """Not where ranks want the same: it would come for each of them."""

    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", **TIMES) as series:
            for index in range(40):
                with series.step() as step:
                    step.put("x", np.arange(SMALL) + index)

    def reader(comm, fl, where):
        with fl.open(stream_name(where), comm=comm, **TIMES) as series:
            for index, step in enumerate(series):
                assert (step["x"].read() == np.arange(SMALL) + index).all()
                comm.Barrier()

    def check(jobs):
        jobs.finish()
        assert jobs.box.sent_bytes(1) < 1.5 * 40 * 8 * SMALL


def write_one_and_stay(comm, fl, where):
    """Put one step, and stay: a writer does not wait for a reader that has lost a rank."""
    with fl.open(stream_name(where), "w", **TIMES) as series:
        with series.step() as step:
            step.put("x", array(0))
        wait_until((where / "enough").exists, timeout=80)


def three_ranks(jobs):
    """Start ranks that survive one of them, on a slow cable; return the process of rank 0."""
    try:
        join_by_networks(jobs.box, PACE, ["eth0"])
    except NoBox as error:
        pytest.skip(str(error))
    jobs.start("writer")
    launcher = Launcher.detect()
    rank = [sys.executable, str(PROGRAM), stream_name(jobs.where), str(jobs.where)]
    argv = launcher.command(3, ["sh", "-c", SHELL, "sh", *rank])
    tests = str(pathlib.Path(__file__).parents[1])
    path = os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")])
    job = subprocess.Popen(
        jobs.box.on(2, argv),
        env=launcher.environment(
            {
                "SEEN": str(jobs.where),
                "FLUVIAL_DIRECTORY": str(jobs.where),
                "FLUVIAL_SCENARIO_RANK": str(jobs.where),
                "PYTHONPATH": path,
            }
        ),
    )
    for number in range(3):
        wait_until((jobs.where / f"begun-{number}").exists, timeout=30)
    time.sleep(0.5)  # in the middle of it
    return job, process_of(jobs.where, "0")


def process_of(where, rank):
    """Return the process of a rank, which has another number on its host."""
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            status = (path.parent / "status").read_text()
        except OSError:
            continue
        here = (where / f"begun-{rank}").read_text()
        if str(PROGRAM).encode() in words[:2] + words[2:3] and str(where).encode() in words:
            inner = next(line for line in status.splitlines() if line.startswith("NSpid"))
            if inner.split()[-1] == here and words[0] != b"sh":
                return int(path.parent.name)
    raise AssertionError(f"no process of rank {rank}")


def told_by(where, rank):
    wait_until((where / f"read-{rank}").exists, timeout=30)
    return json.loads((where / f"read-{rank}").read_text())


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@scenario(
    "writer on 1 rank of host 1, reader on 3 ranks of host 2",
    writer=write_one_and_stay,
    reader=read,
    timeout=90,
)
def test_a_rank_that_brings_something_dies_or_stops(jobs, how):
    """The others go on, and bring it themselves; one that continues gets the rest."""
    job, process = three_ranks(jobs)
    try:
        assert not (jobs.where / "read-0").exists()
        os.kill(process, how)
        for rank in (1, 2):
            right, received, shared = told_by(jobs.where, rank)
            assert right
            assert shared > 0
            assert received + shared == ARRAY
        if how == signal.SIGSTOP:
            assert not (jobs.where / "read-0").exists()
            os.kill(process, signal.SIGCONT)
            assert told_by(jobs.where, 0)[0]
    finally:
        (jobs.where / "enough").touch()
        job.wait(30)
    jobs["writer"].kill()
