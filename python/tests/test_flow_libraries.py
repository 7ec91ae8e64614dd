# SPDX-License-Identifier: Apache-2.0
"""Libraries that compute on a concurrent.futures.Executor, on a pool of ranks."""

import math
import os
import sys

import numpy as np
import pytest
from fluvial.flow.joblib_backend import _backend_class

import fluvial as fl


@pytest.fixture(scope="module")
def pool():
    with fl.Pool(2) as made:
        yield made


def test_dask_computes_on_the_ranks_of_a_pool(pool):
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array")
    values = array.arange(10_000, chunks=1000)
    assert int(dask.compute((values**2).sum(), scheduler=pool)[0]) == sum(
        range(10_000)[i] ** 2 for i in range(10_000)
    )
    processes = dask.compute(*(dask.delayed(os.getpid)() for _ in range(20)), scheduler=pool)
    assert os.getpid() not in processes


def test_dask_submits_tasks_for_all_ranks(pool, monkeypatch):
    base = pytest.importorskip("dask.base")
    monkeypatch.setattr(base, "CPU_COUNT", 7)  # what it takes where it does not know better
    for executor in (pool, pool.with_options(priority=1)):
        assert base.get_scheduler(scheduler=executor).args[1] == 2


def test_xarray_computes_on_the_ranks_of_a_pool(pool):
    pytest.importorskip("dask.array")
    xr = pytest.importorskip("xarray")
    values = np.random.default_rng(0).normal(size=(40, 30))
    chunked = xr.DataArray(values, dims=("t", "x")).chunk(t=10)
    mean = chunked.mean("t").compute(scheduler=pool)
    np.testing.assert_allclose(mean.values, values.mean(axis=0), rtol=1e-13)


def test_joblib_calls_on_the_ranks_of_a_pool(pool):
    joblib = pytest.importorskip("joblib")
    with joblib.parallel_config(pool.joblib_backend()):
        roots = joblib.Parallel()(joblib.delayed(math.sqrt)(i * i) for i in range(100))
        processes = joblib.Parallel(batch_size=1)(joblib.delayed(os.getpid)() for _ in range(20))
        as_they_come = joblib.Parallel(return_as="generator_unordered")(
            joblib.delayed(abs)(-i) for i in range(20)
        )
        assert sorted(as_they_come) == list(range(20))
        with pytest.raises(ValueError, match="math domain error"):
            joblib.Parallel()(joblib.delayed(math.sqrt)(i) for i in (4, -1))
        assert joblib.Parallel(n_jobs=2)(joblib.delayed(_nested)(i) for i in range(3)) == [0, 2, 4]
        assert joblib.effective_n_jobs(-1) == pool.workers == 2
        assert joblib.effective_n_jobs(-5) == 1
    assert roots == list(range(100))
    assert os.getpid() not in processes


def _nested(number):
    import joblib

    return sum(joblib.Parallel(n_jobs=2)(joblib.delayed(abs)(-number) for _ in range(2)))


def test_joblib_without_joblib_says_so(pool, monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    _backend_class.cache_clear()
    with pytest.raises(fl.InvalidArgument, match="pip install joblib"):
        pool.joblib_backend()
