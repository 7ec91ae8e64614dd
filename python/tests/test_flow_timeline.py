# SPDX-License-Identifier: Apache-2.0
"""Timelines of pools: the numbers, the files, the table and the picture."""

import itertools
import json
import time

import numpy as np
import pytest
from fluvial.flow.timeline import Timeline
from harness import scenario

import fluvial as fl

MS = 1_000_000


@fl.parallel
def nap(team, seconds):
    time.sleep(seconds)
    return team.size


def width_of(picture):
    from matplotlib import image  # not by all ranks of all tests of this module

    return image.imread(picture).shape[1]


def row(*events):
    return np.array(events, np.int64).tobytes()


def known_timeline():
    """Two kinds on three ranks, begun at 1000 ms; rank 3 does nothing."""
    return Timeline.of(
        ["mesh", "solve"],
        4,
        0.09,
        {
            1: row((1000 * MS, 1020 * MS, 0, 2), (1030 * MS, 1040 * MS, 1, 1)),
            2: row((1020 * MS, 1080 * MS, 1, 1)),
            3: row(),
        },
    )


def test_the_figures_of_a_timeline():
    timeline = known_timeline()
    assert timeline.seconds == pytest.approx(0.08)
    assert timeline.rate == pytest.approx(50)
    assert timeline.utilisation == pytest.approx(0.09 / 0.24)
    assert timeline.idle_tail == pytest.approx(1 - 0.12 / 0.24)
    assert timeline.overhead == pytest.approx((0.01 + 0.02) / 4)
    assert timeline.busy([-0.01, 0.01, 0.025, 0.035, 0.05, 0.08]).tolist() == [0, 1, 1, 2, 1, 0]
    assert timeline.seconds_by_kind(1) == pytest.approx({"mesh": 0.02, "solve": 0.01})
    assert "4 tasks on 3 ranks in 0.08 s: 50 a second, 37.5% busy" in str(timeline)


def test_a_timeline_without_tasks(tmp_path):
    empty = Timeline.of([], 0, 0.0, {1: row()})
    assert set(empty.summary().values()) == {0, 1}
    for name in ("t.json", "t.png"):
        empty.save(tmp_path / name)
    assert Timeline.read(tmp_path / "t.json").summary() == empty.summary()


def test_what_overlaps_by_the_skew_of_clocks_is_counted_once():
    timeline = Timeline.of(["a"], 2, 0.02, {1: row((0, 10 * MS, 0, 1), (9 * MS, 20 * MS, 0, 1))})
    assert timeline.ranks[1]["begin"].tolist() == pytest.approx([0, 0.01])


def test_a_timeline_is_read_as_it_was_written(tmp_path):
    timeline = known_timeline()
    timeline.save(tmp_path / "t.json")
    again = Timeline.read(tmp_path / "t.json")
    assert again.summary() == pytest.approx(timeline.summary())
    for rank, events in timeline.ranks.items():
        for name in events.dtype.names:
            assert np.allclose(again.ranks[rank][name], events[name])
    lines = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    counts = [(e["ts"], e["args"]["ranks"]) for e in lines if e["ph"] == "C"]
    assert counts == [(0, 1), (20000, 1), (30000, 2), (40000, 1), (80000, 0)]


