# SPDX-License-Identifier: Apache-2.0
"""The queue between the two ends: limits, policies, late readers, and what each side is told."""

import contextlib
import gc
import os
import pathlib
import threading
import time

import numpy as np
import pytest

import fluvial as fl


@contextlib.contextmanager
def writer_in(tmp_path, **options):
    with fl.open("q", "w", readers=0, directory=tmp_path, **options) as writer:
        yield writer


def reader_in(tmp_path, **options):
    return fl.open("q", directory=tmp_path, **{"step_timeout": 10, **options})


def write(writer, count, size=1):
    accepted = []
    for _ in range(count):
        with writer.step() as step:
            step.put("x", np.full(size, step.index, "int64"))
            accepted.append(step.accepted)
    return accepted


def indices(reader, count):
    return [reader.next().index for _ in range(count)]


def test_discard_newest_keeps_what_came_first(tmp_path):
    with (
        writer_in(tmp_path, queue_steps=2, full="discard-newest") as writer,
        reader_in(tmp_path) as reader,
    ):
        assert write(writer, 5) == [True, True, False, False, False]
        assert indices(reader, 2) == [0, 1]
        write(writer, 1)
        step = reader.next()
        assert (step.index, step.skipped) == (5, 3)
        assert writer.stats["steps_discarded"] == reader.stats["steps_discarded"] == 3
        assert writer.stats["steps_written"] == reader.stats["steps_read"] == 3


def test_discard_oldest_keeps_what_came_last(tmp_path):
    with (
        writer_in(tmp_path, queue_steps=2, full="discard-oldest") as writer,
        reader_in(tmp_path) as reader,
    ):
        assert all(write(writer, 5))
        step = reader.next()
        assert (step.index, step.skipped) == (3, 0)
        assert all(write(writer, 3))
        step = reader.next()
        assert (step.index, step.skipped) == (7, 3)
        assert writer.stats["steps_discarded"] == reader.stats["steps_discarded"] == 6
        assert reader.stats["steps_read"] == 2


def test_block_waits_for_the_reader_and_loses_nothing(tmp_path):
    with writer_in(tmp_path, queue_steps=1) as writer, reader_in(tmp_path) as reader:
        thread = threading.Thread(target=lambda: (write(writer, 20), writer.close()))
        thread.start()
        seen = []
        for step in reader:
            seen.append(step.index)
            time.sleep(0.005)
            assert writer.stats["queue_depth"] <= 1
        thread.join()
        assert seen == list(range(20))
        assert writer.stats["wait_s"] > 0.02
        assert writer.stats["steps_discarded"] == reader.stats["steps_discarded"] == 0


def test_a_queue_that_stays_full_is_an_error_that_names_who_holds_it(tmp_path):
    with (
        writer_in(tmp_path, queue_steps=1, step_timeout=0.2) as writer,
        reader_in(tmp_path) as reader,
    ):
        write(writer, 1)
        begin = time.monotonic()
        with pytest.raises(
            fl.TimedOut, match=r"'q' stayed full for step_timeout=0\.2 s.*reader 0.*step 0"
        ):
            writer.step()
        assert 0.2 <= time.monotonic() - begin < 2
        assert reader.next().index == 0
        with pytest.raises(fl.TimedOut, match=f"process {os.getpid()}"):
            writer.step()
        threading.Timer(0.05, reader.close).start()
        assert write(writer, 1) == [True]  # the writer is still usable


def test_no_step_in_time_is_an_error_after_which_the_reader_goes_on(tmp_path):
    with writer_in(tmp_path) as writer, reader_in(tmp_path, step_timeout=0.2) as reader:
        begin = time.monotonic()
        with pytest.raises(fl.TimedOut, match=r"no step of 'q' came within step_timeout=0\.2 s"):
            reader.next()
        assert 0.2 <= time.monotonic() - begin < 2
        write(writer, 1)
        assert reader.next().index == 0


