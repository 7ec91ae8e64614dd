# SPDX-License-Identifier: Apache-2.0
"""Spilled and retained steps when a side is killed: nothing accepted is lost, or comes twice."""

import os
import random
import re
import signal
import time

import pytest
from faults.roles import SHORT, read, write
from faults.traces import stream_name
from harness import scenario, wait_until
from harness.kills import KILLS

import fluvial as fl

STEPS = 120
FIRST = int(os.environ.get("FLUVIAL_TEST_SEED", "4711").split(",")[0])
SEEDS = range(FIRST, FIRST + KILLS // 2)  # the other half are of the other side


def seen_by(where):
    return {int(path.name[5:]) for path in where.glob("read-*")}


def resumed(where, **options):
    """Read on in this process; the steps, and the kind of the error that ended them."""
    seen, kind = [], None
    with fl.open(stream_name(where), directory=where, resume="plot", **SHORT, **options) as series:
        try:
            for step in series:
                assert (step["x"].read() == step.index).all()
                assert len(step["x"].read()) % 1000 == 0
                seen.append(step.index)
        except fl.Error as error:
            kind = type(error).__name__
    return seen, kind


@pytest.mark.random
@pytest.mark.parametrize("seed", SEEDS)
@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read)
def test_a_reader_killed_at_any_moment_goes_on_where_it_was(jobs, seed):
    rng = random.Random(seed)
    full = rng.choice(["spill", "block"])
    jobs.start("writer", steps=STEPS, pause=0.001, full=full, retain=str(jobs.where), queue_steps=3)
    jobs.start("reader", resume="plot", pause=rng.choice([0, 0.002]))
    wait_until((jobs.where / "read-1").exists, timeout=30)
    time.sleep(rng.uniform(0, 0.12))
    pid = jobs["reader"].pid(0)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    before = seen_by(jobs.where)
    again, error = resumed(jobs.where)
    assert error is None
    assert again == list(range(again[0], STEPS)) if again else max(before) == STEPS - 1
    # The step that it read last may come again: it is not known whether it had finished it.
    assert not again or max(before) <= again[0] <= max(before) + 1
    assert jobs.outcome("writer").values[0]["error"] is None
    assert resumed(jobs.where) == ([], None)


@pytest.mark.random
@pytest.mark.parametrize("seed", SEEDS)
@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read)
def test_a_writer_killed_at_any_moment_leaves_what_was_accepted(jobs, seed):
    rng = random.Random(seed)
    retained = seed % 2 == 0
    kept = {"retain": str(jobs.where)} if retained else {"spill": str(jobs.where)}
    jobs.start("writer", steps=10**6, pause=0, full="spill", queue_steps=3, **kept)
    jobs.start("reader", pause=0.001, **({"resume": "plot"} if retained else {}))
    wait_until((jobs.where / "step-20").exists, timeout=30)
    time.sleep(rng.uniform(0, 0.15))
    pid = jobs["writer"].pid(0)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    result = jobs.outcome("reader").values[0]
    done = max(int(path.name[5:]) for path in jobs.where.glob("step-*"))
    assert result["error"][0] == "PeerLost"
    assert result["seen"] == list(range(len(result["seen"])))
    assert result["seen"][-1] in (done, done + 1)  # complete, but not told any more
    if retained:
        # A step that the writer was completing may be on the disk before readers are told of it.
        told = len(result["seen"])
        more, error = resumed(jobs.where)
        assert error == "PeerLost"
        assert more in ([], [told])
        assert told + len(more) <= done + 2
        assert resumed(jobs.where) == ([], "PeerLost")
        check_read_again(jobs.where, told + len(more))


def check_read_again(where, steps):
    with fl.open(stream_name(where), directory=where) as series:
        with pytest.raises(fl.PeerLost, match="ended without closing"):
            for index, step in enumerate(series):
                assert step.index == index
        assert series.stats["steps_from_disk"] == steps


@pytest.mark.parametrize("transport", ["auto", "tcp"])
@scenario("writer on 1 process, reader on 2 ranks", writer=write, reader=read)
def test_another_process_has_the_number_that_a_killed_writer_had(jobs, transport):
    """Numbers come again, and a process in a container has another number outside it."""
    jobs.start("writer", steps=10**6, pause=0, readers=0, retain=str(jobs.where))
    wait_until((jobs.where / "step-20").exists, timeout=30)
    pid = jobs["writer"].pid(0)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"))
    begun = len(list(jobs.where.glob("step-*")))
    contact = jobs.where / f"{stream_name(jobs.where)}.fluvial"
    changed, fields = re.subn(r"(?m)^pid=\d+$", f"pid={os.getpid()}", contact.read_text())
    assert fields == 1
    contact.write_text(changed)
    jobs.start("reader", resume="plot", transport=transport)
    for result in jobs.outcome("reader").values:
        assert result["error"][0] == "PeerLost"
        assert result["seen"] == list(range(len(result["seen"])))
        assert begun <= len(result["seen"]) <= begun + 2
    # A stream that retains nothing is as lost as it was.
    with pytest.raises(fl.StaleContact, match=f"process {os.getpid()}"):
        fl.open(
            stream_name(jobs.where), directory=jobs.where, retained=jobs.where / "none", **SHORT
        )


@scenario(
    "writer on 2 ranks, reader on 2 ranks, later reader on 3 ranks", writer=write, reader=read
)
def test_a_job_resumes_with_another_number_of_ranks(jobs):
    jobs.start("writer", steps=STEPS, pause=0.002, full="spill", retain=str(jobs.where))
    jobs.start("reader", resume="plot")
    wait_until((jobs.where / "read-10").exists, timeout=30)
    os.kill(jobs["reader"].pid(1), signal.SIGKILL)
    jobs.outcome("reader")
    before = max(seen_by(jobs.where))
    jobs.start("later_reader", resume="plot")
    for result in jobs.outcome("later_reader").values:
        assert result["error"] is None
        assert result["seen"] == list(range(result["seen"][0], STEPS))
        assert result["seen"][0] <= before + 1
    assert jobs.outcome("writer").values[0]["error"] is None
