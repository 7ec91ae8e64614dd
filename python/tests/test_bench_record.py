# SPDX-License-Identifier: Apache-2.0
import json
import math

import pytest

from bench import record

SPEED = record.Metric("throughput", "GB/s", True)
TIME = record.Metric("latency", "us", False)


def test_line_has_exactly_the_keys_of_the_agreed_form():
    line = record.compare(
        "stage",
        "put",
        {"bytes": 8},
        SPEED,
        record.Sample.of([3, 1, 2]),
        "SST",
        record.Sample.of([1]),
    ).line()
    assert "\n" not in line
    assert json.loads(line) == {
        "bench": "stage", "case": "put", "params": {"bytes": 8}, "metric": "throughput",
        "unit": "GB/s", "median": 2.0, "min": 1.0, "max": 3.0, "runs": 3, "peer": "SST",
        "peer_median": 1.0, "ratio": 2.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "ours", "theirs", "ratio"),
    [(SPEED, 10, 2, 5), (SPEED, 2, 10, 0.2), (TIME, 2, 10, 5), (TIME, 10, 2, 0.2)],
)
def test_ratio_is_above_one_when_ours_is_better(metric, ours, theirs, ratio):
    assert metric.ratio(ours, theirs) == pytest.approx(ratio)
    assert metric.better(ours, theirs) == (ratio > 1)


def test_ratio_to_nothing_is_no_number_in_the_line():
    ours = record.Sample.of([1.0])
    zero = record.compare("b", "c", {}, SPEED, ours, "peer", record.Sample.of([0.0]))
    none = record.compare("b", "c", {}, SPEED, ours, "peer", None)
    assert zero.ratio is None
    assert (none.peer_median, none.ratio) == (None, None)
    assert json.loads(none.line())["ratio"] is None


@pytest.mark.parametrize("values", [[], [1.0, math.nan], [math.inf]])
def test_sample_refuses_what_is_no_figure(values):
    with pytest.raises(ValueError, match="sample"):
        record.Sample.of(values)


def test_best_of_takes_the_better_median_for_the_metric():
    samples = {"on": record.Sample.of([1, 2, 3]), "off": record.Sample.of([4, 5, 6])}
    assert record.best_of(SPEED, samples)[0] == "off"
    assert record.best_of(TIME, samples)[0] == "on"
    assert record.best_of(TIME, {}) is None


def test_last_run_of_a_file_is_the_one_after_the_last_header(tmp_path):
    file = tmp_path / "deep" / "stage.jsonl"
    for value in (1.0, 2.0):
        one = record.compare("b", "c", {}, SPEED, record.Sample.of([value]), "p", None)
        record.append_lines(file, {"machine": {"load": value}}, [one, one])
    header, records = record.last_run(file)
    assert header["machine"]["load"] == 2.0
    assert [r["median"] for r in records] == [2.0, 2.0]
    assert len(file.read_text().splitlines()) == 6


def test_last_run_refuses_a_file_without_header(tmp_path):
    file = tmp_path / "x.jsonl"
    file.write_text('{"bench": "stage"}\n')
    with pytest.raises(ValueError, match="machine"):
        record.last_run(file)