def test_late_readers_start_with_the_oldest_or_the_next(tmp_path):
    with writer_in(tmp_path, queue_steps=3) as writer:
        write(writer, 10)  # there is no reader: nothing waits, the newest three are kept
        assert writer.stats["steps_unread"] == 10
        assert writer.stats["steps_discarded"] == 0
        with (
            reader_in(tmp_path, start="oldest") as oldest,
            reader_in(tmp_path, start="next") as following,
        ):
            assert indices(oldest, 3) == [7, 8, 9]
            write(writer, 1)
            assert oldest.next().index == following.next().index == 10
            assert following.stats["steps_read"] == 1
        assert writer.stats["readers_joined"] == 2


def test_bytes_limit_the_queue_too(tmp_path):
    kib = 1024
    with (
        writer_in(tmp_path, queue_steps=100, queue_bytes="64 KiB", step_timeout=0.2) as writer,
        reader_in(tmp_path) as reader,
    ):
        write(writer, 4, size=2 * kib)  # of 16 KiB
        with pytest.raises(fl.TimedOut, match=r"no room for 16384 bytes of 'x'.*limit 65536"):
            write(writer, 1, size=2 * kib)
        assert writer.stats["bytes_in_use"] == 64 * kib
        held = reader.next()["x"].read()
        reader.next()
        with pytest.raises(fl.TimedOut, match="views of them"):
            write(writer, 1, size=2 * kib)
        del held
        gc.collect()
        assert write(writer, 1, size=2 * kib) == [True]
        reader.next()
        assert writer.stats["bytes_in_use"] <= 64 * kib


def test_a_step_larger_than_the_queue_is_refused_at_once_with_the_numbers(tmp_path):
    with writer_in(tmp_path, queue_bytes=1000) as writer, writer.step() as step:
        begin = time.monotonic()
        step.put("x", np.zeros(100))
        with pytest.raises(
            fl.InvalidArgument,
            match=r"with 'y': got 800 bytes beside 800.*queue_bytes=1000.*Raise queue_bytes",
        ):
            step.put("y", np.zeros(100))
        with pytest.raises(fl.InvalidArgument, match="queue_bytes=1000"):
            step.span("z", "f8", (10**6,))
        assert time.monotonic() - begin < 1


@pytest.mark.parametrize("full", ["discard-newest", "discard-oldest"])
def test_a_byte_limit_discards_without_waiting_when_told_so(tmp_path, full):
    with (
        writer_in(tmp_path, queue_steps=100, queue_bytes=10_000, full=full) as writer,
        reader_in(tmp_path) as reader,
    ):
        accepted = write(writer, 10, size=500)  # 4000 bytes each: two fit
        read = []
        writer.close()
        for step in reader:
            read.append(step.index)
            np.testing.assert_array_equal(step["x"].read(), step.index)
        if full == "discard-newest":
            assert read == [0, 1]
            assert accepted == [True] * 2 + [False] * 8
        else:
            assert read == [8, 9]
        assert writer.stats["steps_discarded"] == reader.stats["steps_discarded"] == 8


def test_spans_of_a_discarded_step_are_writable_and_lost(tmp_path):
    with (
        writer_in(tmp_path, queue_steps=1, full="discard-newest") as writer,
        reader_in(tmp_path) as reader,
    ):
        write(writer, 1)
        with writer.step() as step:
            span = step.span("x", "i8", (3,))
            span[...] = 5
            assert not step.accepted
        assert reader.next().index == 0
        writer.close()
        assert reader.next() is None
        span[...] = 6


def test_views_of_every_step_do_not_make_a_discarding_writer_wait(tmp_path):
    with (
        writer_in(tmp_path, queue_steps=1, full="discard-newest", step_timeout=1) as writer,
        reader_in(tmp_path, step_timeout=0) as reader,
    ):
        views = []
        for _ in range(150):
            write(writer, 1)
            with contextlib.suppress(fl.TimedOut):
                views.append(reader.next()["x"].read())
        assert len(views) + reader.stats["steps_discarded"] == 150
        values = [int(view[0]) for view in views]
        assert values == sorted(set(values))
        assert len(values) > 20


