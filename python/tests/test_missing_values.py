# SPDX-License-Identifier: Apache-2.0
"""One rule for missing values: what NumPy's nan-functions and xarray make of random holes."""

import numpy as np
import pytest
import xarray as xr

import fluvial as fl

SHAPES = [(97, 2100), (5, 40, 33), (70, 1), (3, 0), (4000,)]  # tiles, joined rows, thin, empty
NUMPY = {
    "sum": np.nansum,
    "mean": np.nanmean,
    "min": np.nanmin,
    "max": np.nanmax,
    "std": np.nanstd,
    "variance": np.nanvar,
    "product": np.nanprod,
}


def holed(rng, shape, dtype, share):
    """Return random numbers near 1 with holes: single ones, and a row without any number."""
    x = rng.normal(1.0, 0.01, shape).astype(dtype)
    x[rng.random(shape) < share] = np.nan
    if share and x.ndim > 1 and x.size:
        x[0] = np.nan
    return x


def axes_of(shape):
    return [None, 0, *range(1, len(shape)), tuple(range(len(shape)))]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of slices without a number
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("share", [0.0, 1e-4, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_nan_does_not_count_as_in_numpy(shape, share, dtype, seed):
    x = holed(np.random.default_rng(seed), shape, dtype, share)
    wide = x.astype("f8")
    for over in axes_of(shape):
        names = [n for n in NUMPY if x.size or n in ("sum", "product")]
        together = dict(zip(names, fl.reduce(names, x, over=over), strict=True))
        for name in names:
            expected = NUMPY[name](wide, axis=over)
            for found in (fl.reduce(name, x, over=over), together[name]):
                np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12, err_msg=name)
        counted = fl.reduce("count", x, over=over)
        np.testing.assert_array_equal(counted, (~np.isnan(wide)).sum(axis=over))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_nan_propagates_where_told(dtype, seed):
    x = holed(np.random.default_rng(seed), (60, 1500), dtype, 1e-4)
    for over in (None, 0, 1):
        for name in (n for n in NUMPY if n != "product"):
            found = fl.reduce(name, x, over=over, skipna=False)
            np.testing.assert_array_equal(np.isnan(found), np.isnan(x).any(axis=over))
            kind = {"sum": fl.ops.Sum, "mean": fl.ops.Mean, "min": fl.ops.Min}.get(name)
            if kind is not None:
                np.testing.assert_array_equal(fl.reduce(kind(skipna=False), x, over=over), found)
                np.testing.assert_array_equal(fl.reduce(kind(), x, over=over, skipna=False), found)


def test_infinities_are_numbers():
    x = np.tile([np.inf, 1.0, -np.inf, np.nan], (64, 512))
    assert np.isnan(fl.reduce("sum", x))  # inf - inf
    np.testing.assert_array_equal(fl.reduce("max", x, over=0), x[0])  # of nothing NaN
    column = np.where(np.arange(2048) % 4 == 3, 0.0, 64 * x[0])
    np.testing.assert_array_equal(fl.reduce("sum", x, over=0), column)


def test_complex_numbers_with_a_nan_part_do_not_count(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 30)) + 1j * rng.normal(size=(40, 30))
    x[rng.random(x.shape) < 0.2] = complex(1, np.nan)
    rounding, size = 64 * np.finfo("f8").eps, np.abs(x)  # sums may be near to zero
    total, mean = fl.reduce("sum", x, over=0), fl.reduce("mean", x, over=1)
    assert np.all(np.abs(total - np.nansum(x, axis=0)) <= rounding * np.nansum(size, axis=0))
    assert np.all(np.abs(mean - np.nanmean(x, axis=1)) <= rounding * np.nanmean(size, axis=1))


def test_min_count_as_in_xarray(seed):
    x = xr.DataArray(holed(np.random.default_rng(seed), (9, 12), "f8", 0.5), dims=("a", "b"))
    for dim in ("a", "b", None):
        for least in (0, 1, 5, 9):
            expected = x.sum(dim, min_count=least)
            found = fl.reduce("sum", x, dim=dim, min_count=least)
            xr.testing.assert_allclose(xr.DataArray(found).drop_attrs(), expected, rtol=1e-12)
    bare = fl.reduce({"sum": "sum", "count": "count"}, x.values, over=1, min_count=5)
    few = (~np.isnan(x.values)).sum(axis=1) < 5
    assert few.any() and not few.all()
    np.testing.assert_array_equal(np.isnan(bare["sum"]), few)
    assert (bare["count"] == (~np.isnan(x.values)).sum(axis=1)).all()
    with pytest.raises(fl.InvalidArgument, match="min_count"):
        fl.reduce("sum", x.values, min_count=-1)


def test_places_quantiles_and_histograms_pass_over_nan():
    x = np.array([[np.nan, 3.0, 1.0], [2.0, np.nan, np.nan]])
    assert fl.reduce("argmin", x).coordinates == (0, 2)
    assert fl.reduce("median(exact)", x).value == 2.0
    assert fl.reduce("top_k(2)", x).values.tolist() == [3.0, 2.0]
    counts = fl.reduce(fl.ops.Histogram([0, 2, 4]), x)
    assert (counts.counts.tolist(), counts.nan) == ([1, 2], 3)  # in no bin, and told apart
    assert fl.reduce(fl.ops.Histogram([0, 2, 4]), x, skipna=True).nan == 0


def test_a_function_on_the_way_may_say_what_does_not_count():
    root = fl.ops.Apply(lambda x: np.where(x > 0, np.sqrt(np.abs(x)), np.nan), "mean")
    assert fl.reduce(root, np.array([4.0, -1.0, 16.0])) == 3.0
    assert np.isnan(fl.reduce(root, np.array([4.0, -1.0, 16.0]), skipna=False))


def test_skipna_beside_an_operator_of_ones_own_is_refused():
    class Total(fl.ops.Operator):
        def identity(self, shape):
            return 0.0

        def absorb(self, partial, arrays, offset):
            return partial + arrays[0].sum()

        def merge(self, a, b):
            return a + b

        def finish(self, partial):
            return partial

    assert fl.reduce(Total(), np.ones(3), skipna=False) == 3
    with pytest.raises(fl.InvalidArgument, match="operator of your own"):
        fl.reduce(Total(), np.ones(3), skipna=True)
