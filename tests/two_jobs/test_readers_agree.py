# SPDX-License-Identifier: Apache-2.0
"""Ranks of a reader that reduce a step in different ways: an error on all, and the step goes on."""

import numpy as np
from harness import scenario
from harness.refusal import refused

SHAPE = (24, 5)


def write(comm, fl, where):
    with fl.open("fields", "w", comm=comm) as series, series.step() as step:
        step.put("x", np.random.default_rng(3).random(SHAPE))
        step.put("y", np.ones(SHAPE, "f4"))


def low_pass(fl, version):
    class LowPass(fl.ops.Operator):
        def identity(self, shape):
            return 0

        def absorb(self, partial, arrays, offset):
            return partial + int((arrays[0] < 0.5).sum())

        def merge(self, a, b):
            return a + b

        def finish(self, partial):
            return partial

    LowPass.version = version
    return LowPass()


def reduce_oddly(comm, fl, step):
    odd = comm.rank == comm.size - 1
    x = step["x"]
    whole = np.random.default_rng(3).random(SHAPE)

    def differ(what, **options):
        """Refuse a reduction of x whose options are not those of all ranks."""
        refused(fl, lambda: x.reduce(options.pop("op", "mean"), **options), *what)

    differ(
        (
            "the ranks differ in the operator of '0'",
            f"histogram(edges=[0, 0.5, 2], skipna=false) on rank {comm.size - 1}",
            "histogram(edges=[0, 0.5, 1], skipna=false) as on rank 0",
        ),
        op=fl.ops.Histogram([0, 0.5, 2 if odd else 1]),
    )
    differ(["sum(skipna=true)"], op="sum" if odd else "mean")
    differ(["skipna=false"], skipna=not odd)
    differ(["again=true"], op=fl.ops.Median(exact=odd))
    differ(["the axes to reduce over"], over=0 if odd else 1)
    differ(["the selection"], selection=np.s_[1:] if odd else np.s_[2:])
    differ(["the weights"], weights=np.full(SHAPE, 2.0 if odd else 1.0))
    differ(["the mask"], where=whole > 0 if odd else None)
    differ(["what the reduction is made by"], where="value > 0.5" if odd else None)
    differ(["what the reduction is made by"], mode="independent" if odd else "collective")
    differ(["are required"], min_count=1 + odd)
    differ(["what the reduction is made by"], weights={"dim_0": np.ones(SHAPE[0])} if odd else None)
    differ(["the conditions"], where=f"value > {0.25 if odd else 0.5}")
    differ(["LowPass, version '2'"], op=low_pass(fl, 2 if odd else 1))
    refused(fl, lambda: step.reduce("mean", "y" if odd else "x"), "the datasets", "'y'")
    # A mistake on one rank alone does not leave the others waiting.
    differ(["'nothing'"], op="nothing" if odd else "mean")
    differ(["7"], over=7 if odd else None)
    assert x.reduce(low_pass(fl, 1)) == (whole < 0.5).sum()
    mean = x.reduce("mean", weights=whole)
    np.testing.assert_allclose(mean, np.average(whole, weights=whole), rtol=1e-12)


def read(comm, fl, where):
    with fl.open("fields", comm=comm) as series:
        for step in series:
            reduce_oddly(comm, fl, step)
    return comm.rank


def on_ranks(ranks):
    def check(jobs):
        jobs.start()
        assert jobs.finish()["reader"] == list(range(ranks))

    check.__name__ = f"test_on_{ranks}_ranks"
    return scenario(f"writer on 1 rank, reader on {ranks} ranks", writer=write, reader=read)(check)


test_on_2_ranks, test_on_3_ranks = on_ranks(2), on_ranks(3)