def test_steps_that_no_reader_took_are_told(tmp_path):
    with writer_in(tmp_path, queue_steps=4) as writer:
        write(writer, 3)
    assert writer.stats["steps_unread"] == writer.stats["steps_written"] == 3


def test_what_is_queued_is_read_after_the_writer_has_closed(tmp_path):
    with writer_in(tmp_path, queue_steps=4) as writer:
        reader = reader_in(tmp_path)
        write(writer, 4)
    assert not pathlib.Path(writer.contact_path).exists()
    with reader:
        assert [int(step["x"][0]) for step in reader] == [0, 1, 2, 3]
        assert reader.next() is None


def test_two_readers_at_their_own_pace(tmp_path):
    with (
        writer_in(tmp_path, queue_steps=2, full="discard-oldest") as writer,
        reader_in(tmp_path) as fast,
        reader_in(tmp_path) as slow,
    ):
        for index in range(6):
            write(writer, 1)
            assert fast.next().index == index
        assert slow.next().index == 4
        assert fast.stats["steps_discarded"] == 0
        assert slow.stats["steps_discarded"] == 4
        assert writer.stats["steps_discarded"] == 4
        assert writer.stats["readers"] == 2


def test_lag_and_depth_are_told(tmp_path):
    with writer_in(tmp_path, queue_steps=8) as writer, reader_in(tmp_path) as reader:
        write(writer, 5)
        reader.next()
        assert reader.stats["lag_steps"] == 4
        assert reader.stats["queue_depth"] == writer.stats["queue_depth"] == 5


def test_the_cost_of_a_step_does_not_depend_on_its_number(tmp_path):
    with writer_in(tmp_path, queue_steps=2) as writer, reader_in(tmp_path) as reader:
        data = np.zeros(4)

        def seconds(count):
            begin = time.process_time()
            for _ in range(count):
                with writer.step(time=1.0) as step:
                    step.put("x", data, attrs={"unitSI": 1.0})
                reader.next()["x"].read()
            return time.process_time() - begin

        seconds(200)
        first = min(seconds(400) for _ in range(3))
        seconds(4000)
        last = min(seconds(400) for _ in range(3))
        assert last < 3 * first + 0.01
        assert writer.stats["arena_bytes"] <= 4 << 20


def test_a_chunk_of_more_than_2_gib(tmp_path):
    meminfo = dict(
        line.split(":") for line in pathlib.Path("/proc/meminfo").read_text().splitlines()
    )
    if int(meminfo["MemAvailable"].split()[0]) < 6 << 20:
        pytest.skip("less than 6 GiB of memory are available")
    size = (1 << 31) + 4096
    with writer_in(tmp_path, queue_bytes="3 GiB") as writer, reader_in(tmp_path) as reader:
        with writer.step() as step:
            span = step.span("x", "u1", (size,))
            span[:3], span[-3:] = [1, 2, 3], [4, 5, 6]
        dataset = reader.next()["x"]
        assert dataset.shape == (size,)
        view = dataset.read()
        assert view[:3].tolist() + view[-3:].tolist() == [1, 2, 3, 4, 5, 6]
        assert dataset[size - 2 :].tolist() == [5, 6]
        assert reader.stats["bytes_copied"] == 0


def test_the_newest_steps_are_reserved_for_readers_that_come_late(tmp_path):
    options = {"directory": tmp_path}
    writes = {"readers": 0, "queue_steps": 4, "reserve": 2}
    with fl.open("kept", "w", **writes, **options) as writer, fl.open("kept", **options) as early:
        for index in range(6):
            with writer.step() as step:
                step.put("x", np.full(3, index))
            assert early.next().index == index
        with fl.open("kept", **options) as late:
            assert [late.next()["x"].read()[0] for _ in range(2)] == [4, 5]
    for reserve, steps_to in ((4, "all"), (-1, "all"), (1, "on-demand")):
        with pytest.raises(fl.InvalidArgument, match="reserve"):
            fl.open("kept", "w", queue_steps=4, reserve=reserve, steps_to=steps_to, **options)
