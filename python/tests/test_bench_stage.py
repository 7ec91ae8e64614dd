# SPDX-License-Identifier: Apache-2.0
import io
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from bench import table
from bench.machine import describe_machine
from bench.stage import pair, payload, question, report


@given(st.integers(min_value=1, max_value=5000))
def test_expected_sum_is_that_of_the_body(count):
    body = payload.body(count)
    assert body.shape == (count,)
    assert body[0] == 0.0
    assert body.sum() == payload.expected_sum(count)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_check_passes_a_whole_step(sign):
    body = payload.body(1000)
    body[0] = sign * 12345678901.0
    payload.check(body.sum(), body[0], 12345678900.0, 1000)


def test_check_refuses_damage_and_disorder():
    body = payload.body(1000)
    body[0] = 100.0
    with pytest.raises(ValueError, match="damaged"):
        payload.check(body.sum() + 1.0, body[0], 0.0, 1000)
    with pytest.raises(ValueError, match="follows"):
        payload.check(body.sum(), body[0], 100.0, 1000)


def test_stamps_ascend_and_a_ping_is_negative():
    first, second = payload.stamp(0), payload.ping_stamp(0)
    assert 0 < first <= -second


def run(bytes_, seconds, latency_s, memory):
    return pair.Run(bytes_, 10, seconds, (latency_s,) * 3, memory, memory)


@pytest.fixture
def figures():
    """At 8 KiB preload off wins, at 1 MiB preload on; Fluvial is ten times as fast as either."""
    found = report.Figures(sizes=[2**13, 2**20], queue_steps=4)
    for size, name, seconds in (
        (2**13, report.PUT, 1e-3), (2**13, report.SST_ON, 4e-1), (2**13, report.SST_OFF, 1e-2),
        (2**20, report.PUT, 1e-2), (2**20, report.SST_ON, 1e-1), (2**20, report.SST_OFF, 2e-1),
    ):  # fmt: skip
        found.add_run(name, run(size, seconds, seconds, 2**30))
        found.add_memory(name, run(size, seconds, seconds, 2**30))
    found.add_limit(2**20, {"memcpy": 5e9, "sum": 6e9})
    return found


def test_sst_is_its_better_setting_each_time(figures):
    def ratio(size, metric):
        ours = figures.sample(report.PUT, size, metric)
        return metric.ratio(ours.median, figures.sample(report.SST, size, metric).median)

    for size in figures.sizes:
        assert ratio(size, report.THROUGHPUT) == pytest.approx(10)
        assert ratio(size, report.RATE) == pytest.approx(10)
        assert ratio(size, report.LATENCY) == pytest.approx(10)


def test_records_name_every_peer_and_a_missing_figure_is_null(figures):
    found = report.records(figures)
    by = {(r.params["bytes"], r.metric, r.peer): r for r in found}
    assert by[2**20, "throughput", "memcpy"].peer_median == 5.0
    assert by[2**13, "throughput", "memcpy"].ratio is None
    assert by[2**13, "memory of writer", "SST"].median == 1024.0
    assert by[2**13, "rate", "SST preload on"].ratio == pytest.approx(400)
    assert {r.case for r in found} == {"put, view-read"}
    assert all(r.params["ranks"] == [1, 1] for r in found)


def test_verdicts_speak_of_the_worst_size_only_where_measured(figures):
    found = report.verdicts(figures)
    assert [holds for holds, _ in found] == [True, True]
    assert "10.0 times" in found[0][1]
    assert "1 MiB" in found[0][1]
    figures.add_run(report.SPAN, run(2**20, 2e-2, 1.0, 1))
    assert [holds for holds, _ in report.verdicts(figures)] == [True, False, True]


def test_the_table_gives_the_ratio_to_the_limit_before_that_to_sst(figures):
    console = Console(file=io.StringIO(), width=300)
    machine = describe_machine()
    report.show(console, figures, {"machine": machine, "software": {}})
    throughput = (
        console.file.getvalue().split("End-to-end throughput")[1].split("Steps a second")[0]
    )
    heads = re.findall(r"(?:put|span) ÷ \w+", throughput)
    assert heads == ["put ÷ memcpy", "span ÷ memcpy", "put ÷ SST", "span ÷ SST"]
    (row,) = [line for line in throughput.splitlines() if line.lstrip().startswith("1 MiB")]
    ratios = [float(ratio) for ratio in re.findall(r"([\d.]+)×", row)]
    put, sst, memcpy = (
        figures.sample(name, 2**20, report.THROUGHPUT).median
        for name in (report.PUT, report.SST, report.MEMCPY)
    )
    assert ratios[0] == pytest.approx(put / memcpy, abs=0.005)
    assert put / sst == pytest.approx(ratios[1], abs=0.05)


def test_memory_of_a_gone_process_is_zero_and_of_this_one_is_not():
    import os

    before = pair.proportional_set_size(os.getpid())
    held = np.ones(2**24)
    assert pair.proportional_set_size(os.getpid()) - before > 0.9 * held.nbytes
    assert pair.proportional_set_size(2**22 + 1) == 0


@pytest.mark.parametrize(
    ("size", "label"), [(8, "8 B"), (2**10, "1 KiB"), (3 * 2**19, "1.5 MiB"), (2**30, "1 GiB")]
)
def test_size_labels(size, label):
    assert table.size_label(size) == label


@pytest.mark.parametrize(
    ("text", "sizes"), [("8", [8]), ("1Mi,8Ki, 8", [8, 2**13, 2**20]), ("8Ki,8192", [2**13])]
)
def test_sizes_of_the_command_line(text, sizes):
    assert question.parse_sizes(text) == sizes


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "multiples of 8") for text in ("0", "12", "-8", "8,0.001Ki")),
        *((text, "cannot read a number of bytes") for text in ("8K", "eight", "8,,16")),
    ],
)
def test_sizes_of_the_command_line_refused(text, said):
    import typer

    with pytest.raises(typer.BadParameter, match=said):
        question.parse_sizes(text)
