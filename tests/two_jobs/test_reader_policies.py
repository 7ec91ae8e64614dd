# SPDX-License-Identifier: Apache-2.0
"""Readers with a policy of their own for a full queue, beside one that gets every step."""

import numpy as np
import pytest
from harness import scenario, wait_until

STEPS = 40


def write(comm, fl, where, queue_steps=2, **options):
    with fl.open("atoms", "w", comm=comm, queue_steps=queue_steps, readers=2, **options) as series:
        for index in range(STEPS):
            with series.step() as step:
                value = np.full(100, index * comm.size + comm.rank)
                step.put("x", value, offset=(comm.rank * 100,), shape=(comm.size * 100,))
            if comm.rank == 0:
                (where / f"step-{index}").touch()
        return series.stats


def archive(comm, fl, where):
    """Read every step, and say from outside what readers there are."""
    with fl.open("atoms", comm=comm) as series:
        got = [(step.index, int(step["x"].read().sum())) for step in series]
        return got, {r["full"] for r in series.status["readers"]}


def draw(comm, fl, where, **options):
    """Read what there is, and take as long for the first step as half of them need."""
    got = []
    with fl.open("atoms", comm=comm, **options) as series:
        for step in series:
            got.append((step.index, int(step["x"].read().sum())))
            if len(got) == 1:
                wait_until((where / f"step-{STEPS // 2}").exists, timeout=40)
        return got, series.stats


def expected(ranks):
    return [(i, 100 * sum(i * ranks + r for r in range(ranks))) for i in range(STEPS)]


def check_losses(jobs, results, ranks):
    assert results["archive"][0][0] == expected(ranks)
    assert results["writer"][0]["steps_discarded"] == 0
    (first, stats), *others = results["drawing"]
    assert all(got == first for got, _ in others)
    assert [pair for pair in expected(ranks) if pair in first] == first
    assert len(first) + stats["steps_discarded"] == STEPS
    assert stats["steps_discarded"] > 0
    return first


@pytest.mark.parametrize("queue_steps", [1, 3])
@scenario(
    "writer on 2 ranks, archive on 1 rank, drawing on 2 ranks",
    writer=write,
    archive=archive,
    drawing=draw,
)
def test_a_slow_reader_that_discards_takes_nothing_from_the_others(jobs, queue_steps):
    jobs.start("writer", queue_steps=queue_steps)
    jobs.start("archive")
    jobs.start("drawing", full="discard-oldest")
    results = jobs.finish()
    got = check_losses(jobs, results, 2)
    assert got[-1] == expected(2)[-1]
    ((_, policies),) = results["archive"]
    assert policies <= {"block", "discard-oldest"}


@scenario(
    "writer on 1 rank, archive on 2 ranks, drawing on 1 rank",
    writer=write,
    archive=archive,
    drawing=draw,
)
def test_a_reader_that_discards_what_is_new_gets_the_first_steps(jobs):
    jobs.start("writer")
    jobs.start("archive")
    jobs.start("drawing", full="discard-newest")
    got = check_losses(jobs, jobs.finish(), 1)
    assert got[:2] == expected(1)[:2]


@scenario(
    "writer on 1 rank, archive on 1 rank, drawing on 1 rank",
    writer=write,
    archive=archive,
    drawing=draw,
)
def test_a_slow_reader_of_a_retained_stream_reads_from_the_disk(jobs):
    jobs.start("writer", retain=jobs.where)
    jobs.start("archive")
    jobs.start("drawing", full="spill")
    results = jobs.finish()
    for got, _ in results["archive"] + results["drawing"]:
        assert got == expected(1)
    assert results["drawing"][0][1]["steps_from_disk"] > 0
    assert results["drawing"][0][1]["steps_discarded"] == 0


@scenario(
    "writer on 1 rank, archive on 1 rank, drawing on 1 rank",
    writer=write,
    archive=archive,
    drawing=draw,
)
def test_a_reader_that_discards_passes_over_what_is_spilled(jobs):
    jobs.start("writer", full="spill", spill=jobs.where)
    jobs.start("archive")
    jobs.start("drawing", full="discard-oldest")
    results = jobs.finish()
    check_losses(jobs, results, 1)
    assert results["drawing"][0][1]["steps_from_disk"] == 0
