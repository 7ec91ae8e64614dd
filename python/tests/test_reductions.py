# SPDX-License-Identifier: Apache-2.0
"""Reductions in NumPy's and xarray's words: of arrays, steps, files and what xarray opened."""

import pickle

import numpy as np
import pytest
import xarray as xr
from reading_files.climate import same

import fluvial as fl

X = np.random.default_rng(5).normal(size=(6, 7))


@pytest.mark.parametrize(
    ("text", "op"),
    [
        ("quantile(0.25)", fl.ops.Quantile(0.25)),
        ("quantile(0.5, exact)", fl.ops.Quantile(0.5, exact=True)),
        ("median", fl.ops.Quantile(0.5)),
        ("median(exact)", fl.ops.Quantile(0.5, exact=True)),
        ("var", fl.ops.Variance()),
        ("prod", fl.ops.Product()),
        ("std(1)", fl.ops.Std(ddof=1)),
        ("norm(1)", fl.ops.Norm(1)),
    ],
)
def test_operators_as_on_the_command_line(text, op):
    np.testing.assert_array_equal(fl.reduce(text, X, over=0), fl.reduce(op, X, over=0))


def test_text_takes_skipna():
    holes = np.where(X > 0, X, np.nan)
    found = fl.reduce("median", holes)
    assert abs(found.value - np.nanmedian(holes)) <= found.error + 1e-15
    assert np.isnan(fl.reduce("median", holes, skipna=False).value)


@pytest.mark.parametrize("text", ["quantile(x)", "quantile()", "sum(1)", "median(x, y)"])
def test_text_that_cannot_be_read_is_refused(text):
    with pytest.raises(fl.InvalidArgument, match=r"cannot read the operator.*quantile\(0\.5\)"):
        fl.reduce(text, X)


def test_a_histogram_of_bins_in_a_range():
    found = fl.reduce(fl.ops.Histogram(bins=8, range=(-2, 2)), X)
    counts, edges = np.histogram(X, bins=8, range=(-2, 2))
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.edges, edges)
    assert fl.reduce(fl.ops.Histogram(bins=edges), X).counts.tolist() == counts.tolist()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bins": 3},
        {"edges": [0, 1], "bins": 3},
        {"bins": 3, "range": (1, 0)},
        {"bins": 3, "range": (0, np.inf)},
        {"bins": [0, 1], "range": (0, 1)},
    ],
)
def test_bins_that_are_not_said_are_refused(options):
    with pytest.raises(fl.InvalidArgument, match="bins=NUMBER with range"):
        fl.ops.Histogram(**options)


@pytest.mark.parametrize("name", ["over", "axis", "dim"])
def test_axes_by_three_names(path, name):
    np.testing.assert_array_equal(fl.reduce("max", X, **{name: 1}), X.max(axis=1))
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        expected = dataset["u"].astype("f8").mean("lat")
        same(file["u"].reduce("mean", **{name: "lat"}), expected)
        same(file.reduce("mean", "u", **{name: "lat"}), expected)
        same(file["u"].start("mean", **{name: "lat"}).wait(), expected)
        same(dataset["u"].fluvial.reduce("mean", **{name: "lat"}), expected)
        grouped = file["u"].groupby("time.year").reduce("mean", **{name: ("time", "lat")})
        assert grouped.dims == ("year", "lon")


def test_axes_that_are_said_twice_are_refused(path):
    calls = [
        lambda: fl.reduce("sum", X, over=0, axis=1),
        lambda: fl.open(path)["u"].reduce("sum", "lat", dim="lon"),
        lambda: fl.open(path)["u"].groupby("lat").reduce("sum", "lat", dim="lon"),
        lambda: xr.open_dataset(path)["u"].fluvial.mean("lat", dim="lon"),
    ]
    for call in calls:
        with pytest.raises(fl.InvalidArgument, match="one of over, axis and dim"):
            call()


METHODS = ["sum", "prod", "count", "mean", "min", "max", "std", "var", "median"]


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_a_file_are_xarrays(path, method):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        found = getattr(file["temperature"], method)(dim="time")
        expected = getattr(dataset["temperature"].astype("f8"), method)("time")
        tolerance = found["error"].values.max() if method == "median" else 0
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=tolerance)
        assert set(getattr(file["u"].groupby("lat"), method)().dims) == {"time", "lat", "lon"}
        same(getattr(dataset["u"].fluvial, method)("time"), getattr(file["u"], method)("time"))


