# SPDX-License-Identifier: Apache-2.0
"""Parallel functions, and the communicators of their teams."""

import functools

import pytest

import fluvial as fl


@fl.parallel
def _gather_ranks(comm, offset=0):
    return comm.gather(comm.rank + offset)


@fl.parallel
def _told(comm, first, second, third):
    return comm.size, first, second, third


def test_a_partial_parallel_function_is_parallel():
    part = functools.partial(functools.partial(_told, 1), third=3)
    with fl.Pool(2) as pool:
        assert pool.submit(part, 2).result(timeout=30) == (1, 1, 2, 3)
        wide = pool.with_options(ranks=2)
        assert wide.submit(part, 2).result(timeout=30) == (2, 1, 2, 3)
        declared = fl.parallel(functools.partial(_gather_ranks, offset=5))
        assert wide.submit(declared).result(timeout=30) == [5, 6]


@fl.parallel
def _free(comm, how):
    for made in (comm.Dup(), comm.Clone(), comm.Split(0)):
        made.Free()
    getattr(comm, how)()


def test_no_task_frees_the_communicator_of_later_ones():
    with fl.Pool(2) as pool:
        team = pool.with_options(ranks=2)
        for how in ("Free", "Disconnect"):
            freed = team.submit(_free, how)
            with pytest.raises(fl.InvalidArgument, match=rf"got {how}\(\); allowed:.*by Dup\(\)"):
                freed.result(timeout=30)
            assert team.submit(_gather_ranks).result(timeout=30) == [0, 1]
