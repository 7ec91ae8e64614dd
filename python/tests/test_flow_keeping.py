# SPDX-License-Identifier: Apache-2.0
"""Results that stay on the ranks that made them."""

import asyncio
import concurrent.futures
import time

import numpy as np
import pytest
from harness import scenario

import fluvial as fl

COUNT = 300_000


def rank_here():
    from mpi4py import MPI

    return MPI.COMM_WORLD.rank


def make(offset):
    return offset + np.arange(COUNT, dtype="f8")


def total(*arrays):
    """The sum of all elements, and where it was made."""
    return sum(float(array.sum()) for array in arrays), rank_here()


def make_further(offset):
    return fl.task(make, offset).with_options(keep=True)


def sleep(seconds):
    time.sleep(seconds)


def use(pool):
    """What holds in every pool with 2 workers or more."""
    keeping = pool.with_options(keep=True)
    made = [keeping.submit(make, offset) for offset in range(4)]
    concurrent.futures.wait(made, 60)
    assert all(future.done() and future.exception() is None for future in made)
    expected = [float(make(offset).sum()) for offset in range(4)]
    assert pool.submit(total, *made).result(60)[0] == sum(expected)
    seen = [pool.submit(total, future).result(60)[0] for future in made]
    assert seen == expected
    again = made[2].result(60)
    np.testing.assert_array_equal(again, make(2))
    again[0] = -1  # writable, and the program's own
    assert made[2].result() is again
    assert pool.submit(total, made[2]).result(60)[0] == expected[2]
    further = pool.submit(make_further, 5)
    assert pool.submit(total, further).result(60)[0] == float(make(5).sum())
    np.testing.assert_array_equal(further.result(60), make(5))
    assert list(keeping.map(abs, [-1, -2])) == [1, 2]
    assert isinstance(keeping.submit(make, "text").exception(60), TypeError)

    async def awaited():
        return await asyncio.wrap_future(keeping.submit(make, 9))

    np.testing.assert_array_equal(asyncio.run(awaited()), make(9))


def place_tasks(pool):
    for rank in (1, 2, 1):
        there = pool.with_options(keep=True, near=rank, strict=True)
        made = there.submit(make, rank)
        assert pool.submit(total, made).result(30)[1] == rank
        elsewhere = pool.with_options(near=3 - rank, strict=True)
        assert elsewhere.submit(total, made).result(30)[1] == 3 - rank


def ask_in_vain(pool):
    at_1 = pool.with_options(near=1, strict=True)
    made = at_1.with_options(keep=True).submit(make, 1)
    concurrent.futures.wait([made], 30)
    busy = at_1.submit(sleep, 1.0)
    while not busy.running():
        time.sleep(0.001)
    with pytest.raises(TimeoutError):
        made.result(timeout=0.1)
    assert made.result(timeout=30)[0] == 1


@scenario("job on 3 ranks", timeout=90)
class test_in_a_job:
    def job(comm, fl, where):
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                use(pool)
                place_tasks(pool)
                ask_in_vain(pool)
                never_asked = pool.with_options(keep=True).submit(make, 1)
        if pool.leads:
            with pytest.raises(fl.Error, match="the pool was closed before a result was fetched"):
                never_asked.result(5)

    def check(jobs):
        jobs.finish()


def test_on_ranks_that_a_program_started():
    with fl.Pool(2) as pool:
        use(pool)


def test_in_a_thread_of_the_process():
    with fl.Pool() as pool:
        use(pool)


def test_a_task_with_a_key_cannot_keep(tmp_path):
    with (
        fl.Pool(journal=tmp_path / "journal") as pool,
        pytest.raises(fl.InvalidArgument, match="a key or keep, not both"),
    ):
        pool.with_options(key="one", keep=True)


@fl.parallel
def _slab(comm, n):
    return np.arange(n, dtype="f8") + n * comm.rank


@fl.parallel
def _slab_but_last(comm, n):
    if comm.rank == comm.size - 1:
        raise LookupError("no slab")
    return np.zeros(n)


@fl.parallel
def _parts_and_sum(comm, mine, offset=0):
    return comm.gather(len(mine)), comm.allreduce(float(mine.sum())) + offset


def _lengths(parts):
    return [len(part) for part in parts]


@pytest.mark.any_mpi
def test_each_rank_of_a_team_keeps_its_part():
    with fl.Pool(3) as pool:
        two, three = pool.with_options(ranks=2), pool.with_options(ranks=3)
        for wide, width in ((two, 2), (three, 3)):
            field = wide.with_options(keep="parts").submit(_slab, 1000)
            assert len(field.parts) == width and field.parts[0] is field.parts[0]
            total = sum(range(1000 * width))
            told = wide.submit(_parts_and_sum, fl.own_part(field), offset=1).result(timeout=60)
            assert told == ([1000] * width, total + 1)
            assert pool.submit(_lengths, field.parts).result(timeout=60) == [1000] * width
            for rank, part in enumerate(field.parts):
                found = part.result(timeout=60)
                np.testing.assert_array_equal(found, np.arange(1000.0) + 1000 * rank)
                assert part.done() and part.exception() is None
            np.testing.assert_array_equal(field.result(timeout=60), np.arange(1000.0))
            both = wide.submit(_parts_and_sum, mine=fl.own_part(field)).result(timeout=60)
            assert both[1] == total


def test_parts_of_a_pool_in_this_process():
    with fl.Pool() as pool:
        field = pool.with_options(keep="parts").submit(_slab, 5)
        assert pool.submit(_parts_and_sum, fl.own_part(field)).result(timeout=60) == ([5], 10)
        assert field.parts[0].result(timeout=60).tolist() == [0, 1, 2, 3, 4]


def test_parts_of_a_task_that_fails():
    with fl.Pool(2) as pool:
        wide = pool.with_options(ranks=2)
        field = wide.with_options(keep="parts").submit(_slab_but_last, 5)
        needs = wide.submit(_parts_and_sum, fl.own_part(field))
        for future in (field, needs, *field.parts):
            with pytest.raises(LookupError, match="no slab"):
                future.result(timeout=60)


def test_parts_that_cannot_be_had():
    with fl.Pool(2) as pool:
        wide = pool.with_options(ranks=2)
        without = wide.submit(_slab, 5)
        assert without.parts == []
        with pytest.raises(fl.InvalidArgument, match="has no parts"):
            fl.own_part(without)
        with pytest.raises(fl.WrongType, match="own_part"):
            fl.own_part(3)
        field = wide.with_options(keep="parts").submit(_slab, 5)
        for ranks in (1, (1, 2)):
            with pytest.raises(fl.InvalidArgument, match="as wide as theirs"):
                pool.with_options(ranks=ranks).submit(_parts_and_sum, fl.own_part(field))
        with pytest.raises(fl.InvalidArgument, match="one width"):
            pool.with_options(ranks=(1, 2), keep="parts")
        with pytest.raises(fl.InvalidArgument, match=r'keep: got .*"parts"'):
            wide.with_options(keep="part")
        with pytest.raises(fl.InvalidArgument, match="a key or keep"):
            wide.with_options(keep="parts", key="k")
        with fl.Pool() as other, pytest.raises(fl.InvalidArgument, match="same pool"):
            other.with_options(ranks=2).submit(_parts_and_sum, fl.own_part(field))
        assert wide.submit(_parts_and_sum, fl.own_part(field)).result(timeout=60)[0] == [5, 5]