def test_ddof_and_quantiles_are_arguments_of_methods(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        u = dataset["u"].astype("f8")
        np.testing.assert_allclose(file["u"].std(ddof=1), u.std(ddof=1), rtol=1e-12)
        np.testing.assert_allclose(file["u"].var("lat", ddof=1), u.var("lat", ddof=1), rtol=1e-12)
        found = file["u"].quantile(0.9)
        assert abs(found - u.quantile(0.9)) <= found["error"]
        for several in ([0.1, 0.9], np.array([0.1, 0.9])):
            found = file["u"].quantile(several, "time")
            expected = u.quantile(several, "time").transpose(*found.dims)
            assert (abs(found - expected) <= found["error"] + 1e-9).all()
        with pytest.raises(TypeError, match="q has a type"):
            file["u"].quantile("0.5")


def test_methods_of_a_step(tmp_path):
    with fl.open("step", "w", directory=tmp_path, readers=0, queue_steps=4) as writer:
        with writer.step() as step:
            step.put("x", X, attrs={"axisLabels": ["y", "z"]})
        with fl.open("step", directory=tmp_path) as series:
            step = series.next()
            x = step["x"]
            assert (x.size, x.nbytes, len(x)) == (42, 336, 6)
            assert step._ipython_key_completions_() == ["x"]
            np.testing.assert_allclose(x.mean(dim="z"), X.mean(axis=1), rtol=1e-14)
            np.testing.assert_allclose(x.var(axis=0, ddof=1), X.var(axis=0, ddof=1), rtol=1e-13)
            np.testing.assert_allclose(step.reduce("max", "x", axis=1), X.max(axis=1))
            assert x.mean(keep_attrs=True).attrs == {"axisLabels": ["y", "z"]}
            assert x.mean(keep_attrs=False).attrs == {}
            outside = (x < 0.2) | (x > 0.8)
            assert x.where(outside).count() == ((X < 0.2) | (X > 0.8)).sum()
            assert x.where(~outside).count() == ((X >= 0.2) & (X <= 0.8)).sum()
            assert "<td>axisLabels</td>" in x._repr_html_()
            with pytest.raises(TypeError, match=r"cannot be pickled.*dataset\.read\(\)"):
                pickle.dumps(x)


def test_sizes_and_completions_of_files(path):
    with fl.open(path) as file:
        u = file["u"]
        assert u.nbytes == u.size * u.dtype.itemsize == u.read().nbytes
        assert len(u) == u.shape[0]
        assert file._ipython_key_completions_() == file.names
        assert "units" in file["temperature"].attrs._ipython_key_completions_()


def test_the_accessor_groups_and_weighs(path):
    with xr.open_dataset(path) as dataset:
        t, wide = dataset["temperature"], dataset["temperature"].astype("f8")
        same(t.fluvial.groupby("time.month").mean(), wide.groupby("time.month").mean())
        same(t.fluvial.resample(time="YS").max(), wide.resample(time="YS").max())
        weights = np.cos(np.deg2rad(dataset["lat"]))
        weighted = t.fluvial.weighted("cos(lat)").mean(("lat", "lon"))
        np.testing.assert_allclose(
            weighted, wide.weighted(weights).mean(("lat", "lon")), rtol=1e-12
        )
        assert t.fluvial.where("temperature > 280").count() == int((t > 280).sum())
    with xr.open_dataset(path) as dataset:
        grouped = dataset.fluvial.groupby("time.month").mean()
        assert dataset.fluvial.weighted("cos(lat)").mean("lat")["u"].dims == ("time", "lon")
        expected = dataset.astype("f8").groupby("time.month").mean()
        for name in set(grouped) & set(expected):
            np.testing.assert_allclose(grouped[name], expected[name], rtol=1e-9)
        assert {"temperature", "u", "v"} <= set(grouped)
        with pytest.raises(fl.UnknownName, match="no such coordinate"):
            dataset.fluvial.groupby("tim.month")


def test_keep_attrs(path):
    with xr.open_dataset(path) as dataset:
        t = dataset["temperature"]
        assert t.fluvial.mean(keep_attrs=True).attrs == t.attrs
        assert t.fluvial.mean(keep_attrs=False).attrs == {}
        assert "cell_methods" in t.fluvial.mean().attrs
        both = t.fluvial.reduce(["min", "max"], keep_attrs=True)
        assert both["min"].attrs == both["max"].attrs == t.attrs
        assert dataset.fluvial.mean("time", keep_attrs=False).attrs == {}
        for chosen in (
            t.fluvial.groupby("time.month"),
            t.fluvial.weighted("cos(lat)"),
            t.fluvial.where("temperature > 280"),
        ):
            assert chosen.mean(keep_attrs=True).attrs == t.attrs
            assert chosen.mean(keep_attrs=False).attrs == {}
            assert "cell_methods" in chosen.mean().attrs
        kept = dataset.fluvial.groupby("time.month").mean(keep_attrs=True)
        assert (kept.attrs, kept["temperature"].attrs) == (dataset.attrs, t.attrs)
        bare = dataset.fluvial.weighted("cos(lat)").mean("lat", keep_attrs=False)
        assert (bare.attrs, bare["temperature"].attrs) == ({}, {})
    with fl.open(path) as file:
        both = file["temperature"].reduce(["min", "max"], keep_attrs=True)
        assert both["min"].attrs == both["max"].attrs == t.attrs


@pytest.mark.parametrize("weights", [[1j, 2, 3], ["a", "b", "c"], np.zeros(3, "M8[s]")])
def test_weights_are_real_numbers(tmp_path, weights):
    values = np.arange(3.0)
    with pytest.raises(fl.WrongType, match="real numbers"):
        fl.reduce("mean", values, weights=np.array(weights))
    with fl.open("weights", "w", directory=tmp_path, readers=0) as writer:
        with writer.step() as step:
            step.put("x", values)
        with fl.open("weights", directory=tmp_path) as series:
            step = series.next()
            with pytest.raises(fl.WrongType, match="real numbers"):
                step.reduce("mean", "x", weights=np.array(weights))
