# SPDX-License-Identifier: Apache-2.0
"""Ranks write compressed files, whatever way they have cut arrays: each its share of the chunks."""

import numpy as np
import pytest
from harness import scenario

SHAPES = {"many": (1_300_003,), "field": (1201, 803), "box": (61, 130, 101), "few": (7, 9)}


def random_cut(shape, number, ranks):
    from two_jobs.random_steps import random_puts

    rng = np.random.default_rng([len(shape), number])
    puts = []
    while {put.rank for put in puts} != set(range(ranks)):  # every rank has some of it
        puts = random_puts(rng, shape, ranks)
    return rng.integers(0, 1000, shape).astype("f8"), puts


def write(comm, fl, where, name, compression):
    with fl.open(str(where / name), "w", comm=comm, compression=compression) as series:
        for number in range(2):
            with series.step() as step:
                for dataset, shape in SHAPES.items():
                    whole, puts = random_cut(shape, number, comm.size)
                    for put in puts:
                        if put.rank == comm.rank:
                            part = whole[put.box]
                            step.put(dataset, part, offset=put.offset, shape=shape)
        written = series.stats["bytes"]
    expected = sum(8 * np.prod(shape) for shape in SHAPES.values()) * 2
    assert comm.allreduce(written) == expected
    return written / expected


@pytest.mark.parametrize(
    ("name", "compression"),
    [("x.h5", "gzip:1"), ("x%T.h5", "gzip:1"), ("x.nc4", "gzip:1"), ("x.zarr", "zstd")],
)
@scenario("job on 3 ranks", job=write, timeout=120)
def test_arrays_that_are_cut_anyhow(jobs, name, compression):
    import fluvial as fl

    jobs.start("job", name=name, compression=compression)
    shares = jobs.outcome("job").values
    with fl.open(str(jobs.where / name)) as series:
        assert len(series) == 2
        for number, step in enumerate(series):
            for dataset, shape in SHAPES.items():
                whole, _ = random_cut(shape, number, 3)
                np.testing.assert_array_equal(step[dataset].read(), whole)
    assert max(shares) < 0.6  # as even as whole chunks allow: one of three ranks has two of four


def test_shares_are_whole_chunks_of_one_rank_each():
    from fluvial.stage.chunk_exchange import ChunkShares

    rng = np.random.default_rng(1)
    for _ in range(200):
        shape = tuple(int(n) for n in rng.integers(1, 30, rng.integers(1, 4)))
        chunk = tuple(int(n) for n in rng.integers(1, 9, len(shape)))
        ranks = int(rng.integers(1, 6))
        shares = ChunkShares("f8", shape, chunk, [[]] * ranks)
        owners = np.zeros(shape, int)
        for rank in range(ranks):
            offset, extent = shares.of(rank)
            box = tuple(slice(o, o + n) for o, n in zip(offset, extent, strict=True))
            owners[box] += 1
            if all(extent):
                assert all(o % n == 0 for o, n in zip(offset, chunk, strict=True))
        assert (owners == 1).all()
