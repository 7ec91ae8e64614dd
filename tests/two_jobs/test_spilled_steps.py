# SPDX-License-Identifier: Apache-2.0
"""Steps that lie on a disk, wholly or in part, are read, selected and reduced like any other."""

import time

import numpy as np
from harness import scenario, wait_until

STEPS = 12
ROWS, COLUMNS = 60, 11


def fields(index):
    rng = np.random.default_rng([7, index])
    return rng.normal(size=(ROWS, COLUMNS)), rng.integers(0, 99, (ROWS, COLUMNS)).astype("i2")


def write(comm, fl, where, seed, **options):
    """Every size-th row of `x` is a chunk, by put or by span, of `n` a strided block of rows."""
    options = {"full": "spill", "spill": where, **options}
    with fl.open("fields", "w", comm=comm, **options) as series:
        series.attrs["author"] = "us"
        for index in range(STEPS):
            x, n = fields(index)
            with series.step(time=index / 4, attrs={"phase": "melt"}) as step:
                for row in range(comm.rank, ROWS, comm.size):
                    place = {"offset": (row, 0), "shape": (ROWS, COLUMNS)}
                    if row % 5:
                        step.put("x", x[row : row + 1], **place, attrs={"unitSI": 1e-10})
                    else:
                        step.span("x", "f8", (1, COLUMNS), **place)[:] = x[row]
                half = slice(comm.rank * ROWS // comm.size, (comm.rank + 1) * ROWS // comm.size)
                turned = np.asfortranarray(n[half])
                step.put("n", turned, offset=(half.start, 0), shape=(ROWS, COLUMNS))
        comm.barrier()  # the first rank may be ahead of the others
        if comm.rank == 0:
            (where / "written").touch()
        return series.stats


def read(comm, fl, where, seed, wait_for="written"):
    rng = np.random.default_rng([seed, comm.rank])
    with fl.open("fields", comm=comm, start="oldest") as series:
        wait_until((where / wait_for).exists, timeout=60)
        for count, step in enumerate(series):
            x, n = fields(step.index)
            assert (step.index, step.time, step.skipped) == (count, count / 4, 0)
            assert step.attrs["phase"] == "melt"
            assert step["x"].attrs["unitSI"] == 1e-10
            np.testing.assert_array_equal(step["x"].read(), x)
            first, last = sorted(rng.integers(0, ROWS, 2))
            np.testing.assert_array_equal(
                step["n"].read((slice(first, last + 1), 3)), n[first : last + 1, 3]
            )
            found = step.reduce({"max": "max"}, "x")
            assert float(found["max"]) == x.max()
            assert int(step["x"].where("x > 0.5").count()) == (x > 0.5).sum()
            kept = step["n"].read()
        assert series.attrs["author"] == "us"
        stats = series.stats
    np.testing.assert_array_equal(kept, n)  # what was read outlives step and series
    return stats


@scenario("writer on 2 ranks, reader on 2 ranks", writer=write, reader=read)
def test_whole_steps_go_to_the_disk(jobs, seed):
    jobs.start("writer", seed=seed, queue_steps=2)
    jobs.start("reader", seed=seed)
    results = jobs.finish()
    assert results["writer"][0]["steps_spilled"] == STEPS - 2
    for stats in results["reader"]:
        assert (stats["steps_read"], stats["steps_from_disk"]) == (STEPS, STEPS - 2)


@scenario("writer on 3 ranks, reader on 2 ranks", writer=write, reader=read)
def test_parts_of_steps_go_to_the_disk(jobs, seed):
    """No step fits into the bytes of the queue."""
    jobs.start("writer", seed=seed, queue_steps=100, queue_bytes=3000)
    jobs.start("reader", seed=seed)
    results = jobs.finish()
    assert results["writer"][0]["bytes_logged"] > 0
    assert results["writer"][0]["steps_discarded"] == 0
    assert all(stats["bytes_from_disk"] > 0 for stats in results["reader"])


@scenario("writer on 2 ranks, reader on 3 ranks", writer=write, reader=read)
def test_a_stream_that_is_over_is_read_again(jobs, seed):
    jobs.start("writer", seed=seed, readers=0, retain=str(jobs.where))
    assert jobs.outcome("writer").values[0]["steps_written"] == STEPS
    jobs.start("reader", seed=seed)
    for stats in jobs.outcome("reader").values:
        assert stats["steps_from_disk"] == STEPS


@scenario("writer on 1 rank, reader on 2 ranks")
class test_a_rank_that_is_far_behind_another_misses_no_step:
    """By more than there are places in the list of what the job was given."""

    def writer(comm, fl, where):
        with fl.open("long", "w", comm=comm, readers=0, retain=where, queue_steps=16) as series:
            for index in range(1038):
                with series.step() as step:
                    step.put("x", np.full(4, index))
            (where / "written").touch()
            wait_until((where / "read").exists, timeout=60)

    def reader(comm, fl, where):
        wait_until((where / "written").exists, timeout=60)
        found = []
        options = {"start": "first", "retained": where}
        with fl.open("long", comm=comm, **options) as series:
            if comm.rank == 1:
                wait_until((where / "ahead").exists, timeout=60)
                time.sleep(1)
            for step in series:
                found.append((step.index, int(step["x"][0])))
                if comm.rank == 0 and len(found) == 1024:
                    (where / "ahead").touch()
                if len(found) == 1038:
                    break
        comm.barrier()
        (where / "read").touch()
        return found

    def check(jobs):
        found = jobs.finish()["reader"]
        assert found == [[(index, index) for index in range(1038)]] * 2
