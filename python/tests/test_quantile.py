# SPDX-License-Identifier: Apache-2.0
"""Quantiles: the bound on their error, exact ones, and what the command line prints of them."""

import functools
import json

import numpy as np
import pytest
import xarray as xr
from mpi4py import MPI

import fluvial as fl

QUANTILES = [0, 1e-3, 0.01, 0.25, 1 / 3, 0.5, 0.77, 0.99, 1]


def test_what_is_no_quantile_is_named():
    for q, said in ((2, "got 2; "), ([0.5, -0.25], "got -0.25; "), ([], "got no number; ")):
        with pytest.raises(fl.InvalidArgument, match=f"q is out of range: {said}allowed: one"):
            fl.ops.Quantile(q)


def test_one_quantile_of_everything_is_a_scalar():
    found = fl.reduce("median", np.arange(3.0))
    assert type(found.value) is type(found.error) is np.float64


def kelvin(rng, n):
    return rng.normal(287.5, 12, n)


def rain(rng, n):
    """Mostly zeros, and many equal numbers."""
    return np.where(rng.random(n) < 0.6, 0, np.round(rng.exponential(2, n), 1))


def over_many_octaves(rng, n):
    return 10.0 ** rng.uniform(-300, 300, n) * rng.choice([-1, 1], n)


def denormal(rng, n):
    return rng.integers(-300, 300, n) * 5e-324


def two_clusters(rng, n):
    return rng.choice([-1e5, 1e5], n) + rng.normal(size=n)


def whole_range(rng, n):
    return rng.uniform(-1, 1, n) * np.finfo("f8").max


def large_offset(rng, n):
    return 1e15 + rng.random(n)


DATA = [kelvin, rain, over_many_octaves, denormal, two_clusters, whole_range, large_offset]


def arrays(op, pieces):
    """The arrays of a reduction whose pieces are absorbed apart and merged two by two."""
    length = sum(map(len, pieces))
    parts, begin = [], 0
    for piece in pieces:
        part = op.identity((length,), [str(piece.dtype)])
        op.absorb(part, [piece], (begin,))
        begin += len(piece)
        parts.append(part)
    while len(parts) > 1:
        other = parts.pop()
        op.merge(parts[0], other)
    return op.finish(parts[0])


@pytest.mark.parametrize("make", DATA, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1"])
def test_the_error_is_a_bound(make, dtype, seed):
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        x = make(rng, 20_000).astype(dtype).astype("f8")
        x = x[np.isfinite(x)].astype(dtype)
    if x.size < 2:
        return
    for accuracy in (1e-3, 0.03):
        found = fl.reduce(fl.ops.Quantile(QUANTILES, accuracy=accuracy), x)
        with np.errstate(all="ignore"):
            exact = np.array([interpolated(np.sort(x.astype("f8")), q) for q in QUANTILES])
            half = x.max().astype("f8") / 2 - x.min().astype("f8") / 2
        assert (np.abs(found.value - exact) <= found.error).all()
        assert (found.error / 2 <= accuracy * half * (1 + 1e-12)).all()
        assert found.error[0] == found.error[-1] == 0
    exactly = fl.reduce(fl.ops.Quantile(QUANTILES, exact=True), x)
    np.testing.assert_array_equal(exactly.value, exact)
    np.testing.assert_array_equal(exactly.error, 0)


def interpolated(x, q):
    """numpy.quantile of sorted numbers, whose range may be beyond float64."""
    rank = q * (len(x) - 1)
    low = int(rank)
    t = rank - low
    a, b = x[low], x[min(low + 1, len(x) - 1)]
    if not np.isfinite(b - a):
        return a * (1 - t) + b * t
    return np.quantile(x, q)


@pytest.mark.parametrize("make", DATA, ids=lambda f: f.__name__)
def test_any_split_and_order_gives_the_same_bits(make, seed):
    rng = np.random.default_rng(seed)
    x = make(rng, 9000)
    op = fl.ops.Quantile(QUANTILES, accuracy=0.004)
    whole = fl.reduce(op, x)
    for pieces in (1, 2, 7, 40):
        shuffled = np.split(rng.permutation(x), np.sort(rng.integers(0, x.size, pieces - 1)))
        found = arrays(op, shuffled)
        for mine, theirs in zip(found, whole, strict=True):
            assert mine.tobytes() == theirs.tobytes()
    upwards = fl.reduce(op, np.sort(x)), fl.reduce(op, np.sort(x)[::-1])
    for found in upwards:
        assert found.value.tobytes() == whole.value.tobytes()


@pytest.mark.parametrize("axes", [0, 1, (0, 2), (1, 2)])
def test_kept_axes_masks_and_nan(axes, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(30, 41, 50)).astype("f4")
    mask = rng.random(x.shape) < 0.8
    for exact in (False, True):
        op = fl.ops.Quantile([0.1, 0.5], accuracy=0.1, exact=exact)
        found = fl.reduce(op, x, over=axes)
        expected = np.moveaxis(np.quantile(x.astype("f8"), [0.1, 0.5], axis=axes), 0, -1)
        assert (np.abs(found.value - expected) <= found.error).all()
        assert (found.error == 0).all() == exact
        op = fl.ops.Quantile([0.1, 0.5], accuracy=0.1, exact=exact)
        with_nan = np.where(mask, x, np.float32(np.nan))
        skipped = fl.reduce(op, with_nan, over=axes)
        masked = fl.reduce(op, x, over=axes, mask=mask)
        expected = np.nanquantile(with_nan.astype("f8"), [0.1, 0.5], axis=axes)
        assert (np.abs(skipped.value - np.moveaxis(expected, 0, -1)) <= skipped.error).all()
        np.testing.assert_array_equal(masked, skipped)
    op = fl.ops.Quantile(0.5, exact=True, skipna=False)
    with_nan[:, 0] = np.nan
    assert np.isnan(fl.reduce(op, with_nan, over=axes).value).any()
    assert np.isnan(fl.reduce(op, with_nan).value)


@pytest.mark.parametrize("n", [1, 2, 50, 5000])
def test_weights_are_numpys_inverted_cdf(n, seed):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(287, 12, n), 1)
    weights = rng.integers(0, 9, n) / 4  # exact sums in any order
    weights[rng.integers(0, n)] = 1
    expected = np.quantile(x, QUANTILES, weights=weights, method="inverted_cdf")
    found = fl.reduce(fl.ops.Quantile(QUANTILES, accuracy=0.02), x, weights=weights)
    assert (np.abs(found.value - expected) <= found.error).all()
    exact = fl.reduce(fl.ops.Quantile(QUANTILES, exact=True, accuracy=0.02), x, weights=weights)
    np.testing.assert_array_equal(exact, [expected, np.zeros(len(QUANTILES))])