@pytest.mark.parametrize(
    "text", ["", "{}", '{"traceEvents": [{"name": "x", "ph": "M"}]}', "[1", "[" * 100_000]
)
def test_something_else_is_not_a_timeline(tmp_path, text):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(fl.InvalidArgument, match=r"not the timeline of a pool: got .*t\.json"):
        Timeline.read(path)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('"dur": 1', '"dur": -1', "dur 0 or more"),
        ('"dur": 1', '"dur": NaN', "dur 0 or more"),
        ('"ts": 2', '"ts": Infinity', "finite microseconds"),
        ('"busy_seconds": 3', '"busy_seconds": NaN', "not the timeline of a pool"),
        ('"tasks": 4', '"tasks": Infinity', "not the timeline of a pool"),
        ('"tasks": 4', '"tasks": -4', "not the timeline of a pool"),
    ],
)
def test_times_and_numbers_that_are_none_are_refused(call, tmp_path, before, after, message):
    pool = {"name": "pool", "kinds": ["f"], "tasks": 4, "busy_seconds": 3}
    event = {"name": "f", "ph": "X", "tid": 0, "ts": 2, "dur": 1, "args": {"tasks": 1}}
    lines = [
        {"name": "process_name", "ph": "M", "args": pool},
        {"name": "thread_name", "ph": "M", "tid": 0},
        event,
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": lines}))
    assert Timeline.read(path).tasks == 4
    path.write_text(path.read_text().replace(before, after))
    code, out, err = call("trace", path)
    assert (code, out) == (2, "")
    assert message in err and len(err.splitlines()) == 1


def test_names_of_files_are_checked_before_anything_runs(tmp_path):
    for name, allowed in (("t.gif", "ends in .json or .png"), ("no/t.png", "directory that exi")):
        with pytest.raises(fl.InvalidArgument, match=allowed):
            fl.Pool(trace=tmp_path / name)


def test_a_timeline_that_cannot_be_written_is_named():
    pool = fl.Pool(trace="/proc/pool.json")
    assert pool.submit(abs, -1).result() == 1
    with pytest.raises(fl.SystemError, match=r"cannot be written: got '/proc/pool\.json'"):
        pool.shutdown()


def test_what_a_pool_of_one_rank_did(tmp_path):
    path = tmp_path / "pool.png"
    with fl.Pool(trace=path) as pool:
        assert pool.timeline().tasks == 0
        list(pool.map(time.sleep, [0.01] * 5))
        assert pool.submit(pow, 2, 3).result() == 8
        running = pool.timeline()
        assert running.tasks == 6
        assert running.kinds == ["sleep", "pow"] or len(running.kinds) == 2
    timeline = pool.timeline()
    [(rank, events)] = timeline.ranks.items()
    assert (rank, timeline.tasks, events["tasks"].sum()) == (0, 6, 6)
    assert 0.05 <= timeline.busy_seconds <= timeline.seconds
    assert all(a["end"] <= b["begin"] for a, b in itertools.pairwise(events))
    assert width_of(path) == 1500


def test_a_pool_that_was_not_asked_for_it_has_no_timeline():
    with fl.Pool() as pool, pytest.raises(fl.InvalidArgument, match="a pool with"):
        pool.timeline()
    with fl.Pool(1) as pool, pytest.raises(fl.InvalidArgument, match="a pool with"):
        pool.timeline()


@pytest.mark.any_mpi
def test_ranks_that_a_program_started(tmp_path, capfd, monkeypatch):
    from fluvial.cli import command_line as cli

    path = tmp_path / "pool.json"

    def shown_by(*options):
        monkeypatch.setattr("sys.argv", ["fluvial", "trace", str(path), *options])
        with pytest.raises(SystemExit, match=r"^0$"):
            cli.main()
        return capfd.readouterr().out

    with fl.Pool(3, trace=path) as pool:
        wide = pool.with_options(ranks=2, kind="wide").submit(nap, 0.1)
        narrow = [pool.submit(time.sleep, 0.05) for _ in range(4)]
        assert wide.result(timeout=60) == 2
        assert [future.result() for future in narrow] == [None] * 4
        assert pool.timeline().tasks == 5
    timeline = pool.timeline()
    assert sorted(timeline.ranks) == [1, 2, 3]
    wide = timeline.kinds.index("wide")
    assert [(e["kind"] == wide).sum() for e in timeline.ranks.values()].count(1) == 2
    assert timeline.busy_seconds >= 2 * 0.1 + 4 * 0.05
    assert timeline.seconds >= 0.1
    printed = capfd.readouterr()
    assert printed.err == "", "of the job"
    said = json.loads(shown_by("--format", "json"))
    assert said["summary"]["tasks"] == 5
    assert len(said["rows"]) == 3
    assert all(r["wide (s)"] + r["idle (s)"] <= timeline.seconds + 1e-5 for r in said["rows"])
    assert "5 tasks on 3 ranks" in shown_by()
    shown_by("--png", str(tmp_path / "p.png"))
    assert width_of(tmp_path / "p.png") > 0


@scenario("job on 4 ranks", timeout=60)
class test_ranks_of_a_job_lead_and_others:
    def job(comm, fl, where):
        with fl.Pool(comm=comm, trace=True, lead_works=True) as pool:
            if not pool.leads:
                try:
                    pool.timeline()
                except fl.InvalidArgument as error:
                    return str(error)
            pool.with_options(ranks=4).submit(nap, 0.02).result()
        return sorted(pool.timeline().ranks), pool.timeline().tasks

    def check(jobs):
        lead, *others = jobs.finish()["job"]
        assert lead == ([0, 1, 2, 3], 1)
        assert all("got rank" in said for said in others)


@scenario("job on 2 ranks", timeout=60)
class test_ranks_that_trace_and_others_are_an_error_on_all:
    def job(comm, fl, where):
        try:
            fl.Pool(comm=comm, trace=comm.rank == 0)
        except fl.InvalidArgument as error:
            return str(error)
        return None

    def check(jobs):
        assert all("trace" in said for said in jobs.finish()["job"])
