# SPDX-License-Identifier: Apache-2.0
"""Tasks that start together, tasks that use the other verbs, and places that are futures."""

import os
import pathlib
import tempfile
import time

import numpy as np
import pytest
from harness import scenario, wait_until

import fluvial as fl

STEPS = 4


@fl.parallel
def write(comm, stream, fails_at=None):
    """Each rank has two of the elements of a step: the step's number, times ten, and its rank."""
    with fl.open(stream, "w", comm=comm) as series:
        for number in range(STEPS):
            if number == fails_at:
                raise LookupError("the writer was told to fail")
            with series.step() as step:
                mine = np.full(2, 10.0 * number + comm.rank)
                step.put("x", mine, offset=2 * comm.rank, shape=2 * comm.size)
    return comm.size


@fl.parallel
def read(comm, stream):
    with fl.open(stream, comm=comm) as series:
        return [float(step["x"].reduce("sum")) for step in series]


@fl.parallel
def stream_inside(comm):
    """Rank 0 produces for the others."""
    with fl.Channel(comm, producer=comm.rank == 0, consumer=comm.rank > 0) as channel:
        stream = channel.stream(dtype="f8", op="sum")
        if comm.rank == 0:
            for number in range(100):
                stream.send(float(number))
            stream.terminate()
        else:
            stream.operate()
        return comm.bcast(stream.result() if comm.rank else None, 1)


@fl.parallel
def scan_inside(comm, path):
    return float(fl.open(path, comm=comm)["x"].mean())


def process(_=None):
    return os.getpid()


def fail():
    raise LookupError("an input")


def wait_for(path):
    deadline = time.monotonic() + 30
    while not os.path.exists(path) and time.monotonic() < deadline:
        time.sleep(0.01)
    return os.path.exists(path)


@pytest.fixture(scope="module")
def pool():
    with fl.Pool(3) as made:
        yield made


def pair(name, **options):
    stream = f"together-{os.getpid()}-{name}"
    writer = fl.task(write, stream, **options).with_options(ranks=2)
    return writer, fl.task(read, stream)


def test_results_are_known_before_those_that_came_later_have_ended(pool, tmp_path):
    """All ranks are wanted by the next ones as soon as the first have ended."""
    first = pool.together(fl.task(process), fl.task(process), fl.task(process))
    seen = tmp_path / "seen"
    later = [pool.together(*[fl.task(wait_for, str(seen))] * 3) for _ in range(2)]
    assert len(first.result(timeout=20)) == 3
    seen.touch()
    assert [one.result(timeout=60) for one in later] == [[True] * 3] * 2


def test_a_writer_and_a_reader_start_together(pool):
    pairs = [pool.together(*pair(turn)) for turn in range(3)]
    sums = [2 * (20 * number + 1) for number in range(STEPS)]
    assert [future.result(60) for future in pairs] == [[2, sums]] * 3
    assert pool.submit(sum, [pool.submit(abs, -1)]).result(60) == 1


def test_why_a_writer_failed_is_told_although_its_reader_failed_first(pool):
    for turn in range(8):  # which of the two is the first is chance
        stream = f"together-{os.getpid()}-cause-{turn}"
        future = pool.together(fl.task(write, stream, fails_at=2), fl.task(read, stream))
        with pytest.raises(LookupError, match="the writer was told to fail"):
            future.result(60)
        assert future.members == ()


def test_a_team_that_fails_is_told_by_both_and_the_pool_goes_on(pool):
    """Of the ranks of a team too, one loses the other; what it says has the cause in it."""
    future = pool.together(*pair("fails", fails_at=2))
    with pytest.raises((LookupError, fl.PeerLost), match="the writer was told to fail"):
        future.result(60)
    assert list(pool.map(abs, [-1, -2])) == [1, 2]


def test_one_that_cannot_start_keeps_all_from_starting(pool, tmp_path):
    bad = pool.submit(fail)
    started = tmp_path / "started"
    future = pool.together(fl.task(started.touch), fl.task(abs, bad))
    with pytest.raises(LookupError, match="an input"):
        future.result(60)
    assert not started.exists()


def test_wrong_calls():
    with fl.Pool() as pool, fl.Pool() as other:
        with pytest.raises(fl.InvalidArgument, match=r"2 tasks on 3 ranks; allowed: .* up to 1"):
            pool.together(*pair("wide"))
        with pytest.raises(fl.InvalidArgument, match="got retries=1; allowed: one width, no place"):
            pool.together(fl.task(abs, 1).with_options(retries=1))
        with pytest.raises(fl.InvalidArgument, match="one width"):
            pool.together(fl.task(read, "a").with_options(ranks=(1, 2)))
        with pytest.raises(fl.InvalidArgument, match="serial function"):
            pool.together(fl.task(abs, 1).with_options(ranks=2))
        with pytest.raises(fl.InvalidArgument, match="one key for all of them"):
            pool.together(fl.task(abs, 1).with_options(key="a"))
        with pytest.raises(fl.WrongType, match=r"what fluvial\.task returns"):
            pool.together(abs)
        with pytest.raises(fl.WrongType, match="a rank of the pool, or a future"):
            pool.with_options(near="somewhere")
        elsewhere = other.submit(abs, 1)
        with pytest.raises(fl.InvalidArgument, match=r"near: got .*futures of the same pool"):
            pool.with_options(near=elsewhere).submit(abs, 1)


