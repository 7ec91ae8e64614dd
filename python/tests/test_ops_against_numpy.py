# SPDX-License-Identifier: Apache-2.0
"""Built-in operators against NumPy, on random data, dtypes, layouts, axes, masks and weights."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fluvial as fl

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]

settings.register_profile("fluvial", deadline=None, print_blob=True)
settings.load_profile("fluvial")


@st.composite
def arrays(draw, dtypes, nan=False):
    """An array of 0 to 3 dimensions in any memory order, sometimes a strided or reversed view."""
    shape = tuple(draw(st.lists(st.integers(1, 7), max_size=3)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    dtype = np.dtype(draw(st.sampled_from(dtypes)))
    steps = [draw(st.sampled_from([1, 1, 2, -1])) for _ in shape]
    full = [n * abs(step) for n, step in zip(shape, steps, strict=True)]
    order = draw(st.permutations(range(len(shape))))
    memory = np.empty([full[axis] for axis in order], dtype)
    array = memory.transpose(np.argsort(order) if shape else ())
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        array[...] = rng.integers(info.min, info.max, size=full, dtype=dtype, endpoint=True)
    else:
        array[...] = rng.normal(0.5, 4, full)
        if dtype.kind == "c":
            array[...] += 1j * rng.normal(0, 2, full)
        if nan:
            array[rng.random(full) < 0.2] = np.nan
    return array[tuple(slice(None, None, step) for step in steps)] if shape else array


def axes_of(data, array):
    if array.ndim == 0:
        return None
    axes = st.lists(
        st.integers(-array.ndim, array.ndim - 1), min_size=1, unique_by=lambda a: a % array.ndim
    )
    return data.draw(st.none() | axes.map(tuple))


def wide(array):
    """The array in the dtype that Fluvial accumulates in."""
    return array.astype({"f": "f8", "c": "c16"}.get(array.dtype.kind, array.dtype))


@given(st.data())
def test_sums_and_products(data):
    x = data.draw(arrays(INTEGERS + FLOATS + COMPLEX))
    over = axes_of(data, x)
    total, product, count = fl.reduce(["sum", "product", "count"], x, over=over)
    accumulator = {"i": "i8", "u": "u8", "f": "f8", "c": "c16"}[x.dtype.kind]
    expected = x.sum(axis=over, dtype=accumulator)
    assert total.dtype == product.dtype == expected.dtype
    if x.dtype.kind in "iu":
        np.testing.assert_array_equal(total, expected)  # wraps as NumPy does
        np.testing.assert_array_equal(product, x.prod(axis=over, dtype=accumulator))
    else:
        scale = np.abs(wide(x)).sum(axis=over)
        assert np.all(np.abs(total - expected) <= 1e-14 * scale)
        np.testing.assert_allclose(product, wide(x).prod(axis=over), rtol=1e-12)
    np.testing.assert_array_equal(count, np.ones(x.shape, int).sum(axis=over))


@given(st.data())
def test_means_and_deviations(data):
    x = data.draw(arrays(INTEGERS + FLOATS + COMPLEX))
    over = axes_of(data, x)
    mean, variance, std = fl.reduce(["mean", "variance", "std"], x, over=over)
    as_wide = x.astype("c16" if x.dtype.kind == "c" else "f8")
    scale = float(np.abs(as_wide).max())
    np.testing.assert_allclose(mean, as_wide.mean(axis=over), rtol=0, atol=1e-14 * scale)
    np.testing.assert_allclose(variance, as_wide.var(axis=over), rtol=1e-12, atol=1e-14 * scale**2)
    np.testing.assert_allclose(std, as_wide.std(axis=over), rtol=1e-12, atol=1e-7 * scale)
    if np.size(x) > 1:
        sample = fl.reduce(fl.ops.Variance(ddof=1), x)
        np.testing.assert_allclose(sample, as_wide.var(ddof=1), rtol=1e-12, atol=1e-14 * scale**2)


@given(st.data())
def test_extrema(data):
    x = data.draw(arrays(INTEGERS + FLOATS, nan=True))
    over = axes_of(data, x)
    low, high = fl.reduce(["min", "max"], x, over=over, skipna=False)
    assert low.dtype == high.dtype == x.dtype
    np.testing.assert_array_equal(low, x.min(axis=over))
    np.testing.assert_array_equal(high, x.max(axis=over))
    flat = fl.reduce({"least": "argmin", "most": "argmax"}, x, skipna=False)
    assert flat["least"].coordinates == tuple(np.unravel_index(x.argmin(), x.shape))
    assert flat["most"].coordinates == tuple(np.unravel_index(x.argmax(), x.shape))
    np.testing.assert_array_equal(flat["most"].value, x.flat[x.argmax()])
    if x.ndim:
        axis = data.draw(st.integers(0, x.ndim - 1))
        most = fl.reduce("argmax", x, over=axis, skipna=False)
        np.testing.assert_array_equal(most.value, x.max(axis=axis))
        where = np.asarray(most.coordinates)[..., axis]
        np.testing.assert_array_equal(where, x.argmax(axis=axis))


@given(st.data())
def test_norms(data):
    x = data.draw(arrays(INTEGERS + FLOATS + COMPLEX))
    over = axes_of(data, x)
    size = np.abs(x.astype("c16" if x.dtype.kind == "c" else "f8"))
    for p in (0, 1, 2, 3.5, math.inf):
        if p == math.inf:
            expected = size.max(axis=over)
        else:
            expected = (size**p if p else size != 0).sum(axis=over) ** (1 / p if p else 1)
        np.testing.assert_allclose(fl.reduce(fl.ops.Norm(p), x, over=over), expected, rtol=1e-12)


@given(st.data())
def test_skipna(data):
    x = data.draw(arrays(FLOATS, nan=True))
    over = axes_of(data, x)
    some = ~np.isnan(x).all(axis=over)
    total, count = fl.reduce(["sum", "count"], x, over=over)
    scale = np.nansum(np.abs(wide(x)), axis=over)
    assert np.all(np.abs(total - np.nansum(wide(x), axis=over)) <= 1e-14 * scale)
    np.testing.assert_array_equal(count, np.isfinite(x).sum(axis=over))
    least, mean = fl.reduce(["min", "mean"], x, over=over)
    filled = np.where(np.isnan(x), np.inf, x).min(axis=over)
    np.testing.assert_array_equal(least[some], filled[some])
    assert np.isnan(np.asarray(least)[~some]).all()  # of nothing
    np.testing.assert_array_equal(np.isnan(mean), ~some)
    for name in ("sum", "mean", "variance", "norm", "min"):
        propagated = fl.reduce(name, x, over=over, skipna=False)
        np.testing.assert_array_equal(np.isnan(propagated), np.isnan(x).any(axis=over))


@given(st.data())
def test_masks_and_weights(data):
    x = data.draw(arrays(INTEGERS + FLOATS))
    over = axes_of(data, x)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    mask = rng.random(x.shape) < 0.6
    weights = rng.integers(1, 9, x.shape) / 4
    used = np.where(mask, weights, 0)
    y = x.astype("f8")
    scale = np.abs(y).max() + 1
    total, mean, variance, count = fl.reduce(
        ["sum", "mean", "variance", "count"], x, over=over, weights=weights, mask=mask
    )
    np.testing.assert_allclose(total, (used * y).sum(axis=over), rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_array_equal(count, mask.sum(axis=over))
    with np.errstate(invalid="ignore"):
        expected = (used * y).sum(axis=over) / used.sum(axis=over)
        kept = np.expand_dims(expected, over if over is not None else tuple(range(x.ndim)))
        squares = (used * (y - kept) ** 2).sum(axis=over) / used.sum(axis=over)
    np.testing.assert_allclose(mean, expected, rtol=1e-12, atol=1e-12 * scale)
    np.testing.assert_allclose(variance, squares, rtol=1e-10, atol=1e-12 * scale**2)
    if x.dtype.kind in "iu":
        exact = x[mask].sum(dtype="i8" if x.dtype.kind == "i" else "u8")
        assert fl.reduce("sum", x, mask=mask) == exact


@given(st.data())
def test_histograms(data):
    x = data.draw(arrays(INTEGERS + FLOATS))
    edges = data.draw(
        st.one_of(
            st.tuples(st.floats(-5, 0), st.floats(0.5, 9), st.integers(1, 40)).map(
                lambda t: np.linspace(t[0], t[1], t[2] + 1)
            ),
            st.lists(st.floats(-9, 9), min_size=2, max_size=12, unique=True).map(sorted),
        )
    )
    h = fl.reduce(fl.ops.Histogram(edges), x)
    y = x.astype("f8")
    np.testing.assert_array_equal(h.counts, np.histogram(y, edges)[0])
    assert (h.underflow, h.overflow, h.nan) == ((y < edges[0]).sum(), (y > edges[-1]).sum(), 0)
    assert h.counts.dtype == np.int64
    weights = np.arange(x.size).reshape(x.shape) / 2
    weighted = fl.reduce(fl.ops.Histogram(edges), x, weights=weights)
    np.testing.assert_array_equal(weighted.counts, np.histogram(y, edges, weights=weights)[0])
    other = np.roll(y, 1)
    pairs = fl.reduce(fl.ops.Histogram2D(edges, [-3, 0.5, 4]), [x, other])
    expected = np.histogram2d(y.ravel(), other.ravel(), [np.asarray(edges), [-3, 0.5, 4]])[0]
    np.testing.assert_array_equal(pairs.counts, expected)
    assert pairs.counts.sum() + pairs.outside == x.size


@st.composite
def spaced_edges(draw):
    """Edges as people make them: even in either precision, nearly even, by decades, any."""
    count = draw(st.integers(1, 60))
    first, length = draw(st.floats(-300, 300)), draw(st.floats(0.5, 600))
    kind = draw(st.sampled_from(["float64", "float32", "nearly", "decades", "squares"]))
    if kind == "decades":
        edges = np.geomspace(10.0 ** draw(st.integers(-6, 0)), 10.0 ** draw(st.integers(1, 6)), 40)
    elif kind == "squares":
        edges = first + length * np.linspace(0, 1, count + 1) ** 2
    elif kind == "nearly":
        rng = np.random.default_rng(draw(st.integers(0, 2**32)))
        away = draw(st.sampled_from([1e-7, 1e-3, 0.02, 0.3, 0.48]))
        edges = np.arange(count + 1) + rng.uniform(-away, away, count + 1)
        edges = first + length / count * edges
    else:
        edges = np.linspace(first, first + length, count + 1, dtype=kind)
    return np.unique(edges)


@given(spaced_edges(), st.sampled_from(["float32", "float64"]), st.integers(0, 2**32))
def test_histograms_of_values_at_the_edges(edges, dtype, seed):
    if len(edges) < 2:
        return
    rng = np.random.default_rng(seed)
    at = edges.astype(dtype)
    beside = [np.nextafter(at, np.array(to, dtype)) for to in (-np.inf, np.inf)]
    between = rng.uniform(edges[0], edges[-1], 300).astype(dtype)
    x = rng.permutation(np.concatenate([at, *beside, between, at]))
    h = fl.reduce(fl.ops.Histogram(edges), x)
    np.testing.assert_array_equal(h.counts, np.histogram(x, edges)[0])
    assert (h.underflow, h.overflow) == ((x < edges[0]).sum(), (x > edges[-1]).sum())
    kept = fl.reduce(fl.ops.Histogram(edges), np.stack([x, x[::-1]]), over=1)
    np.testing.assert_array_equal(kept.counts, [h.counts, h.counts])


@given(st.data())
def test_quantiles_stay_within_their_bound(data):
    x = data.draw(arrays(INTEGERS + FLOATS))
    over = axes_of(data, x)
    accuracy = data.draw(st.sampled_from([0.001, 0.1, 0.5]))
    q = data.draw(st.lists(st.floats(0, 1), min_size=1, max_size=4))
    exact = np.moveaxis(np.quantile(x.astype("f8"), q, axis=over), 0, -1)
    found = fl.reduce(fl.ops.Quantile(q, accuracy=accuracy), x, over=over)
    assert found.value.shape == found.error.shape == exact.shape
    assert (np.abs(found.value - exact) <= found.error).all()
    assert (found.error <= accuracy * float(np.ptp(x.astype("f8"))) * (1 + 1e-12)).all()
    found = fl.reduce(fl.ops.Quantile(q, accuracy=accuracy, exact=True), x, over=over)
    np.testing.assert_array_equal(found.value, exact)


@given(st.data())
def test_top_k(data):
    x = data.draw(arrays(INTEGERS + FLOATS))
    k = data.draw(st.integers(1, 10))
    top = fl.reduce(fl.ops.TopK(k), x)
    flat = x.ravel()
    order = sorted(range(flat.size), key=lambda i: (-flat[i].item(), i))[:k]
    np.testing.assert_array_equal(top.values, flat[order])
    expected = np.array(list(np.ndindex(x.shape)), int).reshape(x.size, x.ndim)[order]
    np.testing.assert_array_equal(top.coordinates, expected)
    assert top.count == len(order)
    bottom = fl.reduce(fl.ops.TopK(k, largest=False), x)
    np.testing.assert_array_equal(bottom.values, np.sort(flat)[:k])


@pytest.mark.parametrize("n", [2047, 2048, 2049, 16383, 16385, 100_003])
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "float64", "complex64"])
def test_runs_longer_than_one(n, dtype):
    print("seed 5")
    x = np.random.default_rng(5).integers(0, 100, 2 * n).astype(dtype)
    for y in (x[:n], x[::2]):
        wide_sum = y.astype("c16" if y.dtype.kind == "c" else "f8").sum()
        assert fl.reduce("sum", y) == wide_sum
        assert fl.reduce("mean", y) == pytest.approx(wide_sum / n, rel=1e-15)
        if y.dtype.kind != "c":
            at = int(y.argmax())
            assert fl.reduce("argmax", y).coordinates == (at,)
            assert fl.reduce("min", y) == y.min()
            mask = np.arange(n) % 3 == 0
            assert fl.reduce("sum", y, mask=mask) == y[mask].astype("f8").sum()


@given(
    st.integers(0, 2**32),
    st.integers(1, 40_000),
    st.sampled_from(["plain", "weights", "mask", "skipna", "columns", "rows", "complex"]),
)
@settings(max_examples=50)
def test_sums_stay_within_their_bound(seed, n, how):
    rng = np.random.default_rng(seed)
    x = rng.choice([-1, 1], n) * rng.random(n) * 10.0 ** rng.uniform(-8, 8, n)
    x[rng.integers(0, n, n // 2)] = rng.choice([1e16, 1, -1e16], n // 2)
    weights = rng.random(n) if how == "weights" else np.ones(n)
    terms = [Fraction(a) * Fraction(b) for a, b in zip(x, weights, strict=True)]
    if how == "weights":
        found = fl.reduce("sum", x, weights=weights)
    elif how == "mask":
        found = fl.reduce("sum", np.repeat(x, 3), mask=np.arange(3 * n) % 3 == 1)
    elif how == "skipna":
        found = fl.reduce("sum", np.insert(x, rng.integers(0, n, n), np.nan), skipna=True)
    elif how == "columns":
        found = -fl.reduce("sum", np.stack([x, -x, x], axis=1), over=0)[1]
    elif how == "rows":
        found = fl.reduce("sum", np.stack([x, -x]), over=1)[0]
    elif how == "complex":
        found = fl.reduce("sum", x - 1j * x)
        assert found.imag == -found.real
        found = found.real
    else:
        found = fl.reduce(["sum", "max"], x)[0]
    magnitude = sum(map(abs, terms))
    assert abs(Fraction(float(found)) - sum(terms)) <= 37 * Fraction(2) ** -53 * magnitude


def test_the_error_of_a_sum_does_not_grow_with_its_length():
    """An element that is a little more than halfway to the next number, in a long plain sum."""
    x = np.full(1_000_000, 1.0)
    x[:16] = 2.0**53
    exact = 16 * 2**53 + x.size - 16
    assert abs(int(fl.reduce("sum", x)) - exact) <= 37 * 2.0**-53 * exact
    assert abs(int(fl.reduce("sum", x, weights=np.ones(x.size))) - exact) <= 37 * 2.0**-53 * exact


def test_sums_of_infinities_are_numpys():
    for x in ([np.inf, 1.0], [np.inf, -np.inf], [-np.inf] * 40, [np.nan, 1], [1.7e308] * 20):
        for y in (np.array(x), np.resize(x, 2 * 10_001 - 10_001 % len(x))):
            with np.errstate(all="ignore"):
                np.testing.assert_array_equal(fl.reduce("sum", y, skipna=False), y.sum())


def test_nothing_at_all():
    empty = np.empty((0, 3))
    total, product, count, mean, std = fl.reduce(["sum", "product", "count", "mean", "std"], empty)
    assert (total, product, count) == (0, 1, 0)
    assert np.isnan(mean) and np.isnan(std)
    np.testing.assert_array_equal(fl.reduce("sum", empty, over=0), np.zeros(3))
    assert np.isnan(fl.reduce("min", empty))
    low = fl.reduce("argmin", empty)
    assert np.isnan(low.value) and low.coordinates == (-1, -1)
    assert np.isnan(fl.reduce(fl.ops.Quantile(0.5), empty).value)
    assert len(fl.reduce(fl.ops.TopK(3), empty).values) == 0
    for name in ("min", "max", "argmin", "argmax"):
        with pytest.raises(fl.InvalidArgument, match="of no elements"):
            fl.reduce(name, np.empty(0, "int32"))
    with pytest.raises(fl.InvalidArgument, match="of no elements"):
        fl.reduce("max", np.arange(4), mask=[False] * 4)
