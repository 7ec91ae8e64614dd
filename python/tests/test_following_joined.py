# SPDX-License-Identifier: Apache-2.0
"""Several files that are joined, followed while programs write one after the other."""

import signal
import subprocess
import sys
import threading
import time

import h5py
import numpy as np
import pytest
from harness import scenario
from harness.history_files import (
    LIMITS,
    add,
    by_h5netcdf,
    by_netcdf4,
    by_scipy,
    check,
    classic,
    define,
    follow_history,
    write,
)

import fluvial as fl
from fluvial.scan import joined_records

OWN_WRITER = """
import sys
import numpy as np
import fluvial as fl
with fl.open(sys.argv[1], "w") as series:
    for line in sys.stdin:
        with series.step(time=float(line)) as step:
            step.put("v", np.full((2, 5), float(line)))
        print(line, flush=True)
"""


@pytest.fixture
def never_rests(monkeypatch):
    """Files of other programs that change no more are none that are known to be complete."""
    monkeypatch.setattr(joined_records, "SETTLED_S", 1e9)
    return monkeypatch


@pytest.mark.parametrize("how", [classic, by_scipy, by_netcdf4, by_h5netcdf])
def test_steps_are_the_records_of_all_files_as_they_are_written(tmp_path, how):
    with follow_history(tmp_path) as series:
        steps = iter(series)
        for first in (0, 3, 6):
            with how(tmp_path / f"his_{first}.nc") as file:
                define(file)
                for number in range(first, first + 3):
                    add(file, number)
            if first > 0:
                for number in range(first - 3, first):
                    check(next(steps), number)
        (tmp_path / "done").touch()
        for number in (6, 7, 8):
            step = next(steps)
            check(step, number)
            assert step.time == np.datetime64("2000-01-01") + np.timedelta64(number, "D")
        assert next(steps, None) is None


def test_the_last_record_is_given_when_the_file_rests_or_another_begins(tmp_path, never_rests):
    with follow_history(tmp_path) as series, classic(tmp_path / "his_0.nc") as file:
        steps = iter(series)
        define(file)
        add(file, 0)
        add(file, 1)
        check(next(steps), 0)
        assert len(series) == 1  # the second one may not be whole
        never_rests.undo()
        check(next(steps), 1)
        never_rests.setattr(joined_records, "SETTLED_S", 1e9)
        add(file, 2)
        with classic(tmp_path / "his_1.nc") as other:
            define(other)
            check(next(steps), 2)
            add(other, 3)
            add(other, 4)
            check(next(steps), 3)
            assert [step.index for step in series.steps] == [0, 1, 2, 3]
            assert series.paths == [str(tmp_path / f"his_{i}.nc") for i in range(2)]
            assert series.format == "netCDF classic (CDF-2)"


def test_hdf5_that_has_no_note_of_its_writer_is_given_when_it_rests(tmp_path, never_rests):
    with follow_history(tmp_path) as series, by_netcdf4(tmp_path / "his_0.nc") as file:
        define(file)
        add(file, 0)
        add(file, 1)
        assert len(series) == 0
        never_rests.undo()
        check(series.next(), 0)
        check(series.next(), 1)


def test_a_file_that_its_writer_has_not_closed_holds_up_those_behind_it(tmp_path):
    with follow_history(tmp_path, "scan_*.h5", step_timeout=0.5) as series:
        with h5py.File(tmp_path / "scan_0.h5", "w", libver="v110") as file:
            file.create_dataset("v", data=np.zeros((1, 4)), maxshape=(None, 4), chunks=(1, 4))
            file.swmr_mode = True
            with h5py.File(tmp_path / "scan_1.h5", "w", libver="v110") as other:
                other.create_dataset("v", data=np.ones((1, 4)), maxshape=(None, 4), chunks=(1, 4))
            check(series.next(), 0)
            with pytest.raises(fl.TimedOut, match=r"scan_0\.h5' is still open in its writer"):
                series.next()
        steps = iter(series)
        check(next(steps), 0)
        check(next(steps), 1)


