# SPDX-License-Identifier: Apache-2.0
"""Readers that look on: `fl.open(name, start="observe")`."""

import threading

import numpy as np
import pytest

import fluvial as fl

FULL = ["block", "discard-newest", "discard-oldest"]


def put(series, index):
    with series.step(time=index / 2) as step:
        step.put("x", np.full(4, index))


@pytest.fixture
def at(tmp_path):
    return {"directory": tmp_path, "rendezvous_timeout": 20, "step_timeout": 20}


def test_the_newest_step_each_time_and_then_the_end(at):
    with fl.open("s", "w", readers=0, queue_steps=2, **at) as writer:
        put(writer, 0)
        with fl.open("s", start="observe", **at) as look:
            assert look.next()["x"].sum() == 0
            for index in range(1, 6):
                put(writer, index)
            step = look.next()
            assert (step.index, step.skipped, step.time) == (5, 4, 2.5)
            writer.close()
            assert look.next() is None


@pytest.mark.parametrize("full", FULL)
def test_neither_the_writer_nor_a_reader_can_tell(at, full):
    """A view of a step is held while 50 more go through a queue of two."""
    with (
        fl.open("s", "w", readers=0, queue_steps=2, queue_bytes=64, full=full, **at) as writer,
        fl.open("s", **at) as reader,
        fl.open("s", start="observe", **at) as look,
    ):
        put(writer, 0)
        held = look.next()["x"].read()
        for index in range(1, 50):
            assert reader.next().index == index - 1
            put(writer, index)
        np.testing.assert_array_equal(held, np.zeros(4))
        stats = writer.stats
        assert (stats["readers"], stats["readers_joined"]) == (1, 1)
        assert (stats["steps_written"], stats["queue_depth"]) == (50, 2)
        assert stats["steps_discarded"] == 0
        assert stats["steps_unread"] == 1  # the last, which waits for the reader
    assert writer.stats["readers_lost"] == writer.stats["readers_evicted"] == 0


@pytest.mark.parametrize("full", FULL)
def test_a_writer_without_readers_goes_on_under_its_eyes(at, full):
    with (
        fl.open("s", "w", readers=0, queue_steps=1, full=full, **at) as writer,
        fl.open("s", start="observe", **at) as look,
    ):
        views = []
        for index in range(20):
            put(writer, index)
            views.append(look.next()["x"].read())
        assert [int(view[0]) for view in views] == list(range(20))
        assert writer.stats["steps_written"] == 20
        assert writer.stats["steps_discarded"] == 0


def test_a_writer_that_waits_for_its_reader_goes_on_waiting(at):
    """A look is not the reader that a writer was started for, and takes no step from it."""
    opened = threading.Event()
    seen = []

    def write():
        with fl.open("s", "w", readers=1, **at) as writer:
            opened.set()
            for index in range(3):
                put(writer, index)

    thread = threading.Thread(target=write)
    thread.start()
    with fl.open("s", start="observe", **at) as look:
        status = look.status
        assert (status["steps_begun"], status["writer_ranks"]) == (0, 1)
        assert [reader["observes"] for reader in status["readers"]] == [True]
        assert not opened.is_set()
        with fl.open("s", **at) as reader:
            seen += [step.index for step in reader]
    thread.join()
    assert seen == [0, 1, 2]


def test_what_is_seen_of_a_stream(at):
    with (
        fl.open("s", "w", readers=0, queue_steps=3, full="discard-oldest", **at) as writer,
        fl.open("s", **at) as reader,
        fl.open("s", start="observe", **at) as look,
    ):
        for index in range(5):
            put(writer, index)
        reader.next()
        status = look.status
        assert (status["name"], status["full"], status["failure"]) == ("s", "discard-oldest", "")
        assert (status["steps_written"], status["steps_discarded"]) == (5, 2)
        assert (status["queue_depth"], status["queue_steps"]) == (3, 3)
        assert status["bytes_in_use"] == 3 * 32
        (mine,) = [r for r in status["readers"] if not r["observes"]]
        assert (mine["state"], mine["ranks"], mine["steps_taken"]) == ("active", 1, 1)
        assert (mine["lag_steps"], mine["steps_discarded"], mine["steps_held"]) == (2, 2, 1)
    with pytest.raises(fl.InvalidArgument, match="the stream is closed"):
        _ = look.status


@pytest.mark.parametrize("retain", [False, True])
def test_a_reader_lags_by_steps_on_the_disk_too(at, tmp_path, retain):
    options = {"full": "spill", "spill": tmp_path, "retain": str(tmp_path) if retain else None}
    with (
        fl.open("s", "w", readers=0, queue_steps=2, **options, **at) as writer,
        fl.open("s", **at) as reader,
        fl.open("s", start="observe", **at) as look,
    ):
        for index in range(6):
            put(writer, index)
        for taken in range(1, 7):
            reader.next()
            (mine,) = [r for r in look.status["readers"] if not r["observes"]]
            assert mine["lag_steps"] == reader.stats["lag_steps"] == 6 - taken
            assert mine["lag_on_disk"] == min(4, 6 - taken)


def test_starts_that_are_none(at):
    with pytest.raises(fl.InvalidArgument, match="'oldest', 'next', 'first', 'observe'"):
        fl.open("s", start="newest", **at)


def test_spilled_steps_wait_for_no_one_who_looks_on(at, tmp_path):
    """Their disk is given back once the reader has them, and no step is lost."""
    with (
        fl.open("s", "w", readers=0, queue_steps=1, full="spill", spill=tmp_path, **at) as writer,
        fl.open("s", **at) as reader,
        fl.open("s", start="observe", **at) as look,
    ):
        for index in range(8):
            put(writer, index)
        assert look.next().index == 0  # the others are on the disk
        assert look.status["steps_spilled"] == 7
        assert [reader.next().index for _ in range(8)] == list(range(8))
        assert writer.stats["steps_discarded"] == 0


def test_one_that_looks_on_has_nothing_to_resume(at):
    with pytest.raises(fl.InvalidArgument, match="a reader that looks on cannot resume"):
        fl.open("s", start="observe", resume="me", **at)
