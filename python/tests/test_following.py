# SPDX-License-Identifier: Apache-2.0
"""Files that are still being written, followed by a program beside their writer."""

import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import fluvial.scan.followed_files
import h5py
import netCDF4
import numpy as np
import pytest
from fluvial.store.progress_mark import Writer, path_of_mark, progress_of, writer_rests

import fluvial as fl

NAMES = [
    "run.h5",
    "data%T.h5",
    "run.nc",
    "data%T.nc",
    "data%T.nc4",
    "run.zarr",
    "run.bp",
]
LIMITS = {"rendezvous_timeout": 60, "step_timeout": 60}

WRITER = """
import sys, time
import numpy as np
import fluvial as fl
name, steps, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
with fl.open(name, "w") as series:
    for index in range(steps):
        with series.step(time=index / 4) as step:
            step.put("E_x", np.full((3, 50_000), float(index)))
        print(index, flush=True)
        time.sleep(pause)
    if sys.argv[4:] == ["waits"]:
        sys.stdin.read()
    if sys.argv[4:] == ["fails"]:
        raise RuntimeError("out of ideas")
"""


@pytest.fixture(params=NAMES)
def name(request, tmp_path):
    return str(tmp_path / request.param)


def writer(name, steps, *more, pause=0.02):
    command = [sys.executable, "-c", WRITER, name, str(steps), str(pause), *more]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def check(step, index):
    values = step["E_x"].read()
    assert (step.index, step.time) == (index, index / 4)
    assert (np.asarray(values) == index).all()


def test_steps_are_given_as_they_are_finished_and_then_the_end(name):
    steps = 12
    with writer(name, steps) as process, fl.open(name, follow=True, **LIMITS) as series:
        seen = []
        for step in series:
            check(step, len(seen))
            seen.append(step.index)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert seen == list(range(steps))
    assert series.stats["steps_read"] == steps and series.stats["wait_s"] > 0
    assert not os.path.exists(path_of_mark(name))


def test_one_file_of_netcdf4_is_followed_only_when_it_is_complete(tmp_path):
    """The index of its chunks changes while it grows, under readers that have opened it."""
    name = str(tmp_path / "run.nc4")
    with writer(name, 3, "waits") as process:
        assert [process.stdout.readline() for _ in range(3)][-1] == "2\n"
        with (
            pytest.raises(fl.InvalidArgument, match="one file of netCDF-4 cannot be followed"),
            fl.open(name, follow=True, **LIMITS) as series,
        ):
            next(iter(series))
        process.communicate(timeout=60)
    with fl.open(name, follow=True, **LIMITS) as series:
        for index, step in enumerate(series):
            check(step, index)
        assert index == 2


def test_files_that_are_complete_end_without_a_wait(name):
    with fl.open(name, "w") as series:
        for index in range(3):
            with series.step(time=index / 4) as step:
                step.put("E_x", np.full((2, 3), float(index)))
    with fl.open(name, follow=True, **LIMITS) as series:
        begin = time.monotonic()
        for index, step in enumerate(series):
            check(step, index)
        assert index == 2
        assert time.monotonic() - begin < 30
        assert len(series) == 3
        assert series.steps[-1].time == 0.5


def test_all_finished_steps_of_a_killed_writer_come_and_then_an_error(name):
    with writer(name, 5, "waits") as process, fl.open(name, follow=True, **LIMITS) as series:
        steps = iter(series)
        for index in range(3):
            check(next(steps), index)
        assert [process.stdout.readline() for _ in range(5)][-1] == "4\n"
        process.send_signal(signal.SIGKILL)
        process.wait(60)
        check(next(steps), 3)
        check(next(steps), 4)
        with pytest.raises(fl.PeerLost, match=f"process {process.pid} on "):
            next(steps)


