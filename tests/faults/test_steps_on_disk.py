# SPDX-License-Identifier: Apache-2.0
"""Spilled and retained steps when a side stops, the disk is full or damaged, or two resume."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from faults.roles import read, write
from harness import scenario, wait_until

import fluvial as fl


@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read)
def test_a_stopped_reader_does_not_stop_a_writer_that_spills(jobs):
    """It is evicted, and its steps are given back to the disk."""
    jobs.start("writer", steps=150, pause=0.01, full="spill", queue_steps=2)
    jobs.start("reader", pause=0.005)
    wait_until((jobs.where / "read-5").exists, timeout=30)
    os.kill(jobs["reader"].pid(0), signal.SIGSTOP)
    wait_until((jobs.where / "step-149").exists, timeout=30)
    os.kill(jobs["reader"].pid(0), signal.SIGCONT)
    writer = jobs.outcome("writer").values[0]
    assert writer["error"] is None
    assert writer["longest_step_s"] < 0.9  # less than the reader was waited for
    assert writer["steps_spilled"] > 10
    result = jobs.outcome("reader").values[0]
    assert result["seen"] == list(range(len(result["seen"])))
    assert result["error"][0] == "PeerStalled" or len(result["seen"]) == 150


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    return tmp_path


def put(series, index, n=1000):
    with series.step(time=index / 2) as step:
        step.put("x", np.full(n, float(index)))
    return step.accepted


def pair(name="disk", **options):
    writer = fl.open(name, "w", readers=0, queue_steps=2, step_timeout=1, **options)
    return writer, fl.open(name)


def indices(series):
    found = []
    for step in series:
        assert (step["x"].read() == step.index).all()
        found.append(step.index)
    return found


def test_a_full_disk_makes_the_writer_wait_for_its_readers(folder):
    writer, reader = pair(full="spill", spill_bytes="40 KiB")
    with pytest.warns(RuntimeWarning, match="disk of the steps of 'disk' was full") as told:
        with pytest.raises(fl.TimedOut, match=r"disk of 'disk' stayed full.*spill_bytes"):
            for index in range(100):
                put(writer, index)
        assert put_after_reading(writer, reader, index)
        writer.close()
    assert len([w for w in told if issubclass(w.category, RuntimeWarning)]) == 2  # once a side
    reader.close()


@pytest.mark.parametrize("room", [200, 300])
@pytest.mark.filterwarnings("ignore:the disk of the steps")
def test_a_step_that_cannot_end_is_given_up_and_the_next_can_be_begun(folder, room):
    """The disk has room for none of it, or for its array and not for its record."""
    with (
        fl.open(
            "disk",
            "w",
            readers=0,
            queue_steps=1,
            step_timeout=0.2,
            full="spill",
            spill_bytes=room,
        ) as writer,
        fl.open("disk") as reader,
    ):
        assert put(writer, 0, 12)
        for index in (1, 2):
            step = writer.step()  # which lives on, and so is not given up for that
            with pytest.raises(fl.TimedOut, match="disk of 'disk' stayed full"), step:
                step.put("x", np.full(12, float(index)))
        assert reader.next().index == 0
        reader.close()
        assert put(writer, 3, 12)
        assert writer.stats["steps_spoiled"] == 2


def put_after_reading(writer, reader, count):
    """Steps that were written are read; then there is room on the disk and in the queue."""
    found = [reader.next().index for _ in range(count)]
    assert found == list(range(count))
    assert put(writer, count + 1)
    assert writer.stats["bytes_on_disk"] < 40 * 1024
    step = reader.next()
    assert (step.index, step.skipped) == (count + 1, 1)  # the one that was given up
    return True


@pytest.mark.parametrize("policy", ["discard-newest", "discard-oldest"])
def test_a_full_disk_discards_as_the_policy_says(folder, policy):
    writer, reader = pair(full=f"spill,{policy}", spill_bytes="100 KiB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accepted = [put(writer, index) for index in range(50)]
        stats = writer.stats
        writer.close()
        found = indices(reader)
    assert stats["steps_discarded"] == 50 - len(found) == reader.stats["steps_discarded"]
    assert 5 < len(found) < 20
    if policy == "discard-newest":
        assert found == [index for index in range(50) if accepted[index]]
    else:
        assert found[:2] == [0, 1]  # in the queue
        assert found[2:] == list(range(50 - len(found) + 2, 50))
    reader.close()


def test_a_reader_elsewhere_that_is_behind_knows_what_was_discarded(folder):
    """What the writer's host says last counts, and not the steps that had come before."""
    options = {"full": "spill,discard-newest", "spill_bytes": "40 KiB"}
    writer = fl.open("disk", "w", readers=0, queue_steps=2, step_timeout=20, **options)
    slow, reader = fl.open("disk"), fl.open("disk", transport="tcp")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        put(writer, 0)
        assert reader.next().index == 0  # and further ones come while it reads this one
        accepted = [put(writer, index) for index in range(1, 50)]
        assert 1 < sum(accepted) < 40
        closing = threading.Thread(target=writer.close)
        closing.start()
        assert len(indices(slow)) == 1 + sum(accepted)
        found = indices(reader)
        closing.join()
    assert len(found) == sum(accepted)
    assert reader.stats["steps_discarded"] == 49 - len(found)
    slow.close()
    reader.close()


