# SPDX-License-Identifier: Apache-2.0
"""Steps on a disk that is full, or of which as much is used as may be."""

import os
import shutil
import subprocess
import threading
import warnings

import numpy as np
import pytest
from faults.numbered_steps import indices, pair, put
from harness import scenario, wait_until

import fluvial as fl


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
        except fl.TimedOut as error:
            policy = "full='block,discard-newest'" if retains else "raise spill_bytes"
            assert policy in str(error)
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
