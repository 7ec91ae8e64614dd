# SPDX-License-Identifier: Apache-2.0
"""Each rank of a reader gets its part of a live step, by a strategy."""

import numpy as np
import pytest
from harness import scenario

import fluvial as fl

SHAPE = (37, 6)
STRATEGIES = [
    "hyperslabs",
    "even-binpacking",
    "round-robin",
    "by-host(binpacking)",  # needs no fallback: all are on one host
    "lines(0, even-binpacking)",
]


def field(index):
    return np.arange(SHAPE[0] * SHAPE[1]).reshape(SHAPE) + 1000 * index


def write(comm, fl, where):
    with fl.open("field", "w", comm=comm) as series:
        for index in range(2):
            with series.step() as step:
                cuts = np.linspace(0, SHAPE[0], comm.size * 3 + 1).astype(int)
                for i in range(comm.rank, comm.size * 3, comm.size):
                    part = field(index)[cuts[i] : cuts[i + 1]]
                    step.put("f", part, offset=(cuts[i], 0), shape=SHAPE)
                if comm.rank == 0:
                    step.put("n", np.float64(index))


def read(comm, fl, where):
    seen = []
    with fl.open("field", comm=comm) as series:
        for step in series:
            for strategy in STRATEGIES:
                mine = step["f"].mine(strategy)
                seen.append([(p.offset, step["f"][p.selection].tolist()) for p in mine])
            by_name = step.mine(lambda chunks, readers: [(len(readers) - 1, c) for c in chunks])
            assert sorted(by_name) == ["f", "n"]
            assert bool(by_name["n"]) == (comm.rank == comm.size - 1)
            with pytest.raises(fl.InvalidArgument, match="Did you mean 'blocks'"):
                step.mine("block" if comm.rank == comm.size - 1 else "blocks")
            if comm.size > 1:
                with pytest.raises(fl.InvalidArgument, match="the ranks differ in the strategy"):
                    step.mine("blocks" if comm.rank == 0 else "round-robin")
    return seen


def check_shares(jobs):
    by_rank = jobs.finish()["reader"]
    for number, parts in enumerate(zip(*by_rank, strict=True)):
        whole = np.full(SHAPE, -1)
        for (row, column), values in (part for share in parts for part in share):
            block = np.array(values)
            target = whole[row : row + block.shape[0], column : column + block.shape[1]]
            assert (target == -1).all()
            target[...] = block
        assert np.array_equal(whole, field(number // len(STRATEGIES)))


def own_strategies(comm, step):
    """Return what a step, live or in files, says of strategies that fail or differ by rank."""

    def fails_on_one(chunks, readers):
        if comm.rank == 1:
            raise ValueError("only rank 1")
        return [(0, chunk) for chunk in chunks]

    def differs(chunks, readers):
        return [(comm.rank % len(readers), chunk) for chunk in chunks]

    said = []
    for strategy in (fails_on_one, differs):
        with pytest.raises((ValueError, fl.InvalidArgument)) as caught:
            step["f"].mine(strategy)
        said.append(str(caught.value))
    right = step["f"].mine(lambda chunks, readers: [(0, chunk) for chunk in chunks])
    assert bool(right) == (comm.rank == 0)
    return said


@scenario("writer on 2 ranks, reader on 3 ranks", timeout=90)
class test_own_strategies_that_fail_or_differ:
    """What one rank meets is an error on all, of streams and of files."""

    writer = write

    def reader(comm, fl, where):
        path = str(where / "f.h5")
        with fl.open(path, "w", comm=comm) as series, series.step() as step:
            step.put("f", field(0)[comm.rank :: 3][:1], offset=(comm.rank, 0), shape=(3, SHAPE[1]))
        with fl.open("field", comm=comm) as series:
            said = [own_strategies(comm, series.next())]
        with fl.open(path, comm=comm) as series:
            return [*said, own_strategies(comm, series.steps[0])]

    def check(jobs):
        for by_kind in jobs.finish()["reader"]:
            for fails, differs in by_kind:
                assert "only rank 1" in fails
                assert "strategy assigns" in differs


@scenario("writer on 2 ranks, reader on 3 ranks", timeout=90)
class test_ranks_of_a_reader_share_a_step:
    writer = write
    reader = read
    check = check_shares


@scenario("writer on 1 rank, reader on 1 rank", timeout=60)
class test_a_single_reader_gets_everything:
    writer = write
    reader = read
    check = check_shares
