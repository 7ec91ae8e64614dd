# SPDX-License-Identifier: Apache-2.0
"""Arithmetic and comparisons of datasets of files: computed while reading, as xarray does."""

import operator
import pickle
import re

import numpy as np
import pytest
import xarray as xr
from reading_files.climate import same

import fluvial as fl


@pytest.fixture
def both(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        yield file["temperature"], dataset["temperature"].load().astype("f8")


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"])
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("number", [2, 1.5, np.float64(0.5), np.int16(3)])
def test_arithmetic(both, name, before, number):
    op = getattr(operator, name)
    if name == "pow":
        both = [(x - 270) / 100 for x in both]
    found, expected = (op(number, x) if before else op(x, number) for x in both)
    assert isinstance(found, fl.FileDataset)
    same(found.mean("time"), expected.mean("time"), rtol=2e-4)
    same(found.isel(level=0).read(), expected.isel(level=0), rtol=2e-4)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "gt", "le"])
def test_with_results_of_the_library(both, name):
    op = getattr(operator, name)
    for reduced in (lambda x: x.mean("time"), lambda x: x.isel(level=0, time=0)):
        found, expected = (op(x, reduced(y)) for x, y in zip(both, both[1:] * 2, strict=True))
        same(found, expected, rtol=2e-4)
        found, expected = (op(reduced(y), x) for x, y in zip(both, both[1:] * 2, strict=True))
        same(found.transpose(*expected.dims), expected, rtol=2e-4)
    if name in ("gt", "le"):
        same(
            both[0].where(op(both[0], both[1].mean())).count(),
            both[1].where(op(both[1], both[1].mean())).count(),
        )
    else:
        lazy = op(both[0], both[1].mean())
        assert isinstance(lazy, fl.FileDataset)
        same(lazy.mean("time"), op(both[1], both[1].mean()).mean("time"), rtol=2e-4)


def test_two_datasets_are_refused(both):
    dataset = both[0]
    for wrong in (lambda: dataset - dataset, lambda: dataset > dataset.isel(time=0)):
        with pytest.raises(fl.WrongType, match="two datasets are not computed"):
            wrong()


def test_operations_follow_one_another(both):
    found, expected = ((-(2 * (x - 273.15) + 1)) for x in both)
    assert "-((2 * (value - 273.15)) + 1)" in repr(found)
    exact = 2 * 300 * np.finfo("f4").eps  # temperatures are float32, and so is what follows
    np.testing.assert_allclose(found.reduce("max", "lat"), expected.max("lat"), atol=exact)
    grouped = (x.groupby("time.month").mean(("time", "lon")) for x in (found, expected))
    np.testing.assert_allclose(*grouped, atol=exact)
    assert found.attrs == {}
    assert "units" not in found.mean().attrs
    several = found.reduce(["min", "argmin"], "time")
    np.testing.assert_allclose(several["min"], several["argmin"])


def test_absolute_values_are_computed_while_reading(both, path):
    found, expected = (2 * abs(x - 280) - 1 for x in both)
    assert isinstance(found, fl.FileDataset)
    assert "(2 * abs(value - 280)) - 1" in repr(found)
    same(found.max("time"), expected.max("time"), rtol=2e-4)
    assert (expected < 100).any()
    with fl.open(path) as file:
        u = file["u"]
        assert u.where(abs(u) > 1).count() == int((abs(u.read()) > 1).sum())
        assert int((abs(u.read()) > 1).sum()) > u.where(u > 1).count()


@pytest.mark.parametrize("name", ["mean", "sum", "prod", "min", "max", "std", "var"])
def test_functions_of_numpy_reduce(path, name):
    function = getattr(np, name)
    with fl.open(path) as file:
        n = file["n"] // 7 % 3 + 1
        values = n.read().values
        np.testing.assert_allclose(function(n), function(values), rtol=1e-12)
        by_first = function(n, axis=0)
        assert by_first.dims == n.dims[1:]
        np.testing.assert_allclose(by_first.values, function(values, axis=0), rtol=1e-12)
        with pytest.raises(fl.UnknownName, match="got out"):
            function(n, axis=0, out=np.empty(values.shape[1:]))


def test_values_are_those_of_read(path):
    with fl.open(path) as file:
        part = (file["n"] * 2).isel(time=0)
        assert type(part.values) is np.ndarray
        np.testing.assert_array_equal(part.values, part.read().values)


def test_two_datasets_are_to_be_read_first(path):
    with fl.open(path) as file:
        u, v = file["u"], file["v"]
        for sign, wrong in (
            ("+", lambda: u + v),
            ("/", lambda: u / v),
            ("<", lambda: u < v),
            (">=", lambda: abs(u) >= v),
        ):
            with pytest.raises(fl.WrongType, match=rf"a\.read\(\) {re.escape(sign)} b\.read"):
                wrong()
        assert u != v
        np.testing.assert_array_equal(u + v.read().values, u.values + v.values)