@pytest.mark.parametrize("seed", range(5))
def test_a_writer_that_is_killed_at_any_moment_leaves_whole_steps(tmp_path, seed):
    name = str(tmp_path / NAMES[seed])
    pause_s = np.random.default_rng(seed).uniform(0, 0.3)
    with (
        writer(name, 100_000, pause=0.001) as process,
        fl.open(name, follow=True, **LIMITS) as series,
    ):
        steps = iter(series)
        check(next(steps), 0)
        time.sleep(pause_s)
        process.kill()
        seen = 1
        with pytest.raises(fl.PeerLost):
            for step in steps:
                check(step, seen)
                seen += 1


@pytest.mark.parametrize("name", ["run.h5", "run.nc"], indirect=True)
def test_a_writer_that_is_faster_than_files_can_be_opened_rests(name, monkeypatch):
    """A follower has to see a file that stays as it is for as long as it takes to open it."""
    slow = fluvial.scan.followed_files._numbers

    def slowed(files):
        time.sleep(0.05)
        return slow(files)

    monkeypatch.setattr(fluvial.scan.followed_files, "_numbers", slowed)
    with (
        writer(name, 100_000, pause=0) as process,
        fl.open(name, follow=True, rendezvous_timeout=20, step_timeout=20) as series,
    ):
        for index, step in zip(range(3), series, strict=False):
            check(step, index)
        process.kill()


def test_a_follower_that_is_stopped_does_not_hold_the_writer_up(tmp_path):
    name = str(tmp_path / "run.h5")
    with fl.open(name, "w") as series, writer_rests(name):
        begin = time.monotonic()
        for index in range(20):
            with series.step(time=index / 4) as step:
                step.put("E_x", np.zeros(3))
        waited = time.monotonic() - begin
    assert 1 <= waited < 10  # once, and not at each of 60 changes


def test_a_mark_that_is_just_being_made_is_not_that_of_a_writer_that_is_gone(tmp_path):
    name = str(tmp_path / "run.h5")
    open(path_of_mark(name), "w").close()
    assert progress_of(name).writer is Writer.WRITES


@pytest.mark.parametrize(
    "mark", [b"\xff\xfe", b"\xff\n\xff\n", b"1 2 3\nx\n", b"-1 0\nx\n", b"\n\n"]
)
def test_a_damaged_mark_is_no_error_of_its_own(tmp_path, mark):
    name = str(tmp_path / "run.h5")
    pathlib.Path(path_of_mark(name)).write_bytes(mark)
    found = progress_of(name)
    assert (found.changes, found.finished) == (0, -1)
    assert found.writer is (Writer.GONE if mark[-2:] in (b"x\n", b"\xff\n") else Writer.WRITES)


def test_why_a_writer_failed_is_told(tmp_path):
    name = str(tmp_path / "run.h5")
    with writer(name, 2, "fails") as process, fl.open(name, follow=True, **LIMITS) as series:
        steps = iter(series)
        check(next(steps), 0)
        check(next(steps), 1)
        with pytest.raises(fl.PeerLost, match=r"RuntimeError: .*out of ideas"):
            next(steps)
        process.communicate(timeout=60)


def test_there_is_a_time_limit_for_the_first_step_and_for_the_next(tmp_path):
    name = str(tmp_path / "run.h5")
    limits = {"rendezvous_timeout": 0.2, "step_timeout": 0.3}
    late = r"nothing can be read of .*0\.2 s.*rendezvous_timeout"
    with (
        fl.open(name, follow=True, **limits) as series,
        pytest.raises(fl.TimedOut, match=late),
    ):
        series.next()
    with fl.open(name, "w") as written, fl.open(name, follow=True, **limits) as series:
        with written.step() as step:
            step.put("x", np.zeros(3))
        assert series.next().index == 0
        with pytest.raises(fl.TimedOut, match=r"no step came .*0\.3 s.*step_timeout"):
            series.next()


def test_a_writer_that_closes_without_a_step_ends_it(name):
    limits = {"rendezvous_timeout": 5, "step_timeout": 5}
    with fl.open(name, follow=True, **limits) as series:
        assert len(series) == 0

        def write():
            with fl.open(name, "w"):
                time.sleep(1)

        thread = threading.Thread(target=write)
        thread.start()
        assert series.next() is None
        thread.join()


