# SPDX-License-Identifier: Apache-2.0
"""Steps that several reading jobs share, of a writer on two hosts: the first gives them out."""

import os
import signal
import time

import numpy as np
import pytest
from harness import scenario, wait_until
from two_jobs.test_several_readers import STEPS, expected, share, sums


def steps_of(outcomes):
    """The steps of a job, all of whose ranks have got the same."""
    assert all(steps == outcomes[0][0] for steps, _ in outcomes)
    return outcomes[0][0]


@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, fast reader on 3 ranks of hosts 1-3, "
    "slow reader on 1 rank of host 3",
    writer=share,
    reader=sums,
)
def test_readers_share_steps_by_how_fast_they_are(jobs):
    jobs.start("writer", "fast_reader")
    jobs.start("slow_reader", pause=0.1)
    results = jobs.finish()
    fast, slow = (steps_of(results[f"{name}_reader"]) for name in ("fast", "slow"))
    assert sorted(fast + slow) == expected(2)
    assert len(fast) > len(slow) > 0
    assert [stats["steps_discarded"] for stats in results["writer"]] == [0, 0]


@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, one reader on 1 rank of host 3, "
    "other reader on 1 rank of host 3",
    writer=share,
    reader=sums,
)
def test_readers_that_both_wait_get_steps(jobs):
    jobs.start("writer", pause=0.05)
    jobs.start("one_reader", "other_reader")
    results = jobs.finish()
    one, other = (steps_of(results[f"{name}_reader"]) for name in ("one", "other"))
    assert sorted(one + other) == expected(2)
    assert min(len(one), len(other)) >= STEPS // 4


@scenario(
    "writer on 2 ranks of hosts 1-2, one reader on 1 rank of host 2, "
    "other reader on 2 ranks of hosts 1-2",
    writer=share,
    reader=sums,
)
def test_readers_take_turns(jobs):
    jobs.start("writer", steps_to="round-robin")
    jobs.start("one_reader", pause=0.005)
    jobs.start("other_reader")
    results = jobs.finish()
    one, other = (steps_of(results[f"{name}_reader"]) for name in ("one", "other"))
    assert sorted(one + other) == expected(2)
    assert abs(len(one) - len(other)) <= 2


@scenario(
    "writer on 4 ranks of hosts 1-2, doomed on 2 processes of host 3, "
    "reader on 2 ranks of hosts 2-3"
)
class test_the_steps_of_a_reader_that_dies_go_to_the_others:
    writer = staticmethod(share)
    reader = staticmethod(sums)

    def doomed(comm, fl, where):
        with fl.open("shared", comm=comm) as series:
            steps = iter(series)
            finished = [next(steps).index for _ in range(3)][:-1]
            (where / f"finished-{os.getpid()}").write_text(" ".join(map(str, finished)))
            (where / f"holds-{os.getpid()}").touch()
            wait_until((where / "never").exists, timeout=60)

    def check(jobs):
        jobs.start("writer", readers=3, steps_to="round-robin")
        jobs.start("doomed", "reader")
        wait_until(lambda: len(list(jobs.where.glob("holds-*"))) == 2)
        for process in range(2):
            os.kill(jobs["doomed"].pid(process), signal.SIGKILL)
        steps = steps_of(jobs.outcome("reader").values)
        assert [stats["readers_lost"] for stats in jobs.outcome("writer").values] == [2] * 4
        finished = [
            int(index)
            for path in jobs.where.glob("finished-*")
            for index in path.read_text().split()
        ]
        assert len(finished) == 4
        # What was finished last may come again: the writer need not have heard of it.
        assert {index for index, _ in steps} | set(finished) == set(range(STEPS))
        assert len(steps) + len(finished) <= STEPS + 2
        assert all(pair in expected(4) for pair in steps)