def test_dtypes_are_numpys(path):
    with fl.open(path) as file:
        assert (file["n"] * 2).dtype == np.dtype("i4")
        assert (file["n"] / 2).dtype == np.dtype("f8")
        assert (file["u"] * 2).dtype == np.dtype("f4")
        assert (file["n"] // 7).reduce("min").item() == (file["n"].read().values // 7).min()


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "eq", "ne"])
def test_comparisons(path, name):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        op = getattr(operator, name)
        n, expected = file["n"], dataset["n"].load()
        assert n.where(op(n, 5)).count() == int(op(expected, 5).sum())
        assert n.where(op(n * 2 - 1, 9)).count() == int(op(expected * 2 - 1, 9).sum())
        assert n.where(op(5, n)).count() == int(op(5, expected).sum())


def test_comparisons_of_other_datasets_and_selections(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        u, v = dataset["u"].load().astype("f8"), dataset["v"].load()
        found = file["u"].where((file["u"] > 0) & (file["v"] < 3)).sel(lat=slice(50, -30))
        same(found.mean("time"), u.where((u > 0) & (v < 3)).sel(lat=slice(50, -30)).mean("time"))
        part = file["u"].isel(lat=slice(2, 5))
        assert part.where(file["v"] > 0).count() == int((v.isel(lat=slice(2, 5)) > 0).sum())
        same((file["u"] - 1).where(file["u"] > 0).mean(), (u - 1).where(u > 0).mean())


@pytest.mark.parametrize(
    "condition",
    [
        lambda x: (x < -3) | (x > 2),
        lambda x: (x < -3) | (x > 2) | (x + 1 == 1),
        lambda x: ~(x > 2),
        lambda x: ~((x < -3) | ((x > 0) & (x - 1 < 2))),
        lambda x: (x > -4) & ~(x * 2 > 2),
    ],
)
def test_comparisons_of_one_dataset_are_joined_by_or_and_not(path, condition):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        u, expected = file["u"], dataset["u"].load().astype("f8")
        found = u.where(condition(u))
        same(found.sum("time"), expected.where(condition(expected)).sum("time"))
        assert pickle.loads(pickle.dumps(found)).count() == found.count()
        same((u - 1).where(condition(u)).mean(), (expected - 1).where(condition(expected)).mean())


def test_a_comparison_keeps_the_conditions_of_the_dataset_that_is_compared(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        u, v = file["u"], file["v"]
        x, y = dataset["u"].load().astype("f8"), dataset["v"].load()
        expected = y.where((x > 1) & (x < 5))
        same(v.where(u.where("value > 1") < 5).sum("time"), expected.sum("time"))
        same(
            u.where((u.where("value > 1") < 5) | (u > 7)).count(),
            x.where((x > 1) & (x < 5) | (x > 7)).count(),
        )
        of_function = u.where(lambda values: values > 1) < 5
        same(u.where(of_function).count(), x.where((x > 1) & (x < 5)).count())
        for condition in (of_function, (v > 0) & of_function):
            with pytest.raises(fl.InvalidArgument, match=r"does not fit 'v': .* has a function as"):
                v.where(condition)
        with pytest.raises(fl.InvalidArgument, match="do not fit together"):
            of_function & (v.where(np.isfinite) > 0)


def test_what_is_missing_is_no_other_case(path):
    with fl.open(path) as file:
        n = file["temperature"]
        assert n.where(~(n > 280)).count() + n.where(n > 280).count() == n.count()


def test_comparisons_that_were_joined_say_what_they_are(path):
    with fl.open(path) as file:
        u = file["u"]
        found = repr((u > 0) & ~((u < 2) | (u * 2 == 5)))
        assert found == "<fluvial: where u > 0.0 and not (u < 2.0 or value * 2 == 5.0)>"


def test_what_does_not_fit_is_refused(path):
    with fl.open(path) as file, fl.open(path) as other:
        u = file["u"]
        with pytest.raises(fl.InvalidArgument, match=r"neither true nor false.*0 < t < 9"):
            assert 0 < u < 5
        for condition in (other["u"] > 0, file["u"].isel(lat=0) > 0, file["v"] * 2 > 0):
            with pytest.raises(fl.InvalidArgument, match="does not fit 'u'"):
                u.where(condition)
        with pytest.raises(fl.InvalidArgument, match="do not fit together"):
            (u > 0) & (other["u"] > 0)
        for joined in (
            lambda: (u > 0) | (file["v"] > 0),
            lambda: ~((u > 0) & (file["v"] > 0)),
            lambda: (u.where(lambda u, v: u > v) > 0) | (u > 1),
        ):
            with pytest.raises(fl.InvalidArgument, match="several datasets are joined by & alone"):
                joined()
        for wrong in ("2", None, True, [1.0], u):
            with pytest.raises(TypeError):
                u + wrong
            with pytest.raises(TypeError):
                assert u > wrong
        assert not u == "u"  # noqa: SIM201 - no comparison of elements
        assert {u: 1}[u] == 1


def test_arrays_are_computed_with_as_numpy_does(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        n, values = file["n"], dataset["n"].values
        ones = np.ones(values.shape)
        for found in (n + ones, ones + n):
            np.testing.assert_array_equal(found, values + 1)
        np.testing.assert_array_equal(values[0] - n, values[0] - values)
        assert (n == values).all()
        assert (values == n).all()
        np.testing.assert_array_equal(5 * ones > n, values < 5)
        assert isinstance(np.array(2.0) * n, fl.FileDataset)
        np.testing.assert_array_equal(np.sqrt(file["u"] ** 2), abs(dataset["u"].values))


def test_joined_comparisons_count_as_each_by_itself(tmp_path):
    """A bound that float32 cannot hold is not rounded, however the comparison is evaluated."""
    values = np.array([0.05, 0.1, 0.2, np.nan], "f4")
    xr.Dataset({"t": ("x", values)}).to_netcdf(tmp_path / "t.nc", engine="h5netcdf")
    with fl.open(tmp_path / "t.nc") as file:
        t = file["t"]
        above = t > 0.1
        assert t.where(above).count() == t.where(above | above).count() == 2  # 0.1f > 0.1
        assert t.where(~above).count() == 1
        assert np.isfinite(t.where(above).values).sum() == 2


def test_notebooks_show_tables(path):
    with fl.open(path) as file:
        shown = file._repr_html_()
        assert "<td>temperature</td><td>float32</td>" in shown
        assert "time: 24, level: 3" in shown
        assert "<td>units</td><td>K</td>" in file["temperature"]._repr_html_()
        assert "&lt;fluvial.FileDataset" in file["temperature"]._repr_html_()
    assert "closed" in file._repr_html_()


def test_notebooks_show_groups(path, tmp_path):
    with fl.open(path) as file:
        t = file["temperature"]
        months = t.groupby("time.month")
        of = f"of {t!r}>"
        assert repr(months) == f"<fluvial.GroupedDataset by 'month', 12 groups along 'time', {of}"
        shown = months._repr_html_()
        assert "&lt;fluvial.GroupedDataset by &#x27;month&#x27;" in shown
        assert "<tr><th>month</th><th>positions along time</th></tr>" in shown
        sizes = "".join(f"<tr><td>{m}</td><td>{n}</td></tr>" for m, n in months.groups.items())
        assert sizes in shown
        assert sum(months.groups.values()) == 24
        of_xarray = xr.open_dataset(path)["temperature"].resample(time="YS").groups
        assert list(t.resample(time="YS").groups) == list(of_xarray)  # not numbers of nanoseconds
        years = t.resample(time="YS")._repr_html_()
        assert "<td>2000-01-01</td><td>12</td>" in years
        days = t.resample(time="D")._repr_html_()
        assert "<td>2000-01-15</td>" not in days
        assert days.count("<tr>") == 1 + 12 + 1 + 12
        assert re.search(r"<td>… \d+ more …</td><td></td>", days)


def test_names_of_groups_are_no_html(tmp_path):
    odd = "<b>x"
    values = xr.DataArray(np.arange(3.0), {odd: ("x", [1, 1, 2])}, ("x",), name="t&t")
    values.to_netcdf(tmp_path / "t.nc", engine="h5netcdf")
    with fl.open(tmp_path / "t.nc") as file:
        groups = file["t&t"].groupby(odd)
        assert odd in repr(groups)
        shown = groups._repr_html_()
        assert odd not in shown
        assert "t&t" not in shown
        assert "<th>&lt;b&gt;x</th>" in shown


def test_the_negative_of_unsigned_integers_wraps(tmp_path):
    path = str(tmp_path / "unsigned.nc")
    xr.Dataset({"v": ("x", np.array([1, 2], "u1")), "f": ("x", [0.0, 1.0])}).to_netcdf(path)
    with fl.open(path) as file:
        np.testing.assert_array_equal((-file["v"]).read(), [255, 254])
        assert int((-file["v"]).sum()) == 509
        assert np.signbit((-file["f"]).read()).all()
        assert "-(value + 1)" in repr(-(file["v"] + 1))
        assert "(-value) + 1" in repr(-file["v"] + 1)