def test_what_ranks_that_a_program_started_refuse(pool):
    with pytest.raises(fl.InvalidArgument, match=r"3 tasks on 4 ranks; allowed: .* up to 3"):
        pool.together(*pair("a"), fl.task(abs, 1)).result(60)
    with pytest.raises(fl.InvalidArgument, match="no team can be as wide"):
        pool.with_options(ranks=9).submit(scan_inside, "x").result(60)
    assert pool.submit(abs, -1).result(60) == 1


def test_resources_of_hosts():
    def hold(path):
        path.touch()  # fails when another one is there
        path.with_suffix(".held").mkdir()
        time.sleep(0.05)
        path.with_suffix(".held").rmdir()
        return True

    with fl.Pool(3, resources={"licence": 1}) as pool, tempfile.TemporaryDirectory() as folder:
        one = pool.with_options(resources={"licence": 1})
        assert all(one.map(hold, [pathlib.Path(folder) / "licence"] * 6))
        assert pool.with_options(exclusive=True).submit(abs, -1).result(60) == 1
    with fl.Pool(resources={"licence": 1}) as pool:
        with pytest.raises(fl.InvalidArgument, match=r"'licence' is out of range: got 2"):
            pool.with_options(resources={"licence": 2}).submit(abs, 1)
        with pytest.raises(fl.UnknownName, match="no such resource: got license"):
            pool.with_options(resources={"license": 1}).submit(abs, 1)
    with pytest.raises(fl.WrongType, match="a dict of amounts"):
        pool.with_options(resources=["gpu"])
    for name in ("\udc80", 3):
        with pytest.raises(fl.InvalidArgument, match="the name of a resource"):
            fl.Pool(resources={name: 1})
    with pytest.raises(fl.InvalidArgument, match="'gpu' is out of range"):
        fl.Pool(resources={"gpu": -1})


def test_a_key_stands_for_all_of_them(tmp_path):
    def run(fails_at):
        with fl.Pool(3, journal=tmp_path / "journal") as pool:
            keyed = pool.with_options(key="pair")
            return keyed.together(*pair("keyed", fails_at=fails_at)).result(60)

    first = run(None)
    assert run(0) == first  # nothing has run, or it would have failed


def test_a_place_that_is_a_future(pool):
    firsts = [pool.submit(process) for _ in range(6)]
    there = [pool.with_options(near=first, strict=True).submit(process) for first in firsts]
    assert [future.result(60) for future in there] == [future.result(60) for future in firsts]
    late = pool.submit(time.sleep, 0.2)
    assert pool.with_options(near=late).submit(abs, -3).result(60) == 3
    assert pool.with_options(near=pool.submit(fail)).submit(abs, -3).result(60) == 3


def test_the_ranks_of_a_task_stream_and_scan(pool, tmp_path):
    import xarray as xr  # not by all ranks of all tests of this module

    wide = pool.with_options(ranks=3)
    xr.Dataset({"x": ("i", np.arange(1000.0))}).to_netcdf(tmp_path / "x.nc")
    assert wide.submit(stream_inside).result(60) == 4950.0
    assert wide.submit(scan_inside, str(tmp_path / "x.nc")).result(60) == 499.5


@scenario("job on 4 ranks", timeout=90)
class test_together_inside_a_job:
    def job(comm, fl, where):
        with fl.Pool(comm=comm) as pool:
            if not pool.leads:
                return "served"
            futures = [pool.together(*pair(f"pair{turn}")) for turn in range(3)]
            sums = [2 * (20 * number + 1) for number in range(STEPS)]
            assert [future.result() for future in futures] == [[2, sums]] * 3
            first = pool.submit(process)
            placed = pool.with_options(near=first, strict=True).submit(process)
            assert placed.result() == first.result()
            return "led"

    def check(jobs):
        assert jobs.finish()["job"] == ["led", "served", "served", "served"]


@pytest.mark.parametrize("workers", [None, 1], ids=["serial", "started"])
def test_cancelled_together(tmp_path, workers):
    with fl.Pool(workers) as pool:
        held = pool.submit(wait_for, tmp_path / "go")
        wait_until(held.running)
        both = pool.together(fl.task((tmp_path / "ran").touch))
        assert not both.running()
        assert both.cancel()
        (tmp_path / "go").touch()
        assert held.result()
        assert both.cancelled()
    assert not (tmp_path / "ran").exists()


def test_what_has_begun_together_runs_and_is_not_cancelled(tmp_path):
    with fl.Pool(1) as pool:
        both = pool.together(fl.task(wait_for, tmp_path / "go"))
        wait_until(both.running)
        assert not both.cancel()
        (tmp_path / "go").touch()
        assert both.result() == [True]
        assert not both.cancel()
