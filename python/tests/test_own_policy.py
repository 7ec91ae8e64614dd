# SPDX-License-Identifier: Apache-2.0
"""A reader's own policy for a full queue, with both ends in one process."""

import contextlib
import csv
import io

import numpy as np
import pytest

import fluvial as fl


@pytest.fixture
def ends(tmp_path, monkeypatch):
    """Open a writer and readers with these options, each a dict."""
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    with contextlib.ExitStack() as opened:

        def begin(writing, *reading):
            options = {"readers": 0, "queue_steps": 2, "step_timeout": 5, **writing}
            writer = opened.enter_context(fl.open("live", "w", **options))
            return writer, *(
                opened.enter_context(fl.open("live", step_timeout=5, **each)) for each in reading
            )

        yield begin


def put(writer, index):
    with writer.step() as step:
        step.put("x", np.full(10, index))


def test_a_reader_that_discards_loses_what_the_writer_would_wait_for(ends):
    writer, archive, picture = ends({}, {}, {"full": "discard-oldest"})
    put(writer, 0)
    assert picture.next().index == archive.next().index == 0
    for index in range(1, 9):
        put(writer, index)
        assert archive.next().index == index
    step = picture.next()
    assert (step.index, step.skipped) == (7, 6)
    assert (step["x"].read() == 7).all()
    assert picture.stats["steps_discarded"] == 6
    assert archive.stats["steps_discarded"] == writer.stats["steps_discarded"] == 0


def test_views_of_a_reader_that_discards_stay_as_they_are(ends):
    writer, archive, picture = ends({"queue_bytes": 800}, {}, {"full": "discard-oldest"})
    held = []
    for index in range(10):
        with writer.step() as step:
            step.put("x", np.full(50, float(index)))
        archive.next()
        held.append((index, picture.next()["x"].read()))
        for at, view in held:
            assert (view == at).all()
        held = held[-2:]
    assert picture.stats["bytes_copied"] == 0


def test_a_reader_that_keeps_too_much_is_told_so(ends):
    writer, picture = ends({"queue_bytes": 800}, {"full": "discard-oldest"})
    held = []
    with pytest.raises(fl.Error, match=r"keep too many.*3 steps, 1200 bytes; allowed.*800 bytes"):
        for index in range(9):
            with writer.step() as step:
                step.put("x", np.full(50, float(index)))
            held.append(picture.next()["x"].read())
    assert [view[0] for view in held] == [0, 1, 2]
    held.clear()
    assert picture.next().index == 3


def test_everyone_sees_each_readers_policy(ends, call):
    writer, _, picture = ends({}, {}, {"full": "discard-newest"})
    put(writer, 0)
    assert [r["full"] for r in picture.status["readers"]] == ["block", "discard-newest"]
    with fl.open("live", start="observe", full="spill") as onlooker:  # as a job script may say
        assert [r["full"] for r in onlooker.status["readers"]] == ["block", "discard-newest", ""]
    assert (
        "reader 1 (1 ranks, active, discard-newest): 0 steps"
        in call("watch", "live", "--count", 1)[1]
    )
    _, out, _ = call("watch", "live", "--count", 1, "--format", "csv")
    assert [row["reader_full"] for row in csv.DictReader(io.StringIO(out))] == [
        "block",
        "discard-newest",
    ]


@pytest.mark.parametrize(
    ("writing", "reading", "message"),
    [
        (
            {"full": "discard-oldest"},
            {"full": "block"},
            "cannot make the writer wait: got full='block' of a stream with full='discard-oldest'",
        ),
        ({}, {"full": "spill"}, "no steps on a disk.*full='spill' of a stream with full='block'"),
        ({"steps_to": "on-demand"}, {"full": "discard-oldest"}, "steps_to='on-demand'"),
        ({}, {"full": "discard-oldest", "resume": "a"}, "with resume='a'"),
        ({}, {"full": "discard-newest", "start": "first"}, "with start='first'"),
        ({}, {"full": "drop"}, "full: got 'drop'; allowed: 'block'"),
        ({}, {"full": 3}, "full.*got 3; allowed: a str"),
    ],
)
def test_what_cannot_be_is_refused(ends, writing, reading, message):
    with pytest.raises(fl.InvalidArgument, match=message):
        ends(writing, reading)


def test_a_job_script_may_say_it_to_both_ends(ends, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(f'full = "spill,discard-newest"\nspill = "{tmp_path}"\n')
    options = {"options": path}
    writer, reader, picture = ends(options, options, options | {"full": "discard-oldest"})
    assert [r["full"] for r in reader.status["readers"]] == ["spill", "discard-oldest"]
    for index in range(5):
        put(writer, index)
    assert [reader.next().index for _ in range(5)] == [0, 1, 2, 3, 4]
    assert reader.stats["steps_from_disk"] > 0
    assert picture.stats["steps_from_disk"] == 0


def test_a_bound_of_the_disk_is_refused_where_all_steps_stay_there(tmp_path):
    said = r"spill_bytes=1048576 with retain='.*'; allowed: one of them"
    for full in ("block", "spill"):
        options = {"retain": tmp_path, "spill_bytes": "1 MiB", "full": full}
        with pytest.raises(fl.InvalidArgument, match=said):
            fl.open("live", "w", readers=0, directory=tmp_path, **options)
