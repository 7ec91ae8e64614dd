# SPDX-License-Identifier: Apache-2.0
"""Libraries that compute on a concurrent.futures.Executor, on a pool of ranks."""

import os

import numpy as np
import pytest

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


def test_xarray_computes_on_the_ranks_of_a_pool(pool):
    pytest.importorskip("dask.array")
    xr = pytest.importorskip("xarray")
    values = np.random.default_rng(0).normal(size=(40, 30))
    chunked = xr.DataArray(values, dims=("t", "x")).chunk(t=10)
    mean = chunked.mean("t").compute(scheduler=pool)
    np.testing.assert_allclose(mean.values, values.mean(axis=0), rtol=1e-13)
