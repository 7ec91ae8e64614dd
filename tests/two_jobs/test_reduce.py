# SPDX-License-Identifier: Apache-2.0
"""Reductions of live steps, where the data lies, against NumPy on the whole arrays."""

import numpy as np
from harness import scenario
from two_jobs.random_steps import random_selection

STEPS = 3
SHAPE = (30, 7, 4)


def fields(seed, index):
    rng = np.random.default_rng([seed, index])
    x, y = rng.normal(size=SHAPE), rng.normal(size=SHAPE)
    return {"x": x, "y": y, "f": x.astype("float32"), "n": rng.integers(-50, 50, SHAPE)}


def close(found, expected, magnitude):
    """Hold sums (means) of up to 1,000 numbers to what two ways of adding may differ by.

    `magnitude` is the sum (mean) of their absolute values: rounding is relative to that, however
    near to zero the sum itself is.
    """
    assert np.all(np.abs(found - expected) <= 64 * np.finfo("f8").eps * magnitude)


def write(comm, fl, where, seed):
    with fl.open("fields", "w", comm=comm) as series:
        for index in range(STEPS):
            with series.step() as step:
                for name, array in fields(seed, index).items():
                    for first in range(
                        comm.rank, SHAPE[0], comm.size
                    ):  # every size-th row is a chunk
                        step.put(name, array[first : first + 1], offset=(first, 0, 0), shape=SHAPE)


def conditions(step, x, y):
    """Compare reductions that need a scan, by all ranks together, with NumPy."""
    some = np.where(y > 0, x, 0)
    found = step["x"].where("y > 0").sum("dim_1")
    assert found.dims == ("dim_0", "dim_2")
    close(found.values, some.sum(axis=1), np.abs(some).sum(axis=1))
    grown = {"dim_0": np.arange(1.0, 1 + SHAPE[0])}
    mean = np.average(x, axis=0, weights=grown["dim_0"])
    close(step["x"].weighted(grown).mean("dim_0").values, mean, np.abs(x).max())
    chosen = step["x"].isel(dim_0=slice(None, None, -2)) * 2
    close(chosen.sum("dim_0").values, 2 * x[::-2].sum(axis=0), 2 * np.abs(x).sum(axis=0))
    counted = step.reduce("count", "n", where="value > 10", local=True)
    assert int(counted) == int(step["n"].where("n > 10").count())


def read(comm, fl, where, seed):
    class SumOfProducts(fl.ops.Operator):
        inputs = 2

        def identity(self, shape):
            return np.zeros(1)

        def absorb(self, partial, arrays, offset):
            return partial + np.sum(np.asarray(arrays[0], float) * arrays[1])

        def merge(self, a, b):
            return a + b

        def finish(self, partial):
            return partial[0]

    scanned = 0
    with fl.open("fields", comm=comm) as series:
        for step in series:
            want = fields(seed, step.index)
            x, y, n = want["x"], want["y"], want["n"]
            for name in ("sum", "mean", "min", "max", "std"):
                for over in (None, 0, (0, 2), 1):
                    local = over == 1
                    found = step["x"].reduce(name, over=over, local=local)
                    expected = getattr(np, name)(x, axis=over)
                    if name in ("min", "max"):
                        np.testing.assert_array_equal(found, expected)
                    elif name == "std":
                        np.testing.assert_allclose(found, expected, rtol=1e-12)
                    else:
                        close(found, expected, getattr(np, name)(np.abs(x), axis=over))
            assert step["n"].reduce("sum") == n.sum()
            f = want["f"].astype(float)
            close(step["f"].reduce("mean"), f.mean(), np.abs(f).mean())
            several = step["x"].reduce(
                {"low": "min", "high": "max", "bins": fl.ops.Histogram(np.linspace(-3, 3, 13))}
            )
            assert (several["low"], several["high"]) == (x.min(), x.max())
            rng = np.random.default_rng([seed, step.index, 7])  # the same on all ranks: collective
            for selection in [
                np.s_[3:25:3, ::2],
                np.s_[..., 1],
                *(random_selection(rng, SHAPE) for _ in range(6)),
            ]:
                part = x[selection]
                if part.size:
                    found = step["x"].reduce("sum", selection=selection)
                    close(found, part.sum(), np.abs(part).sum())
                    assert step["x"].reduce("max", selection=selection) == part.max()
            thinned = x[3:25:3, 1::2]
            found = step["x"].reduce("argmax", selection=np.s_[3:25:3, 1::2])
            at = np.unravel_index(np.argmax(thinned), thinned.shape)
            assert found.value == thinned.max()
            assert found.coordinates == (3 + 3 * at[0], 1 + 2 * at[1], at[2])  # of the whole array
            weights = rng.random(SHAPE)
            mask = rng.random(SHAPE) < 0.5
            found = step["x"].reduce("mean", weights=weights)
            magnitude = np.average(np.abs(x), weights=weights)
            close(found, np.average(x, weights=weights), magnitude)
            close(step["x"].reduce("sum", where=mask), x[mask].sum(), np.abs(x[mask]).sum())
            before = series.stats["bytes_copied"]
            conditions(step, x, y)
            scanned += series.stats["bytes_copied"] - before
            both = step.reduce(
                {"dot": SumOfProducts(), "most": "max"}, inputs={"dot": ["x", "y"], "most": "y"}
            )
            close(both["dot"], np.sum(x * y), np.abs(x * y).sum())
            assert both["most"] == y.max()
            try:
                step.reduce("sum", inputs="nothing")
                raise AssertionError("an unknown dataset was reduced")
            except fl.InvalidArgument:
                pass
        return series.stats["steps_read"], series.stats["bytes_copied"] - scanned


def check(jobs, seed):
    jobs.start(seed=seed)
    assert jobs.finish()["reader"] == [(STEPS, 0)] * 3


check.__name__ = "test_two_writers_three_readers"
test_two_writers_three_readers = scenario(
    "writer on 2 ranks, reader on 3 ranks", writer=write, reader=read
)(check)