def test_dates_count_from_another_day_in_each_file(tmp_path):
    write(tmp_path / "his_0.nc", [0, 1])
    write(tmp_path / "his_1.nc", [0, 1], units="days since 2000-01-03")
    (tmp_path / "done").touch()
    with follow_history(tmp_path) as series:
        days = [str(step.time.astype("M8[D]")) for step in series]
    assert days == ["2000-01-01", "2000-01-02", "2000-01-03", "2000-01-04"]


def own_writer(path):
    command = [sys.executable, "-c", OWN_WRITER, str(path)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def put(process, number):
    print(number, file=process.stdin, flush=True)
    assert process.stdout.readline().strip() == str(number)
    process.stdout.readline()


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_files_of_fluvial_say_themselves_how_far_they_are(tmp_path, suffix, never_rests):
    with follow_history(tmp_path, "run_*") as series:
        steps = iter(series)
        for first in (0, 2):
            with own_writer(tmp_path / f"run_{first}.{suffix}") as process:
                for number in (first, first + 1):
                    put(process, number)
                    check(next(steps), number)
                process.communicate(timeout=60)
        (tmp_path / "done").touch()
        assert next(steps, None) is None


def test_netcdf4_of_fluvial_is_given_when_it_is_closed(tmp_path):
    with follow_history(tmp_path, "run_*.nc4", step_timeout=5) as series:
        with own_writer(tmp_path / "run_0.nc4") as process:
            put(process, 0)
            put(process, 1)
            assert len(series) == 0
            process.communicate(timeout=60)
        check(series.next(), 0)
        check(series.next(), 1)


def test_after_the_finished_steps_of_a_killed_writer_comes_an_error(tmp_path):
    with follow_history(tmp_path, "run_*.nc") as series:
        steps = iter(series)
        with own_writer(tmp_path / "run_0.nc") as process:
            put(process, 0)
            process.communicate(timeout=60)
        with own_writer(tmp_path / "run_1.nc") as process:
            put(process, 1)
            check(next(steps), 0)
            put(process, 2)
            process.send_signal(signal.SIGKILL)
            process.wait(60)
            check(next(steps), 1)
            check(next(steps), 2)
            with pytest.raises(fl.PeerLost, match=rf"run_1.nc' is gone.*process {process.pid} on"):
                next(steps)


def test_records_of_swmr_are_given_whole_in_several_files(tmp_path):
    with follow_history(tmp_path, "scan_*.h5") as series:
        steps = iter(series)
        for first in (0, 2):
            with h5py.File(tmp_path / f"scan_{first}.h5", "w", libver="v110") as file:
                frames = file.create_dataset("v", (0, 4), "f8", maxshape=(None, 4), chunks=(1, 4))
                numbers = file.create_dataset("n", (0,), "f8", maxshape=(None,), chunks=(1,))
                file["gain"] = np.arange(3.0)
                file.swmr_mode = True
                for number in (first, first + 1):
                    for dataset in (numbers, frames):
                        assert len(series) == number
                        dataset.resize(number - first + 1, axis=0)
                        dataset[-1] = number
                        dataset.flush()
                    step = next(steps)
                    check(step, number)
                    assert step["gain"].shape == (3,) and float(step["n"].read()) == number
        (tmp_path / "done").touch()
        assert next(steps, None) is None


def test_what_is_half_made_is_waited_for(tmp_path):
    write(tmp_path / "his_0.nc", [0, 1])
    write(tmp_path / "ready", [2, 3])
    whole = (tmp_path / "ready").read_bytes()
    with follow_history(tmp_path) as series:
        path = tmp_path / "his_1.nc"
        path.touch()
        steps = iter(series)
        check(next(steps), 0)
        check(next(steps), 1)
        maker = [
            threading.Timer(1.5, path.write_bytes, [whole[:30]]),
            threading.Timer(2.0, path.write_bytes, [whole]),
        ]
        for thread in maker:
            thread.start()
        check(next(steps), 2)
        check(next(steps), 3)
        for thread in maker:
            thread.join()


def test_files_before_the_first_step_may_come_in_any_order(tmp_path):
    write(tmp_path / "his_1.nc", [])
    with follow_history(tmp_path) as series:
        opened = threading.Timer(0.5, write, [tmp_path / "his_0.nc", [0, 1]])
        opened.start()
        check(series.next(), 0)
        opened.join()


def test_nothing_that_fits_is_waited_for_and_late(tmp_path):
    late = r"nothing can be read of '.*his_\*\.nc' in time: got 0\.2 s.*rendezvous_timeout"
    with (
        follow_history(tmp_path, rendezvous_timeout=0.2) as series,
        pytest.raises(fl.TimedOut, match=late),
    ):
        series.next()
    write(tmp_path / "his_0.nc", [0])
    with follow_history(tmp_path, step_timeout=1.5) as series:
        check(series.next(), 0)
        with pytest.raises(fl.TimedOut, match=r"no step came from .*1\.5 s.*step_timeout"):
            series.next()


@pytest.mark.parametrize("seed", range(3))
def test_a_writer_at_any_speed_gives_each_record_once(tmp_path, seed):
    random = np.random.default_rng(seed)
    pauses = random.uniform(0, 0.01, 60)
    ends = [*np.sort(random.choice(np.arange(1, 60), 7, replace=False)).tolist(), 60]

    def work():
        begin = 0
        for at, end in enumerate(ends):
            with classic(tmp_path / f"his_{at}.nc") as file:
                define(file)
                for number in range(begin, end):
                    add(file, number)
                    time.sleep(pauses[number])
            begin = end
        (tmp_path / "done").touch()

    program = threading.Thread(target=work)
    with follow_history(tmp_path) as series:
        program.start()
        seen = 0
        for step in series:
            check(step, seen)
            seen += 1
        program.join()
    assert seen == 60


def test_a_pipe_follows_a_pattern(tmp_path):
    write(tmp_path / "his_0.nc", [0, 1])
    write(tmp_path / "his_1.nc", [2, 3])
    (tmp_path / "done").touch()
    reading = {"follow": str(tmp_path / "done"), **LIMITS}
    report = fl.pipe(tmp_path / "his_*.nc", tmp_path / "copy.nc", reading=reading)
    assert report.steps == 4
    with fl.open(tmp_path / "copy.nc") as copy:
        assert [float(step["v"].max()) for step in copy] == [0, 1, 2, 3]


def test_the_command_line_follows_a_pattern_until_a_file_appears(tmp_path):
    write(tmp_path / "his_0.nc", [0])
    write(tmp_path / "his_1.nc", [1, 2])
    (tmp_path / "his_done.nc").touch()
    words = ["pipe", "--until", tmp_path / "his_done.nc", tmp_path / "his_*.nc", tmp_path / "c.nc"]
    command = [sys.executable, "-m", "fluvial", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    with fl.open(tmp_path / "c.nc") as copy:
        assert [float(step["v"].max()) for step in copy] == [0, 1, 2]


def on_two_ranks(comm, fl, where):
    import netCDF4

    def write(name, values, length):
        with netCDF4.Dataset(where / name, "w", format="NETCDF3_64BIT_OFFSET") as file:
            file.createDimension("time", None)
            file.createDimension("x", length)
            file.createVariable("v", "f8", ("time", "x"))[:] = np.outer(values, np.ones(length))

    seen = []
    with fl.open(where / "his_*.nc", comm=comm, follow=where / "done", **LIMITS) as series:
        for at in range(2):
            if comm.rank == 0:
                write(f"his_{at}.nc", [2 * at, 2 * at + 1], 4)
                write(f"his_{at + 1}.nc", [], 4)
            for _ in range(2):
                step = series.next()
                seen.append((step.index, float(step["v"].mean())))
        if comm.rank == 0:
            write("his_2.nc", [4], 7)
            (where / "done").touch()
        with pytest.raises(fl.InvalidArgument, match=r"his_2\.nc' does not join"):
            series.next()
    return seen


@scenario("program on 2 ranks", program=on_two_ranks, timeout=90)
def test_ranks_agree_on_steps_and_errors(jobs):
    seen = [(number, float(number)) for number in range(4)]
    assert jobs.finish()["program"] == [seen, seen]