def test_few_elements_and_integers_of_a_small_range_are_exact_in_one_pass():
    print("seed 3")
    rng = np.random.default_rng(3)
    few = rng.normal(size=1000)
    found = fl.reduce(fl.ops.Quantile(QUANTILES), few)
    np.testing.assert_array_equal(found.value, np.quantile(few, QUANTILES))
    np.testing.assert_array_equal(found.error, 0)
    many = rng.integers(-400, 400, 100_000, dtype="i2")
    found = fl.reduce(fl.ops.Quantile(QUANTILES), many)
    np.testing.assert_array_equal(found.value, np.quantile(many, QUANTILES))
    np.testing.assert_array_equal(found.error, 0)
    large = rng.integers(-(2**63), 2**63, 10_000, dtype="i8")
    found = fl.reduce(fl.ops.Quantile(QUANTILES, exact=True), large)
    np.testing.assert_array_equal(found.value, np.quantile(large.astype("f8"), QUANTILES))


def test_infinities_have_their_ranks():
    x = np.concatenate([[-np.inf] * 3, np.arange(5000.0), [np.inf] * 3])
    for exact in (False, True):
        q = [0, 2 / 5005, 0.5, 1]
        found = fl.reduce(fl.ops.Quantile(q, exact=exact), x)
        np.testing.assert_array_equal(found.value[[0, 1, 3]], [-np.inf, -np.inf, np.inf])
        assert abs(found.value[2] - 2499.5) <= found.error[2] <= 5
        assert found.error[2] == 0 or not exact
    assert fl.reduce(fl.ops.Quantile(0.5), np.array([np.inf, np.inf])).value == np.inf


def test_a_function_on_the_way():
    print("seed 4")
    x, y = np.random.default_rng(4).normal(size=(2, 5000))
    op = fl.ops.Apply(np.hypot, fl.ops.Quantile(0.5, exact=True))
    assert fl.reduce(op, [x, y]).value == np.quantile(np.hypot(x, y), 0.5)


