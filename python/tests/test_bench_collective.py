# SPDX-License-Identifier: Apache-2.0
"""What the second phase sends, and the experiments' figures."""

import itertools

import pytest

from bench import plotter
from bench.collective import picture, report, shuffle
from bench.collective.experiments import MPI, SCAN, Runs

SHAPE = 4, 3, 6, 5


def counted_one_by_one(asked, aggregators):
    """Count every element of every rank's selection by the aggregator whose range it lies in."""
    _, levels, lats, lons = SHAPE
    wanted = []
    for rank, (start, count) in enumerate(asked):
        ranges = [range(s, s + n) for s, n in zip(start, count, strict=True)]
        for t, z, y, x in itertools.product(*ranges):
            wanted.append((rank, ((t * levels + z) * lats + y) * lons + x))
    low, high = min(place for _, place in wanted), max(place for _, place in wanted) + 1
    edges = [low + (high - low) * k // len(aggregators) for k in range(len(aggregators) + 1)]
    sent = 0
    for rank, place in wanted:
        number = max(k for k in range(len(aggregators)) if edges[k] <= place)
        sent += aggregators[number] != rank
    return 4 * sent, 4 * len(wanted)


@pytest.mark.parametrize("aggregators", [(0,), (0, 1, 2), (2, 0), (1, 2, 3, 4)])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_two_phases_send_what_counting_one_by_one_says(ranks, axis, aggregators):
    asked = shuffle.shares((0, 1, 1, 1), (4, 2, 4, 3), axis, ranks)
    found = shuffle.two_phase_bytes(SHAPE, asked, aggregators)
    assert found == counted_one_by_one(asked, aggregators)
    assert found[1] == 4 * 4 * 2 * 4 * 3


def test_shares_cover_the_selection_once():
    asked = shuffle.shares((1, 0, 2, 0), (3, 3, 4, 5), 2, 3)
    assert [start[2] for start, _ in asked] == [2, 3, 4]
    assert sum(count[2] for _, count in asked) == 4


def test_a_map_of_pieces_has_an_entry_a_row_and_one_more_where_a_buffer_ends():
    asked = shuffle.shares((0, 0, 0, 0), SHAPE, 0, 2)
    rows = 4 * 3 * 6
    assert shuffle.entries_bytes(SHAPE, asked, 2**30) == rows * 72
    assert shuffle.entries_bytes(SHAPE, asked, 4 * 5) == rows * 72
    assert shuffle.entries_bytes(SHAPE, asked, 4) == rows * 5 * 72
    assert shuffle.entries_bytes(SHAPE, asked, 4 * 7) == (rows + 41) * 72


def test_the_model_grows_as_the_messages_do():
    small, large = shuffle.model(120, 100.0, 50.0), shuffle.model(240, 100.0, 50.0)
    assert small.raw == pytest.approx(800e9 * 23 / 24)
    assert large.raw == pytest.approx(2 * small.raw)
    assert small.to_one == 4 * 100 + 120 * 50
    assert small.to_all == 115 * 100 + 120 * 50
    assert small.common < small.to_one < small.to_all < small.raw


@pytest.fixture
def runs():
    found = Runs(io_s={"warm": 0.1})

    def add(experiment, side, x, total, **more):
        names = ("read_s", "compute_s", "reduce_s", "bytes_sent", "metadata_bytes")
        found.add(experiment, side, x, {"total_s": total, **dict.fromkeys(names, 1.0), **more})

    for ratio in (0.1, 1.0, 10.0):
        add("ratio, warm", MPI, ratio, 3.0 * ratio)
        add("ratio, warm", SCAN, ratio, 1.5 * ratio)
    for ranks in (2, 4):
        add("ranks", MPI, ranks, 4.0)
        add("ranks", SCAN, ranks, 2.0)
        for name in ("to one", "to all"):
            sent = {"bytes_sent": 66.0 * (ranks - 1), "metadata_bytes": 129.0 * ranks}
            add(f"shuffle, {name}, time", SCAN, ranks, 1.0, **sent)
    add("buffer", SCAN, 2**20, 1.0, metadata_bytes=516.0)
    return found


RAW = {(2, "time"): (10**6, 2 * 10**6)}
ENTRIES = {2**20: 10**5}


def test_records_have_both_sides_of_every_point(runs):
    records = report.records(runs, RAW, ENTRIES, report.modelled(runs))
    by = {}
    for record in records:
        by.setdefault(record.case, []).append(record)
    ratios = by["computation to I/O, warm"]
    assert [r.params["ratio"] for r in ratios] == [0.1, 1.0, 10.0]
    assert all(r.ratio == pytest.approx(2.0) for r in ratios)
    assert (by["buffer size"][0].median, by["buffer size"][0].peer_median) == (516, 10**5)
    counted = by["shuffle to one, counted"][0]
    assert counted.median == 66 + 2 * 129
    assert counted.peer_median == 10**6
    assert len(by["shuffle common, modelled"]) == len(shuffle.PAPER_RANKS)


def test_the_model_takes_its_sizes_from_real_runs(runs):
    scale = report.modelled(runs)[0]
    assert scale == shuffle.model(120, 66.0, 129.0)
    assert report.modelled(Runs()) == []


def test_ratios_and_volumes_are_written_as_in_the_paper():
    assert report.ratio_label(10.0) == "10:1"
    assert report.ratio_label(0.2) == "1:5"
    assert report.volume_label(800e9) == "800 GB"
    assert report.volume_label(516) == "516 B"


@pytest.mark.parametrize("drawn", [True, False])
def test_the_picture_is_drawn_and_the_tables_shown(tmp_path, runs, drawn, capsys):
    header = {
        "machine": {"cpu": "a CPU", "cores": 2, "kernel": "6", "caches": {}, "memory_gib": 1,
                    "governor": "none", "load": 0},
        "software": {},
    }  # fmt: skip
    records = report.records(runs, RAW, ENTRIES, report.modelled(runs)) if drawn else []
    png = tmp_path / "collective.png"
    plotter.draw(png, picture.layout(header, runs), [r.__dict__ for r in records])
    assert png.stat().st_size > 10_000
    report.show(report.Console(width=160), runs, records, header)
    shown = capsys.readouterr().out
    assert ("mean 2.00×, greatest 2.00×" in shown) == drawn
    assert ("100,000" in shown) == drawn
