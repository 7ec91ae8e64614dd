# SPDX-License-Identifier: Apache-2.0
"""A writer on several hosts that retains its steps: each host keeps those of its ranks."""

import os
import random
import shutil
import signal
import time

import numpy as np
import pytest
from faults.roles import SHORT
from faults.test_steps_on_disk_killed import SEEDS
from faults.traces import stream_name
from harness import scenario, wait_until, write_whole

import fluvial as fl

STEPS = 30
ROWS = 100


def put_steps(series, comm, steps, pause=lambda index: None):
    """Write steps of which each rank has its own rows."""
    for index in range(steps):
        pause(index)
        with series.step(time=0.5 * index) as step:
            rows = ROWS * index + comm.rank + np.arange(ROWS) * 1e-3
            step.put("x", rows, offset=(ROWS * comm.rank,), shape=(ROWS * comm.size,))


def check_step(step, ranks):
    """What put_steps has written."""
    values = step["x"].read().reshape(ranks, ROWS)
    for rank in range(ranks):
        assert (values[rank] == ROWS * step.index + rank + np.arange(ROWS) * 1e-3).all()


def write(comm, fl, where, steps=STEPS, **options):
    with fl.open(
        stream_name(where), "w", comm=comm, readers=0, retain=where, **{**SHORT, **options}
    ) as series:
        put_steps(series, comm, steps)


def replay(where, ranks, **options):
    """Read the steps in this process, whose writer has ended."""
    seen = []
    with fl.open(
        stream_name(where), directory=where, **{**SHORT, "rendezvous_timeout": 1}, **options
    ) as series:
        for step in series:
            check_step(step, ranks)
            assert sorted({chunk.rank for chunk in step["x"].chunks}) == list(range(ranks))
            seen.append(step.index)
    return seen


@scenario("writer on 4 ranks of hosts 1-2, reader on 2 ranks of hosts 1-2")
class test_all_steps_are_read_after_the_writer_has_ended:
    writer = staticmethod(write)

    def reader(comm, fl, where):
        seen = []
        with fl.open(stream_name(where), comm=comm, retained=where, **SHORT) as series:
            for step in series:
                check_step(step, 4)
                seen.append((step.index, step.time))
            return seen, series.stats["steps_from_disk"]

    def check(jobs):
        jobs.start("writer")
        assert jobs.outcome("writer").ok
        name = stream_name(jobs.where)
        assert {path.name for path in jobs.where.glob("*.steps*")} == {
            f"{name}.steps",
            f"{name}.steps.1",
        }
        jobs.start("reader")
        for seen, from_disk in jobs.outcome("reader").values:
            assert seen == [(index, 0.5 * index) for index in range(STEPS)]
            assert from_disk == STEPS
        assert replay(jobs.where, 4) == list(range(STEPS))
        second = jobs.where / f"{name}.steps.1"
        second.rename(jobs.where / "elsewhere")
        with pytest.raises(fl.Error, match=r"on 2 hosts.*no steps in .*steps\.1.*Copy it"):
            replay(jobs.where, 4)
        shutil.copytree(jobs.where / f"{name}.steps", second)
        with pytest.raises(fl.DamagedFile, match=r"do not belong together.*host 0 of 2"):
            replay(jobs.where, 4)


@scenario("writer on 2 ranks of hosts 1-2, reader on 3 ranks of hosts 1-3", timeout=60)
class test_a_late_reader_begins_with_the_first_step:
    def writer(comm, fl, where):
        def pause(index):
            if index == STEPS // 2:
                wait_until((where / "the reader is there").exists, timeout=60)

        options = {"readers": 0, "queue_steps": 2, "full": "spill"}
        with fl.open(
            stream_name(where), "w", comm=comm, retain=where, **options, **SHORT
        ) as series:
            put_steps(series, comm, STEPS, pause)

    def reader(comm, fl, where):
        seen = []
        with fl.open(
            stream_name(where), comm=comm, start="first", retained=where, **SHORT
        ) as series:
            (where / "the reader is there").touch()
            for step in series:
                check_step(step, 2)
                seen.append(step.index)
        return seen

    def check(jobs):
        jobs.start("writer")
        wait_until(lambda: any(jobs.where.glob("*.steps.1/steps")), timeout=30)
        jobs.start("reader")
        for seen in jobs.outcome("reader").values:
            assert seen == list(range(STEPS))
        assert jobs.outcome("writer").ok


@pytest.mark.random
@pytest.mark.any_mpi(cases=3)
@pytest.mark.parametrize("seed", SEEDS)
@scenario(
    "writer on 2 ranks of hosts 1-2, reader on 2 ranks of hosts 1-2, "
    "later reader on 3 ranks of hosts 1-3"
)
class test_a_job_that_was_killed_goes_on_where_it_was:
    """Ranks are on both hosts of the writer, which keep positions; later one is on none."""

    def writer(comm, fl, where):
        def pause(index):
            if index == 2 * STEPS // 3:
                wait_until((where / "the later reader is there").exists, timeout=60)

        with fl.open(
            stream_name(where), "w", comm=comm, retain=where, full="spill", **SHORT
        ) as series:
            put_steps(series, comm, STEPS, pause)

    def reader(comm, fl, where):
        with fl.open(
            stream_name(where), comm=comm, resume="plot", retained=where, **SHORT
        ) as series:
            for step in series:
                check_step(step, 2)
                (where / f"rank {comm.rank} has {step.index}").touch()
                time.sleep(0.002)

    def later_reader(comm, fl, where):
        seen = []
        with fl.open(
            stream_name(where), comm=comm, resume="plot", retained=where, **SHORT
        ) as series:
            (where / "the later reader is there").touch()
            for step in series:
                check_step(step, 2)
                seen.append(step.index)
        return seen

    def check(jobs, seed):
        rng = random.Random(seed)
        jobs.start("writer")
        jobs.start("reader")
        for rank in range(2):
            wait_until((jobs.where / f"rank {rank} has 2").exists, timeout=30)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(jobs["reader"].pid(rng.randrange(2)), signal.SIGKILL)
        jobs.outcome("reader")
        before = min(sum(1 for _ in jobs.where.glob(f"rank {rank} has *")) - 1 for rank in range(2))
        jobs.start("later_reader")
        for seen in jobs.outcome("later_reader").values:
            assert seen == list(range(seen[0], STEPS))
            assert before <= seen[0] <= before + 1
        assert jobs.outcome("writer").ok
        # The same position, now that the writer has ended: from the disk.
        assert replay(jobs.where, 2, resume="plot") == []
        assert replay(jobs.where, 2, resume="other") == list(range(STEPS))
        assert replay(jobs.where, 2, resume="other") == []


