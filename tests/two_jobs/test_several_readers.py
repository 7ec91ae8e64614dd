# SPDX-License-Identifier: Apache-2.0
"""Reader jobs that come together, late, and at their own speeds."""

import contextlib
import os
import signal
import time

import numpy as np
from harness import scenario, wait_until

STEPS = 60


def write(comm, fl, where, readers=2, full="block", late=0):
    """Write all steps; when `late` readers more are to come, the last half once they are there."""
    n = 1000
    with fl.open("shared", "w", comm=comm, queue_steps=3, readers=readers, full=full) as series:
        for index in range(STEPS):
            if index == STEPS // 2:
                wait_until(lambda: series.stats["readers_joined"] >= readers + late, timeout=40)
            if full == "discard-oldest" and index == STEPS - 1:
                # While every place holds a step that a reader reads, even the newest is given up.
                wait_until(lambda: series.stats["queue_depth"] == 0)
            with series.step() as step:
                step.put(
                    "x",
                    np.full(n, index * comm.size + comm.rank),
                    offset=(comm.rank * n,),
                    shape=(n * comm.size,),
                )
            if index == 9:
                (where / "ten steps").touch()
        return series.stats


def sums(comm, fl, where, pause=0.0, start="oldest", leave_after=STEPS, **options):
    out = []
    with fl.open("shared", comm=comm, start=start, **options) as series:
        for step in series:
            out.append((step.index, int(step["x"].read().sum())))
            time.sleep(pause)
            if len(out) == leave_after:
                break
        return out, series.stats


def expected(ranks):
    return [(i, 1000 * sum(i * ranks + r for r in range(ranks))) for i in range(STEPS)]


@scenario(
    "writer on 2 ranks, fast reader on 2 ranks, slow reader on 1 rank", writer=write, reader=sums
)
def test_two_readers_of_different_speed_lose_nothing(jobs):
    jobs.start("writer", "fast_reader")
    jobs.start("slow_reader", pause=0.01)
    results = jobs.finish()
    for got, stats in results["fast_reader"] + results["slow_reader"]:
        assert got == expected(2)
        assert stats["steps_discarded"] == 0
    assert results["writer"][0]["steps_discarded"] == 0


@scenario(
    "writer on 1 rank, quick reader on 1 rank, slow reader on 2 ranks", writer=write, reader=sums
)
def test_a_slow_reader_that_lets_go_of_steps_knows_how_many(jobs):
    jobs.start("writer", full="discard-oldest")
    jobs.start("quick_reader")
    jobs.start("slow_reader", pause=0.005)
    results = jobs.finish()
    for got, stats in results["quick_reader"] + results["slow_reader"]:
        assert [pair for pair in expected(1) if pair in got] == got
        assert len(got) == stats["steps_read"]
        assert len(got) + stats["steps_discarded"] == STEPS
        assert got[-1][0] == STEPS - 1
    first, second = results["slow_reader"]
    assert first[0] == second[0]
    assert (
        results["writer"][0]["steps_discarded"] >= results["slow_reader"][0][1]["steps_discarded"]
    )


@scenario("writer on 2 ranks, reader on 1 rank, late reader on 2 ranks", writer=write, reader=sums)
def test_a_late_reader_joins_a_running_stream_and_another_leaves_it(jobs):
    jobs.start("writer", readers=1, late=1)
    jobs.start("reader", pause=0.03, leave_after=STEPS - 10)
    wait_until((jobs.where / "ten steps").exists)
    jobs.start("late_reader", start="next")
    results = jobs.finish()
    assert results["reader"][0][0] == expected(2)[: STEPS - 10]
    late = results["late_reader"][0][0]
    assert late == results["late_reader"][1][0]
    assert late
    assert late == expected(2)[late[0][0] :]
    assert late[0][0] > 5
    assert results["writer"][0]["readers_joined"] == 2
    assert results["writer"][0]["readers_lost"] == 0


def share(comm, fl, where, given_up=(), pause=0.0, **options):
    """Write all steps for jobs that share them, but for those that rank 0 gives up."""
    options = {
        "queue_steps": 3,
        "readers": 2,
        "stall_timeout": 2,
        "steps_to": "on-demand",
    } | options
    with fl.open("shared", "w", comm=comm, **options) as series:
        for index in range(STEPS):
            time.sleep(pause)
            with contextlib.suppress(KeyError), series.step() as step:
                value = np.full(1000, index * comm.size + comm.rank)
                step.put("x", value, offset=(comm.rank * 1000,), shape=(comm.size * 1000,))
                if comm.rank == 0 and index in given_up:
                    raise KeyError(index)
            (where / f"step-{index}").touch()
        return series.stats


@scenario(
    "writer on 2 ranks, fast reader on 2 ranks, slow reader on 1 rank", writer=share, reader=sums
)
def test_readers_share_steps_by_how_fast_they_are(jobs):
    jobs.start("writer", "fast_reader")
    jobs.start("slow_reader", pause=0.05)
    results = jobs.finish()
    fast, slow = (results[f"{name}_reader"][0][0] for name in ("fast", "slow"))
    assert sorted(fast + slow) == expected(2)
    assert results["fast_reader"][1][0] == fast
    assert len(fast) > len(slow) > 0
    assert results["writer"][0]["steps_discarded"] == 0


@scenario(
    "writer on 2 ranks, one reader on 1 rank, other reader on 2 ranks", writer=share, reader=sums
)
def test_readers_take_turns(jobs):
    jobs.start("writer", steps_to="round-robin")
    jobs.start("one_reader", pause=0.005)
    jobs.start("other_reader")
    results = jobs.finish()
    one, other = (results[f"{name}_reader"][0][0] for name in ("one", "other"))
    assert sorted(one + other) == expected(2)
    assert abs(len(one) - len(other)) <= 2


@scenario(
    "writer on 2 ranks, doomed reader on 1 rank, reader on 2 ranks", writer=share, reader=sums
)
def test_the_steps_of_a_reader_that_dies_go_to_the_others(jobs):
    jobs.start("writer", steps_to="round-robin")
    jobs.start("doomed_reader", "reader", pause=0.02)
    wait_until((jobs.where / "step-9").exists)
    os.kill(jobs["doomed_reader"].pid(0), signal.SIGKILL)
    got = {index for index, _ in jobs.outcome("reader").values[0][0]}
    assert jobs.outcome("writer").values[0]["readers_lost"] == 1
    # All but the steps that the dead reader had finished, at most every other one until then.
    missing = set(range(STEPS)) - got
    assert len(missing) <= 6
    assert all(index < 12 for index in missing)