@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, stopped on 1 process of host 3, reader on 1 rank of host 3",
    timeout=90,
)
class test_the_steps_of_a_reader_that_is_stopped_go_to_the_others:
    writer = staticmethod(share)
    reader = staticmethod(sums)

    def stopped(comm, fl, where):
        with fl.open("shared", comm=comm) as series:
            step = series.next()
            (where / "holds").write_text(str(step.index))
            wait_until((where / "over").exists, timeout=60)
            with pytest.raises((fl.PeerStalled, fl.PeerLost)):
                series.next()
            return step.index

    def check(jobs):
        jobs.start("writer", pause=0.1, steps_to="round-robin")
        jobs.start("stopped")
        jobs.start("reader", pause=0.01)
        wait_until((jobs.where / "holds").exists)
        os.kill(jobs["stopped"].pid(0), signal.SIGSTOP)
        assert steps_of(jobs.outcome("reader").values)
        (jobs.where / "over").touch()
        os.kill(jobs["stopped"].pid(0), signal.SIGCONT)
        held = jobs.outcome("stopped").values[0]
        got = jobs.outcome("reader").values[0][0]
        assert sorted(got) == expected(2)
        assert held in [index for index, _ in got]
        assert jobs.outcome("writer").values[0]["readers_evicted"] == 1


@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, brief reader on 1 rank of host 2, "
    "late reader on 1 rank of host 3",
    writer=share,
    reader=sums,
)
def test_a_reader_leaves_and_another_comes(jobs):
    jobs.start("writer", readers=1, pause=0.05)
    jobs.start("brief_reader", leave_after=8, pause=0.5)
    wait_until((jobs.where / "step-4").exists)
    jobs.start("late_reader")
    results = jobs.finish()
    brief, late = (steps_of(results[f"{name}_reader"]) for name in ("brief", "late"))
    assert len(brief) == 8
    assert late[-1] == expected(2)[-1]
    # A step that it held when it left may come to both.
    assert set(brief) | set(late) == set(expected(2))
    assert len(brief) + len(late) <= STEPS + 1


@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, one reader on 1 rank of host 1, "
    "other reader on 1 rank of host 3",
    writer=share,
    reader=sums,
)
def test_steps_that_the_first_host_gives_up_leave_the_queues_of_the_others(jobs):
    given_up = range(5, 5 + 8)
    jobs.start("writer", queue_steps=2, given_up=given_up)
    jobs.start("one_reader", "other_reader")
    results = jobs.finish()
    one, other = (steps_of(results[f"{name}_reader"]) for name in ("one", "other"))
    assert sorted(one + other) == [pair for pair in expected(2) if pair[0] not in given_up]


@pytest.mark.parametrize("full", ["discard-oldest", "discard-newest"])
@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, one reader on 1 rank of host 2, "
    "other reader on 1 rank of host 3",
    writer=share,
    reader=sums,
)
def test_steps_that_a_host_discards_are_passed_over(jobs, full):
    jobs.start("writer", full=full, pause=0.05)
    jobs.start("one_reader", "other_reader", pause=0.1)
    results = jobs.finish()
    one, other = (steps_of(results[f"{name}_reader"]) for name in ("one", "other"))
    assert not {index for index, _ in one} & {index for index, _ in other}
    assert all(pair in expected(2) for pair in one + other)
    assert len(one) + len(other) > 10


@scenario(
    "writer on 2 ranks of hosts 1-2, reader on 1 rank of host 2, observer on 1 rank of host 3"
)
class test_who_looks_on_takes_no_step:
    writer = staticmethod(share)
    reader = staticmethod(sums)

    def observer(comm, fl, where):
        with fl.open("shared", comm=comm, start="observe") as series:
            (where / "looks on").touch()
            return [(step.index, int(step["x"].read().sum())) for step in series]

    def check(jobs):
        jobs.start("writer", readers=1, pause=0.02)
        jobs.start("observer")
        wait_until((jobs.where / "looks on").exists)
        jobs.start("reader")
        results = jobs.finish()
        assert steps_of(results["reader"]) == expected(2)
        (seen,) = results["observer"]
        assert seen
        assert all(pair in expected(2) for pair in seen)