@scenario("writer on 2 ranks of hosts 1-2")
class test_hosts_that_close_after_other_numbers_of_steps:
    """It is an error where the fewer steps are, and behind those that all hosts have."""

    def writer(comm, fl, where):
        series = fl.open(stream_name(where), "w", comm=comm, readers=0, retain=where, **SHORT)
        put_steps(series, comm, 10 if comm.rank == 0 else 5)
        time.sleep(1.5 * comm.rank)
        try:
            series.close()
        except fl.PeerLost as error:
            return str(error)

    def check(jobs):
        jobs.start("writer")
        said = jobs.outcome("writer").values
        assert said[0] is None
        assert "closed the stream after 5 steps, those on another host after 10" in said[1]
        seen = []
        with (
            pytest.raises(fl.PeerLost),
            fl.open(stream_name(jobs.where), directory=jobs.where, **SHORT) as series,
        ):
            for step in series:
                check_step(step, 2)
                seen.append(step.index)
        assert seen == list(range(5))


@pytest.mark.parametrize("first", [0, 1])
@scenario("writer on 2 ranks of hosts 1-2, reader on 1 process of host 3")
class test_a_reader_that_comes_while_ranks_close_waits_for_the_end:
    def writer(comm, fl, where):
        series = fl.open(stream_name(where), "w", comm=comm, readers=0, retain=where, **SHORT)
        put_steps(series, comm, 5)
        first = (where / "first").read_text() if (where / "first").exists() else "0"
        if comm.rank != int(first):
            wait_until((where / "a rank has closed").exists, timeout=30)
            time.sleep(1)
        series.close()
        (where / "a rank has closed").touch()

    def reader(comm, fl, where):
        with fl.open(stream_name(where), retained=where, **SHORT) as series:
            return [step.index for step in series]

    def check(jobs, first):
        write_whole(jobs.where / "first", str(first))
        jobs.start("writer")
        wait_until((jobs.where / "a rank has closed").exists, timeout=30)
        jobs.start("reader")
        assert jobs.outcome("reader").values == [list(range(5))]
        assert jobs.outcome("writer").ok


@scenario("writer on 2 ranks of hosts 1-2")
class test_a_writer_that_is_not_opened_leaves_no_steps:
    def writer(comm, fl, where):
        options = {"comm": comm, "retain": where, **SHORT}
        if comm.rank == 1:
            second = where / f"{stream_name(where)}.steps.1"
            second.mkdir(mode=0o700)
            (second / "steps").touch()
        said = []
        for _ in range(2):
            with pytest.raises(fl.InvalidArgument) as caught:
                fl.open(stream_name(where), "w", readers=0, **options)
            said.append(f"{stream_name(where)}.steps.1" in str(caught.value))
        comm.barrier()
        if comm.rank == 1:
            shutil.rmtree(second)
        comm.barrier()
        with pytest.raises(fl.TimedOut, match="too few readers"):
            fl.open(stream_name(where), "w", readers=1, **{**options, "rendezvous_timeout": 1})
        with fl.open(stream_name(where), "w", readers=0, **options) as series:
            put_steps(series, comm, 3)
        return said

    def check(jobs):
        jobs.start("writer")
        assert jobs.outcome("writer").values == [[True, True]] * 2
        assert replay(jobs.where, 2) == [0, 1, 2]
        shutil.rmtree(jobs.where / f"{stream_name(jobs.where)}.steps")
        with pytest.raises(fl.Error, match=r"first host.*missing.*steps\.1"):
            replay(jobs.where, 2)


@scenario("writer on 2 ranks of hosts 1-2")
class test_a_killed_rank_leaves_what_all_had_completed:
    def writer(comm, fl, where):
        with fl.open(
            stream_name(where), "w", comm=comm, readers=0, retain=where, **SHORT
        ) as series:
            put_steps(
                series, comm, 10**6, lambda index: (where / f"rank {comm.rank} at {index}").touch()
            )

    def check(jobs):
        jobs.start("writer")
        for rank in range(2):
            wait_until((jobs.where / f"rank {rank} at 20").exists, timeout=30)
        os.kill(jobs["writer"].pid(1), signal.SIGKILL)
        assert not jobs.outcome("writer").ok
        begun = min(len(list(jobs.where.glob(f"rank {rank} at *"))) for rank in range(2))
        seen = []
        with (
            pytest.raises(fl.PeerLost, match="without closing"),
            fl.open(stream_name(jobs.where), directory=jobs.where, resume="plot") as series,
        ):
            for step in series:
                check_step(step, 2)
                seen.append(step.index)
        assert seen == list(range(len(seen)))
        assert begun - 1 <= len(seen) <= begun