def test_files(tmp_path):
    print("seed 6")
    rng = np.random.default_rng(6)
    data = xr.DataArray(rng.normal(287, 12, (60, 40, 25)), dims=("time", "y", "x"), name="t")
    data[3, :, 2] = np.nan
    data = data.assign_coords(y=np.arange(40) // 20 * 1.0)
    data.attrs["units"] = "K"
    data.to_dataset().to_netcdf(tmp_path / "t.nc")
    whole = functools.partial(fl.ops.Quantile, skipna=True)
    with fl.open(str(tmp_path / "t.nc")) as file:
        t = file["t"]
        median = t.reduce(whole(0.5))
        assert abs(median - data.quantile(0.5)) <= median["error"] < 0.2
        assert median["error"].attrs["units"] == "K"
        exact = t.reduce(whole(0.5, exact=True))
        assert exact == data.quantile(0.5)
        assert exact["error"] == 0
        turned = t.isel(y=slice(None, None, -1)).reduce(
            {"few": whole([0.1, 0.9], exact=True, accuracy=0.1), "mean": "mean"}, over=("time", "x")
        )
        expected = data.isel(y=slice(None, None, -1)).quantile([0.1, 0.9], dim=("time", "x"))
        np.testing.assert_array_equal(turned["few"], expected.T)
        np.testing.assert_allclose(turned["mean"], data[:, ::-1].mean(("time", "x")), rtol=1e-13)
        assert np.isnan(t.reduce(fl.ops.Quantile(0.5, exact=True), skipna=False))
        with pytest.raises(fl.InvalidArgument, match=r"several passes.*select each group"):
            t.groupby("y").reduce(whole(0.5, exact=True))


def test_missing_values_without_skipna_are_nan_as_in_xarray(tmp_path):
    data = xr.Dataset({"a": (("y", "x"), np.int16([[1, 2, 3], [4, -1, 6]]))})
    data["a"].encoding["_FillValue"] = np.int16(-1)
    data["a"].values[1, 1] = -1
    data.to_netcdf(tmp_path / "a.nc")
    with fl.open(str(tmp_path / "a.nc")) as file:
        found = file["a"].reduce(fl.ops.Quantile([0.5, 1]), over="x", skipna=False)
        np.testing.assert_array_equal(found, [[2, 3], [np.nan, np.nan]])


def test_the_command_line_prints_the_digits_that_are_known(tmp_path, capsys, monkeypatch):
    from fluvial.cli import command_line as cli

    print("seed 8")
    x = np.random.default_rng(8).normal(287.5, 10, 100_000)
    xr.Dataset({"t": ("x", x)}).to_netcdf(tmp_path / "t.nc")

    def call(*words):
        monkeypatch.setattr("sys.argv", ["fluvial", "reduce", str(tmp_path / "t.nc"), "t", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert not ended.value.code
        return capsys.readouterr().out

    capsys.readouterr()
    value, _, error = call("--op", "quantile(0.5)").split("\n")[1].split()
    assert len(error.strip("0.")) == 1
    assert len(value.partition(".")[2]) == len(error.partition(".")[2])
    assert abs(float(value) - np.median(x)) <= float(error) <= 0.2
    value, _, error = call("--op", "quantile(0.5,1e-4)").split("\n")[1].split()
    assert abs(float(value) - np.median(x)) <= float(error) <= 0.02
    (value,) = call("--op", "quantile(0.5,exact)").split("\n")[1].split()
    assert value == f"{np.quantile(x, 0.5):.10g}"
    (row,) = json.loads(call("--op", "quantile(0.5,exact)", "--format", "json"))["rows"]
    assert row == {"quantile_0.5": np.quantile(x, 0.5), "quantile_0.5_error": 0}


def test_a_stream_refuses_by_name():
    with (
        fl.Channel(MPI.COMM_SELF, producer=True, consumer=True) as channel,
        pytest.raises(
            fl.InvalidArgument, match=r"several passes.*'0' of a stream.*a stage or a file"
        ),
    ):
        channel.stream("x", op=fl.ops.Quantile(0.5, exact=True))


def test_steps(tmp_path):
    print("seed 9")
    x = np.random.default_rng(9).normal(size=(50, 300))
    with (
        fl.open("s", "w", readers=0, directory=tmp_path) as writer,
        fl.open("s", directory=tmp_path, step_timeout=10) as reader,
    ):
        with writer.step() as step:
            step.put("x", x)
        step = reader.next()
        exact = step["x"].reduce(fl.ops.Quantile(QUANTILES, exact=True, accuracy=0.1), over=1)
        np.testing.assert_array_equal(exact.value, np.quantile(x, QUANTILES, axis=1).T)


def test_data_that_changes_between_passes_is_an_error():
    op = fl.ops.Quantile(0.5, exact=True, accuracy=0.1)
    x = np.arange(1000.0)
    part = op.identity(x.shape, ["float64"])
    op.absorb(part, [x], (0,))
    low, high = np.array([[400.0, 400.0]]), np.array([[410.0, 410.0]])
    narrowed = op.next_pass({"low": low, "high": high})
    part = narrowed.identity(x.shape, ["float64"])
    narrowed.absorb(part, [x], (0,))
    with pytest.raises(fl.InvalidArgument, match="the data has changed"):
        narrowed.finish(part)