@pytest.mark.one_mpi
@scenario("writer on 2 ranks of hosts 1-2", timeout=30)
class test_steps_that_are_shared_do_not_spill:
    def writer(comm, fl, where):
        with pytest.raises(fl.InvalidArgument, match="steps on a disk are for all"):
            fl.open("shared", "w", comm=comm, steps_to="on-demand", full="spill")
        return True

    def check(jobs):
        assert jobs.finish()["writer"] == [True, True]


def share_late(comm, fl, where):
    """Write eight steps in turn; one is late until a reader has lost its patience."""
    with fl.open("shared", "w", comm=comm, readers=2, steps_to="round-robin") as series:
        for index in range(8):
            if index == 4 and comm.rank == comm.size - 1:
                wait_until((where / "out of patience").exists)
            with series.step() as step:
                value = np.full(5, index * comm.size + comm.rank)
                step.put("x", value, offset=(comm.rank * 5,), shape=(comm.size * 5,))
        (where / f"written-{comm.rank}").touch()


def impatient(comm, fl, where):
    """Read until a step is late, and leave once there are more of them."""
    found = []
    with fl.open("shared", comm=comm, step_timeout=1) as series:
        with pytest.raises(fl.TimedOut):
            found.extend(step.index for step in series)
        (where / "out of patience").touch()
        wait_until((where / "written-0").exists)
        time.sleep(0.5)  # what was asked for comes
    return found


def patient(comm, fl, where):
    with fl.open("shared", comm=comm) as series:
        return [step.index for step in series]


def check_nothing_is_lost(jobs):
    results = jobs.finish()
    (left,), (stayed,) = results["impatient"], results["patient"]
    assert sorted(left + stayed) == list(range(8))
    assert 0 < len(left) <= 3


@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, impatient on 1 rank of host 3, patient on 1 rank of host 3",
    writer=share_late,
    impatient=impatient,
    patient=patient,
)
def test_a_step_that_was_given_to_a_reader_and_not_seen_goes_to_another(jobs):
    check_nothing_is_lost(jobs)


@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of host 1, impatient on 1 rank of host 2, patient on 1 rank of host 1",
    writer=share_late,
    impatient=impatient,
    patient=patient,
)
def test_a_step_that_is_on_its_way_to_a_reader_that_leaves_goes_to_another(jobs):
    check_nothing_is_lost(jobs)


@pytest.mark.parametrize("given_up", [range(0), range(5, 9)])
@pytest.mark.one_mpi
@scenario(
    "writer on 2 ranks of hosts 1-2, holder on 1 process of host 3, reader on 1 rank of host 3"
)
class test_the_last_steps_of_a_reader_that_dies_go_to_one_that_has_no_more:
    writer = staticmethod(share)

    def holder(comm, fl, where):
        with fl.open("shared", comm=comm) as series:
            (where / "holds").write_text(str(series.next().index))
            wait_until((where / "never").exists, timeout=60)

    def reader(comm, fl, where):
        found = []
        with fl.open("shared", comm=comm) as series:
            for step in series:
                found.append((step.index, int(step["x"].read().sum())))
                if step.index == STEPS - 1:
                    (where / "has the last").touch()
        return found

    def check(jobs, given_up):
        jobs.start("writer", given_up=given_up, stall_timeout=20)
        jobs.start("holder", "reader")
        wait_until((jobs.where / "has the last").exists)
        time.sleep(0.3)
        os.kill(jobs["holder"].pid(0), signal.SIGKILL)
        (found,) = jobs.outcome("reader").values
        held = int((jobs.where / "holds").read_text())
        assert found[-1][0] == held
        assert sorted(found) == [pair for pair in expected(2) if pair[0] not in given_up]
        assert jobs.outcome("writer").values[0]["steps_discarded"] == 0