def test_where_there_is_no_older_step_on_a_full_disk_the_newest_is_given_up(folder):
    writer, reader = pair(full="spill,discard-oldest", spill_bytes=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [put(writer, index) for index in range(4)] == [True, True, False, False]
        writer.close()
        assert indices(reader) == [0, 1]
    reader.close()


@pytest.fixture
def small_disk(folder):
    """Return a function that mounts a file system of so many KiB."""
    disk = folder / "small"
    disk.mkdir()
    mounted = []

    def mount(kibibytes):
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("to mount a small file system needs root")
        words = ["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "none", str(disk)]
        if subprocess.run(words, check=False).returncode != 0:
            pytest.skip("this container may not mount a file system")
        mounted.append(disk)
        return disk

    yield mount
    if mounted:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_disk_that_is_really_full(small_disk):
    disk = small_disk(1024)
    writer, reader = pair(full="spill,discard-newest", spill=disk)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accepted = [put(writer, index, 16384) for index in range(20)]
        writer.close()
        found = indices(reader)
    assert found == [index for index in range(20) if accepted[index]]
    assert 5 < len(found) < 12
    reader.close()
    assert os.statvfs(disk).f_bavail == os.statvfs(disk).f_blocks  # nothing is left


def fill(disk):
    with (disk / "filled").open("ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass


@pytest.mark.parametrize("retains", [False, True])
def test_a_step_is_not_lost_where_the_disk_is_full_when_it_is_listed(folder, small_disk, retains):
    """The bytes of the steps have room in a page that is there, until the list wants another."""
    disk = small_disk(512)
    kept = {"retain": disk} if retains else {"full": "spill", "spill": disk}
    writer = fl.open("disk", "w", readers=0, queue_steps=2, step_timeout=1, **kept)
    reader = None if retains else fl.open("disk")
    written = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for index in range(90):
                if index == (66 if retains else 68):
                    fill(disk)
                with writer.step() as step:
                    step.put("x", np.full(1, index, "u1"))
                assert step.accepted
                written += 1
        except fl.TimedOut:
            (disk / "filled").unlink()
        writer.close()
        reader = reader or fl.open("disk", retained=disk)
        found = indices(reader)
    reader.close()
    assert found == list(range(written))
    assert 66 <= written < 90


def test_a_view_of_a_step_that_is_partly_on_the_disk_keeps_no_room_there(folder):
    n = 8192
    options = {"full": "spill", "spill_bytes": 10 * n * 8, "queue_bytes": 3 * n * 8 // 2}
    writer, reader = pair(**options)
    views = []
    for index in range(40):
        with writer.step() as step:
            step.put("x", np.full(n, float(index)))
            step.put("y", np.full(n, float(index)))
        found = reader.next()
        assert (found["y"].read() == index).all()
        if not views:
            views.append(found["x"].read())
    assert writer.stats["bytes_on_disk"] < 6 * n * 8
    assert (views[0] == 0).all()
    writer.close()
    reader.close()


def test_a_reader_that_joins_late_does_not_keep_the_oldest_step_on_the_disk(folder):
    writer, reader = pair(full="spill,discard-oldest", spill_bytes="40 KiB")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index in range(6):
            put(writer, index)
        with fl.open("disk", start="next") as late:
            assert all(put(writer, index) for index in range(6, 20))
            writer.close()
            assert indices(late)[-1] == 19
        assert indices(reader)[-1] == 19
    reader.close()


@scenario("writer on 1 process, reader on 2 ranks")
class test_steps_that_a_rank_has_yet_to_read_are_not_dropped_when_another_has_left:
    def writer(comm, fl, where):
        n = 8192
        options = {"full": "spill,discard-oldest", "spill": where, "queue_steps": 2}
        limits = {"queue_bytes": 5 * n * 8 // 2, "spill_bytes": 5 * n * 8 - 1000}
        with fl.open("disk", "w", comm=comm, **options, **limits) as series:
            for index in range(30):
                if index == 5:
                    (where / "written").touch()
                    wait_until((where / "left").exists)
                with series.step() as step:
                    step.put("x", np.full(n, float(index)))
            (where / "more").touch()

    def reader(comm, fl, where):
        found, views = [], []
        series = fl.open("disk", comm=comm)
        wait_until((where / "written").exists)
        for _ in range(4):
            step = series.next()
            found.append(step.index)
            if comm.rank == 1 and len(views) < 2:
                views.append(step["x"].read())
        comm.barrier()
        if comm.rank == 0:
            series.close()
            (where / "left").touch()
        else:
            wait_until((where / "more").exists)
            assert (step["x"].read() == step.index).all()
            series.close()
        return found

    def check(jobs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = jobs.finish()
        assert results["reader"] == [list(range(4))] * 2


@scenario("writer on 2 ranks, reader on 1 rank")
class test_a_rank_that_is_late_finds_room_on_the_disk_for_the_oldest_step:
    def writer(comm, fl, where):
        options = {"full": "spill", "spill": where, "spill_bytes": 200_000}
        series = fl.open("disk", "w", comm=comm, queue_steps=2, step_timeout=20, **options)
        with series, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for index in range(40):
                if comm.rank == 0 and index == 4:
                    wait_until((where / "full").exists)
                with series.step() as step:
                    here = np.full(2500, index, "i4")
                    step.put("x", here, offset=(comm.rank * 2500,), shape=(5000,))
                if comm.rank == 1 and index == 20:
                    (where / "full").touch()
            return series.stats["steps_discarded"]

    def reader(comm, fl, where):
        with fl.open("disk", comm=comm) as series:
            return [step.index for step in series]

    def check(jobs):
        results = jobs.finish()
        assert results["reader"] == [list(range(40))]


def test_two_cannot_resume_under_one_name(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
        with fl.open("disk", resume="plot") as first:
            with pytest.raises(fl.InvalidArgument, match="position 'plot' is in use"):
                fl.open("disk", resume="plot")
            with fl.open("disk", resume="other") as second:
                assert first.next().index == second.next().index == 0
        with fl.open("disk", resume="plot") as again:
            put(writer, 1)
            assert again.next().index == 1


def test_a_step_that_failed_in_the_middle_comes_again(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        for index in range(5):
            put(writer, index)
    for first in (0, 2, 4):
        with pytest.raises(ZeroDivisionError), fl.open("disk", resume="plot") as reader:
            for step in reader:
                if step.index == first + 2 or step.index == 4:
                    raise ZeroDivisionError
                assert step.index >= first


def test_steps_of_an_earlier_run_are_not_lost_without_a_word(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
    with pytest.raises(fl.InvalidArgument, match=r"steps of an earlier run are in .*disk\.steps"):
        fl.open("disk", "w", readers=0, retain=True)
    shutil.rmtree(folder / "disk.steps")
    fl.open("disk", "w", readers=0, retain=True).close()


@pytest.mark.parametrize("options", [{}, {"transport": "tcp"}])
def test_a_reader_that_resumes_begins_anew_with_the_steps_of_another_run(folder, options):
    """Of which only the files of steps were removed: positions in the first run mean nothing."""
    for steps in (5, 7):
        with fl.open("disk", "w", readers=0, retain=True) as writer:
            for index in range(steps):
                put(writer, index)
            with fl.open("disk", resume="plot", step_timeout=5, **options) as reader:
                assert [reader.next().index for _ in range(steps)] == list(range(steps))
            with fl.open("disk", resume="plot", step_timeout=5, **options) as reader:
                put(writer, steps)
                assert reader.next().index == steps
        with fl.open("disk", resume="plot") as reader:
            assert indices(reader) == []
        for file in ("steps", "data"):
            (folder / "disk.steps" / file).unlink()


def test_what_a_stream_that_is_not_retained_says(folder):
    with fl.open("disk", "w", readers=0) as writer:
        put(writer, 0)
        with pytest.raises(fl.InvalidArgument, match=r"cannot resume: got no steps in .*retain"):
            fl.open("disk", resume="plot")
        with pytest.raises(fl.InvalidArgument, match=r"start='first'.*retain"):
            fl.open("disk", start="first")


def test_the_steps_of_another_run_are_not_taken_for_these(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
    other = folder / "other"
    other.mkdir()
    with fl.open("disk", "w", readers=0, retain=other) as writer:
        put(writer, 0)
        with pytest.raises(fl.InvalidArgument, match=r"of another run.*retained"):
            fl.open("disk", resume="plot")
        with fl.open("disk", resume="plot", retained=other) as reader:
            assert reader.next().index == 0


def test_damage_is_an_error_of_the_step_that_it_struck(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        for index in range(6):
            put(writer, index)
    data = folder / "disk.steps" / "data"
    stored = bytearray(data.read_bytes())
    at = stored.index(np.full(1000, 3.0).tobytes()) + 777
    stored[at] ^= 4
    data.write_bytes(stored)
    found = []
    with fl.open("disk") as reader:
        for step in reader:
            if step.index == 3:
                with pytest.raises(fl.DamagedFile, match="chunk of 'x' in step 3 is damaged"):
                    step["x"].read()
            else:
                step["x"].read()
            found.append(step.index)
    assert found == list(range(6))


def test_damage_of_a_spilled_step_is_an_error_of_that_step_alone(folder):
    """Its file has no name; a process with a descriptor, or a disk that fails, may change it."""
    writer, reader = pair(full="spill", spill=folder)
    for index in range(6):
        put(writer, index)
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    for link in links:
        if os.path.lexists(link) and os.readlink(link).startswith(f"{folder}/"):
            at = pathlib.Path(link).read_bytes().find(np.full(1000, 4.0).tobytes())
            if at >= 0:
                with open(link, "r+b") as file:
                    file.seek(at + 99)
                    file.write(b"\x01")
                break
    else:
        pytest.fail("step 4 does not lie on the disk")
    writer.close()
    for step in reader:
        if step.index == 4:
            with pytest.raises(fl.DamagedFile, match="chunk of 'x' in step 4 is damaged"):
                step["x"].read()
        else:
            assert (step["x"].read() == step.index).all()
    assert step.index == 5
    reader.close()


def test_a_late_reader_begins_with_the_first_step_and_catches_up(folder):
    with fl.open("disk", "w", readers=0, queue_steps=2, retain=True, full="spill") as writer:
        writer.attrs = {"author": "us"}
        for index in range(10):
            put(writer, index)
        with fl.open("disk", start="first") as reader:
            found = [reader.next().index for _ in range(10)]
            put(writer, 10)
            found.append(reader.next().index)
            assert found == list(range(11))
            assert reader.attrs["author"] == "us"
        with fl.open("disk", start="next") as reader:
            put(writer, 11)
            assert reader.next().index == 11
    with fl.open("disk") as reader:
        assert indices(reader) == list(range(12))
        assert reader.attrs["author"] == "us"
        assert reader.stats["steps_from_disk"] == 12


def test_steps_that_others_may_have_put_there_are_refused(folder):
    with fl.open("disk", "w", readers=0, retain=True) as writer:
        put(writer, 0)
    steps = folder / "disk.steps"
    steps.chmod(0o777)
    with pytest.raises(fl.Refused, match=r"others may write to retained steps: got .*disk\.steps"):
        fl.open("disk")
    steps.chmod(0o700)
    with fl.open("disk") as reader:
        assert indices(reader) == [0]
    if os.geteuid() != 0:
        pytest.skip("to give a file to another user needs root")
    os.chown(steps / "data", 2, 2)
    with pytest.raises(fl.Refused, match="retained steps belong to another user"):
        fl.open("disk")


SLEEPER = """
import os, signal, time
import fluvial as fl
with fl.open("disk", stall_timeout=1) as reader:
    time.sleep(1)
    while reader.stats["steps_from_disk"] < 2:
        step = reader.next()
    print("reads", flush=True)
    os.kill(os.getpid(), signal.SIGSTOP)
    try:
        step["x"].read()
    except fl.Error as error:
        print(type(error).__name__, error)
"""


def test_a_reader_that_was_stopped_is_told_why_its_step_is_gone(folder):
    """It had begun the step, which lay on the disk; its place there was given back."""
    options = {"stdout": subprocess.PIPE, "text": True}
    with (
        subprocess.Popen([sys.executable, "-c", SLEEPER], **options) as sleeper,
        fl.open("disk", "w", full="spill", queue_steps=2, stall_timeout=1) as writer,
    ):
        for index in range(10):
            put(writer, index, 10000)
        assert sleeper.stdout.readline() == "reads\n"
        wait_until(lambda: writer.stats["readers_evicted"] == 1)
        put(writer, 10)  # which gives back steps that no reader wants
        sleeper.send_signal(signal.SIGCONT)
        said = sleeper.stdout.read()
    assert said.startswith("PeerStalled a chunk of 'x' in step 3 is not on the disk any more"), said
