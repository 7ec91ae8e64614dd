# SPDX-License-Identifier: Apache-2.0
"""HDF5 that another program writes so that others read it meanwhile (SWMR), as detectors do."""

import subprocess
import sys
import time

import pytest

import fluvial as fl

LIMITS = {"rendezvous_timeout": 60, "step_timeout": 60}

PROGRAM = """
import sys, time
import h5py, numpy as np

def frames_of(file, name, **options):
    return file.create_dataset(
        name, shape=(0, 40, 50), maxshape=(None, 40, 50), chunks=(1, 20, 50), dtype="f4", **options)

def numbers_of(file, name):
    return file.create_dataset(name, shape=(0,), maxshape=(None,), chunks=(16,), dtype="f8")

def append(dataset, value):
    dataset.resize(len(dataset) + 1, axis=0)
    dataset[-1] = value
    dataset.flush()

def write_frames(count):  # each has its number everywhere
    frames = frames_of(file, "entry/frames")
    file.swmr_mode = True
    for index in range(count):
        append(frames, index)

path = sys.argv[1]
file = h5py.File(path, "w", libver=("v110", "v110"))
"""


def run(path, program):
    command = [sys.executable, "-c", PROGRAM + program, path]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def end(process):
    _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said


def check(step, index):
    assert step.index == index
    assert step["entry/frames"].shape == (40, 50)
    assert (step["entry/frames"].read().values == index).all()


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "detector.h5")


@pytest.mark.parametrize(
    "filters", ["", "compression='gzip', shuffle=True", "scaleoffset=2", "fletcher32=True"]
)
def test_each_record_is_a_step_as_soon_as_it_is_whole(path, filters):
    steps = 60
    program = f"""
frames, energies = frames_of(file, "entry/frames", {filters}), numbers_of(file, "entry/energy")
file["entry/gain"] = 2.5
file.swmr_mode = True
for index in range({steps}):
    append(frames, index)
    time.sleep(0.002 * (index % 3))
    append(energies, index / 4)
file.close()
"""
    with run(path, program) as process, fl.open(path, follow=True, **LIMITS) as series:
        seen = 0
        for step in series:
            check(step, seen)
            assert float(step["entry/energy"].read()) == seen / 4
            assert float(step["entry/gain"].read()) == 2.5  # of all steps
            seen += 1
        end(process)
    assert seen == steps


def test_room_that_was_made_for_records_is_no_record(path):
    program = """
frames = frames_of(file, "entry/frames")
frames.resize(10, axis=0)
file.swmr_mode = True
for index in range(3):
    frames[index] = index
    frames.flush()
frames[3, :20] = 3  # half of it
frames.flush()
print(flush=True)
sys.stdin.readline()
frames[3] = 3
frames.resize(4, axis=0)
file.close()
"""
    with run(path, program) as process, fl.open(path, follow=True, **LIMITS) as series:
        process.stdout.readline()
        steps = iter(series)
        for index in range(3):
            check(next(steps), index)
        assert len(series) == 3
        print(file=process.stdin, flush=True)
        check(next(steps), 3)
        assert next(steps, None) is None
        end(process)


def test_a_file_that_nobody_can_read_yet_is_waited_for(path):
    program = """
frames = frames_of(file, "entry/frames")
file.flush()
print(flush=True)
sys.stdin.readline()
file.swmr_mode = True
append(frames, 0)
file.close()
"""
    with run(path, program) as process, fl.open(path, follow=True, **LIMITS) as series:
        process.stdout.readline()
        with (
            fl.open(path, follow=True, rendezvous_timeout=1.5) as impatient,
            pytest.raises(fl.TimedOut, match="nothing can be read of"),
        ):
            next(iter(impatient))
        print(file=process.stdin, flush=True)
        check(series.next(), 0)
        assert series.next() is None
        end(process)


def test_all_whole_records_of_a_killed_writer_come_and_then_the_time_limit(path):
    program = """
frames = frames_of(file, "entry/frames")
file.swmr_mode = True
for index in range(1000):
    append(frames, index)
    print(index, flush=True)
"""
    with run(path, program) as process:
        for _ in range(20):
            process.stdout.readline()
        process.kill()
    with fl.open(path, follow=True, step_timeout=0.5) as series:
        seen = 0
        begin = time.monotonic()
        with pytest.raises(fl.TimedOut, match="no step came from"):
            for step in series:
                check(step, seen)
                seen += 1
        assert seen >= 20
        assert time.monotonic() - begin < 30


