# SPDX-License-Identifier: Apache-2.0
import pytest

from bench import plotter
from bench.kernels import report
from bench.stage import picture

HEADER = {"machine": {"cpu": "a CPU", "cores": 2, "caches": {}, "kernel": "6"}, "software": {}}


def entry(size, median, peer, peer_median, metric="throughput", case="put"):
    return {
        "bench": "stage",
        "case": case,
        "params": {"bytes": size},
        "metric": metric,
        "unit": "GB/s",
        "median": median,
        "min": median / 2,
        "max": median * 2,
        "runs": 3,
        "peer": peer,
        "peer_median": peer_median,
        "ratio": None if peer_median is None else median / peer_median,
    }


RECORDS = [
    entry(64, 4.0, "SST", 2.0),
    entry(8, 1.0, "SST", 0.5),
    entry(8, 1.0, "memcpy", 8.0),
    entry(512, 6.0, "SST", None),
]


def panel(y="median", metrics=("throughput",)):
    return plotter.Panel("title", metrics, "GB/s", (), y=y)


def test_points_of_a_case_have_its_spread_and_ascend():
    line = plotter.Line("put", "k", case="put")
    assert plotter.points(RECORDS, panel(), line) == [
        (8, 1.0, 0.5, 2.0),
        (64, 4.0, 2.0, 8.0),
        (512, 6.0, 3.0, 12.0),
    ]


def test_points_of_a_peer_leave_out_what_it_did_not_measure():
    line = plotter.Line("SST", "k", peer="SST")
    assert plotter.points(RECORDS, panel(), line) == [(8, 0.5, 0.5, 0.5), (64, 2.0, 2.0, 2.0)]


def test_points_of_a_ratio_are_those_of_case_and_peer():
    line = plotter.Line("lead", "k", case="put", peer="memcpy")
    assert plotter.points(RECORDS, panel("ratio"), line) == [(8, 0.125, 0.125, 0.125)]


def test_metrics_add_up_only_where_all_are_known():
    records = [
        entry(8, 1.0, "SST", 1.0, "writer"),
        entry(8, 2.0, "SST", 1.0, "reader"),
        entry(64, 5.0, "SST", 1.0, "writer"),
    ]
    line = plotter.Line("put", "k", case="put")
    both = panel(metrics=("writer", "reader"))
    assert plotter.points(records, both, line) == [(8, 3.0, 1.5, 6.0)]


@pytest.mark.parametrize("records", [RECORDS, []])
def test_every_bench_draws_a_png_even_without_figures(tmp_path, records):
    for name, layout in (
        ("stage", picture.layout(HEADER)),
        ("kernels", report.layout(HEADER)),
    ):
        png = tmp_path / "new" / f"{name}.png"
        plotter.draw(png, layout, records)
        assert png.read_bytes().startswith(b"\x89PNG")
        assert png.stat().st_size > 10_000