@pytest.mark.parametrize("name", ["run.h5", "data%T.h5", "his_*.nc"])
def test_files_that_never_came_have_no_steps_at_their_end(tmp_path, name):
    limits = {"rendezvous_timeout": 5, "step_timeout": 5}
    done = tmp_path / "done"
    done.touch()
    with fl.open(str(tmp_path / name), follow=done, **limits) as series:
        assert list(series) == []  # list() asks for the length first
        assert len(series) == 0


def test_two_writers_do_not_have_one_name(name):
    with fl.open(name, "w") as series:
        with pytest.raises(fl.InvalidArgument, match=rf"another writer .*process {os.getpid()} on"):
            fl.open(name, "w")
        with series.step(time=0.0) as step:
            step.put("E_x", np.zeros(3))
    with fl.open(name) as series:
        assert len(series) == 1


def test_a_file_that_somebody_makes_ends_it(tmp_path):
    done = tmp_path / "done"
    with fl.open(tmp_path / "data%T.h5", follow=done, **LIMITS) as series:
        for index in range(2):
            with h5py.File(tmp_path / f"data{index}.h5", "w") as file:
                file["x"] = np.full(4, index)
        steps = iter(series)
        assert (next(steps)["x"].read() == 0).all()
        assert (next(steps)["x"].read() == 1).all()
        done.touch()
        assert next(steps, None) is None


def test_records_that_another_program_adds(tmp_path):
    path, done = tmp_path / "t.nc", tmp_path / "done"
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        file.createDimension("time", None)
        file.createDimension("x", 5)
        values = file.createVariable("v", "f8", ("time", "x"))
        with fl.open(path, follow=done, **LIMITS) as series:
            steps = iter(series)
            for index in range(4):
                values[index] = np.full(5, index)
                file.sync()
                assert (next(steps)["v"].read() == index).all()
            done.touch()
            assert next(steps, None) is None


def test_a_stream_is_always_followed(tmp_path):
    with fl.open("s", "w", readers=0, directory=tmp_path) as series:
        with series.step() as step:
            step.put("x", np.zeros(3))
        with fl.open("s", follow=True, directory=tmp_path) as reader:
            assert reader.next().index == 0


def test_closing_ends_a_wait(tmp_path):
    series = fl.open(tmp_path / "none.h5", follow=True, **LIMITS)
    closer = threading.Timer(0.1, series.close)
    closer.start()
    with pytest.raises(fl.InvalidArgument, match="closed"):
        series.next()
    closer.join()


def test_the_mark_says_who_writes(tmp_path):
    name = str(tmp_path / "run.h5")
    assert progress_of(name).writer is Writer.NONE
    with fl.open(name, "w") as series:
        found = progress_of(name)
        assert (found.writer, found.finished, found.whole) == (Writer.WRITES, -1, True)
        with series.step() as step:
            step.put("x", np.zeros(3))
        assert progress_of(name).finished == 0
    assert progress_of(name).writer is Writer.NONE


@pytest.mark.parametrize("name", ["run.h5", "data%T.nc"], indirect=True)
def test_a_pipe_follows_to_the_end(name, tmp_path):
    with writer(name, 10) as process:
        report = fl.pipe(name, tmp_path / "copy.h5", reading={"follow": True, **LIMITS})
        _, said = process.communicate(timeout=60)
        assert process.returncode == 0, said
    assert report.steps == 10
    with fl.open(tmp_path / "copy.h5") as copy:
        assert [float(step["E_x"].max()) for step in copy] == list(range(10))


def test_the_command_line_follows_to_the_end(tmp_path):
    name, copy = str(tmp_path / "run.h5"), str(tmp_path / "copy%T.h5")
    with writer(name, 10) as process:
        command = [sys.executable, "-m", "fluvial", "pipe", "--follow", name, copy]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        process.communicate(timeout=60)
    assert done.returncode == 0, done.stderr
    with fl.open(copy) as series:
        assert len(series) == 10