def test_a_complete_file_gives_the_same_steps(path):
    program = """
write_frames(3)
file.close()
"""
    with run(path, program) as process:
        end(process)
    with fl.open(path, follow=True, **LIMITS) as series:
        for index, step in enumerate(series):
            check(step, index)
        assert index == 2
    with fl.open(path) as file:  # without follow, axes that have no name are none of time
        assert [step["entry/frames"].shape for step in file] == [(3, 40, 50)]


def test_a_record_of_one_dataset_alone_is_told_when_the_file_is_complete(path):
    program = """
frames, energies = frames_of(file, "entry/frames"), numbers_of(file, "entry/energy")
file.swmr_mode = True
for index in range(3):
    append(energies, index / 4)
    append(frames, index)
append(energies, 0.75)
print(flush=True)
sys.stdin.readline()
file.close()
"""
    with run(path, program) as process, fl.open(path, follow=True, **LIMITS) as series:
        process.stdout.readline()
        steps = iter(series)
        for index in range(3):
            check(next(steps), index)
        print(file=process.stdin, flush=True)
        with pytest.raises(fl.DamagedFile, match="3 of 'entry/frames' and 4 of 'entry/energy'"):
            next(steps)
        end(process)


def test_a_named_axis_counts_what_all_datasets_along_it_have(path):
    program = """
frames, times = frames_of(file, "entry/frames"), numbers_of(file, "time")
times.make_scale("time")
frames.dims[0].attach_scale(times)
file.swmr_mode = True
for index in range(3):
    append(times, index / 4)
    print(flush=True)
    sys.stdin.readline()
    append(frames, index)
file.close()
"""
    with run(path, program) as process, fl.open(path, follow=True, **LIMITS) as series:
        steps = iter(series)
        for index in range(3):
            process.stdout.readline()
            assert len(series) == index  # its time is there, its frame is not
            print(file=process.stdin, flush=True)
            step = next(steps)
            check(step, index)
            assert step.time == index / 4
        assert next(steps, None) is None
        end(process)


def test_without_follow_it_is_read_as_it_is_now(path):
    program = """
write_frames(5)
print(flush=True)
sys.stdin.readline()
file.close()
"""
    with run(path, program) as process:
        process.stdout.readline()
        with fl.open(path) as file:
            assert file["entry/frames"].shape == (5, 40, 50)
            assert float(file["entry/frames"].sum()) == 10 * 40 * 50
        process.stdin.close()
        process.stdin = None
        end(process)


@pytest.mark.parametrize("seed", range(3))
def test_a_fast_writer_never_gives_a_wrong_number(path, seed):
    program = f"""
random = np.random.default_rng({seed})
frames, energies = frames_of(file, "entry/frames"), numbers_of(file, "entry/energy")
file.swmr_mode = True
while len(frames) < 200 or len(energies) < 200:
    dataset = frames if random.random() < 0.5 else energies
    if len(dataset) < 200:
        append(dataset, len(dataset))
file.close()
"""
    with run(path, program) as process, fl.open(path, follow=True, **LIMITS) as series:
        seen = 0
        for step in series:
            check(step, seen)
            assert float(step["entry/energy"].read()) == seen
            seen += 1
        end(process)
    assert seen == 200


def test_a_file_that_is_written_is_joined_as_the_last(path, tmp_path):
    program = """
frames, times = frames_of(file, "frames"), numbers_of(file, "time")
times.make_scale("time")
frames.dims[0].attach_scale(times)
file.swmr_mode = True
for index in range({first}, {end}):
    append(times, index)
    append(frames, index)
for dataset in (times, frames):  # room for further ones
    dataset.resize(len(dataset) + {room}, axis=0)
    dataset.flush()
print("written", flush=True)
sys.stdin.readline()
file.close()
"""
    earlier = str(tmp_path / "earlier.h5")
    with run(earlier, program.format(first=0, end=3, room=0)) as process:
        end(process)
    with run(path, program.format(first=3, end=5, room=2)) as process:
        assert process.stdout.readline() == "written\n"
        with fl.open([earlier, path]) as file:
            assert [float(step["frames"].max()) for step in file] == [0, 1, 2, 3, 4]
        refused = pytest.raises(
            fl.InvalidArgument, match=r"still being written cannot be joined .*: got '[^']*detector"
        )
        with refused:
            fl.open([path, earlier])
        end(process)
    with fl.open([path, earlier]) as file:
        assert len(file) == 7
