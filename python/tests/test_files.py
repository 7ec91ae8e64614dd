# SPDX-License-Identifier: Apache-2.0
"""Reductions of files against xarray: selections, masks, weights, groups, coordinates."""

import h5py
import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading_files.climate import FORMATS, T, X, Y, climate, same, write

import fluvial as fl


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(climate(), tmp_path_factory.mktemp("files") / "t.nc")


@pytest.fixture(scope="module")
def ours(path):
    with fl.open(path) as file:
        yield file


@pytest.fixture(scope="module")
def theirs(path):
    with xr.open_dataset(path) as dataset:
        yield dataset.load().astype("f8")


OPS = {"mean": "mean", "sum": "sum", "min": "min", "max": "max", "std": "std", "variance": "var"}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("name", ["temperature", "packed", "n"])
def test_every_operator_in_every_format(tmp_path, kind, name):
    path = write(climate(), tmp_path / "t.nc", kind)
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        expected = dataset[name].astype("f8")
        for over in [None, "time", ("lat", "lon"), ["lon", "time"]]:
            found = file[name].reduce([*OPS, "count"], over=over)
            for op, method in OPS.items():
                same(found[op], getattr(expected, method)(over))
            same(found["count"], expected.count(over))


def test_what_a_file_is(ours, path):
    assert isinstance(ours, fl.File)
    assert ours.path == path
    assert set(ours.names) == {*climate().variables}
    assert ours.dims == {"time": T, "level": 3, "lat": Y, "lon": X}
    t = ours["temperature"]
    assert (t.name, t.dims, t.shape) == (
        "temperature",
        ("time", "level", "lat", "lon"),
        (T, 3, Y, X),
    )
    assert t.dtype == np.float32
    assert ours["packed"].dtype == np.float64
    assert ours["n"].dtype == np.int32
    assert t.attrs["units"] == "K"
    assert t.layout["kind"] == "affine"
    assert t.chunks is None
    assert "CDF-5" in repr(ours)
    assert "temperature" in repr(t)
    assert t.coords["time"].dtype.kind == "M"


def test_chunks_of_a_compressed_file(tmp_path):
    with fl.open(write(climate(), tmp_path / "t.nc", "chunked")) as file:
        t = file["temperature"]
        assert t.chunks == (5, 2, 3, 8)
        assert t.layout["filters"] == ("shuffle", "deflate")


def test_coordinates_and_attributes_of_a_result(ours):
    found = ours["temperature"].isel(level=1).reduce("max", over=("lat", "lon"))
    assert found.dims == ("time",)
    assert found.coords["level"] == 500
    assert found.coords["level"].attrs["units"] == "hPa"
    assert found.attrs["units"] == "K"
    assert found.attrs["standard_name"] == "air_temperature"
    assert found.attrs["cell_methods"] == "lat: lon: maximum"
    assert "_FillValue" not in found.attrs
    assert found.name == "temperature"
    assert ours["temperature"].reduce("variance").attrs["units"] == "K2"
    assert ours["u"].reduce("variance").attrs["units"] == "(m s-1)2"
    assert ours["u"].reduce("count").attrs["units"] == "1"
    assert "units" not in ours["u"].reduce("product").attrs


slices = st.builds(
    slice,
    st.none() | st.integers(-10, 10),
    st.none() | st.integers(-10, 10),
    st.none() | st.sampled_from([1, 2, 3, -1, -2]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_selections(ours, theirs, data):
    name = data.draw(st.sampled_from(["temperature", "packed", "u"]))
    dims = theirs[name].dims
    chosen = data.draw(
        st.fixed_dictionaries({}, optional={d: slices | st.integers(-3, 2) for d in dims})
    )
    mine, expected = ours[name].isel(chosen), theirs[name].isel(chosen)
    same(mine.read(), expected)
    assert mine.shape == expected.shape
    over = data.draw(st.sets(st.sampled_from(expected.dims), min_size=1)) if mine.dims else None
    op = data.draw(st.sampled_from(["sum", "mean", "count"] if expected.size == 0 else list(OPS)))
    same(mine.reduce(op, over=over), getattr(expected, OPS.get(op, op))(over), rtol=2e-5)


@pytest.mark.parametrize(
    "labels",
    [
        {"lat": slice(50, -30)},
        {"lat": 25.0, "lon": slice(90, None)},
        {"time": "2000-03"},
        {"time": slice("2000-03", "2000-11-30"), "level": 500},
        {"lon": [45.0, 135.0, 225.0]},
        {"lat": slice(None, 0.0, 2)},
    ],
)
def test_selection_by_coordinate(ours, theirs, labels):
    mine, expected = ours["temperature"].sel(labels), theirs["temperature"].sel(labels)
    same(mine.read(), expected)
    same(mine.reduce("mean", over=expected.dims[-1]), expected.mean(expected.dims[-1]))


def test_nearest_labels(ours, theirs):
    options = {"lat": 30.0, "lon": 100.0, "method": "nearest"}
    same(ours["u"].sel(**options).read(), theirs["u"].sel(**options))
    with pytest.raises(fl.InvalidArgument, match="lat"):
        ours["u"].sel(lat=30.0, method="nearest", tolerance=1.0)


def test_selections_of_selections(ours, theirs):
    mine = ours["u"].isel(time=slice(2, 20, 3)).isel(time=slice(None, None, -1)).sel(lat=25.0)
    same(
        mine.read(),
        theirs["u"].isel(time=slice(2, 20, 3)).isel(time=slice(None, None, -1)).sel(lat=25.0),
    )


def test_numpys_indexing_as_for_streams(ours, theirs):
    same(ours["u"][3:20:4, ..., -1], theirs["u"][3:20:4, ..., -1])
    same(
        ours["u"].reduce("sum", 0, np.s_[3:20:4, 2]),
        theirs["u"][3:20:4, 2].sum("time"),
    )
    same(ours["u"].reduce("sum", over=(0, -1)), theirs["u"].sum(("time", "lon")))
    np.testing.assert_allclose(np.asarray(ours["u"]), theirs["u"].values)


def test_conditions(ours, theirs):
    t = theirs["u"]
    for condition, mask in [
        ("u > 2", t > 2),
        ("value <= 0.5", t <= 0.5),
        ("-3 < u < 4 and v > 0", (t > -3) & (t < 4) & (theirs["v"] > 0)),
        ("n != 7", theirs["n"] != 7),
        ("packed >= 0", theirs["packed"] >= 0),
        (lambda u: np.abs(u) > 5, abs(t) > 5),
    ]:
        found = ours["u"].where(condition).reduce(["sum", "count", "max"], over="time")
        same(found["sum"], t.where(mask).sum("time"))
        same(found["count"], t.where(mask).count("time"))
        same(found["max"], t.where(mask).max("time"))
        if not callable(condition):
            same(ours["u"].where(condition).read(), t.where(mask))
    both = ours["u"].where("u > 0").where(lambda u: u < 3)
    same(both.reduce("mean"), t.where((t > 0) & (t < 3)).mean())


def test_masked_integers_become_nan_where_nothing_is_left(ours, theirs):
    mask = theirs["n"] > 95
    found = ours["n"].where("n > 95").reduce("min", over="time")
    same(found, theirs["n"].where(mask).min("time"))
    assert np.isnan(found.values).any()


def test_weights(ours, theirs):
    cosine = np.cos(np.deg2rad(theirs["lat"]))
    expected = theirs["temperature"].weighted(cosine).mean(("lat", "lon"))
    for weights in ["cos(lat)", {"lat": cosine.values}, cosine]:
        same(ours["temperature"].weighted(weights).reduce("mean", over=("lat", "lon")), expected)
        same(ours["temperature"].reduce("mean", ("lat", "lon"), weights=weights), expected)
    part = slice(50, -30)
    same(
        ours["temperature"].sel(lat=part).weighted("cos(lat)").reduce("sum", over="lat"),
        theirs["temperature"].sel(lat=part).weighted(cosine.sel(lat=part)).sum("lat"),
    )
    lon = np.arange(1.0, X + 1)
    both = ours["u"].weighted("cos(lat)").weighted({"lon": lon})
    w = cosine * xr.DataArray(lon, dims="lon")
    same(both.reduce("mean", over=("lat", "lon")), theirs["u"].weighted(w).mean(("lat", "lon")))
    same(
        ours["u"]
        .isel(lon=slice(None, None, -3))
        .weighted({"lon": [1.0, 2.0, 4.0]})
        .reduce("mean", "lon"),
        theirs["u"]
        .isel(lon=slice(None, None, -3))
        .weighted(xr.DataArray([1.0, 2.0, 4.0], dims="lon"))
        .mean("lon"),
    )


@pytest.mark.parametrize("component", ["month", "season", "year", "dayofyear"])
def test_groups_of_a_time(ours, theirs, component):
    key = f"time.{component}"
    expected = theirs["temperature"].groupby(key)
    mine = ours["temperature"].groupby(key)
    same(mine.reduce("mean"), expected.mean("time"))
    same(mine.reduce("max", over=("time", "lat")), expected.max(("time", "lat")))
    assert sum(mine.groups.values()) == T


def test_groups_of_a_selection_backwards(ours, theirs):
    backwards = {"time": slice(20, 2, -3)}
    same(
        ours["u"].isel(backwards).groupby("time.month").reduce("sum"),
        theirs["u"].isel(backwards).groupby("time.month").sum("time"),
    )


def test_groups_by_a_coordinate_and_by_periods(ours, theirs):
    same(
        ours["u"].groupby("lat").reduce("mean", over=("lat", "time")),
        theirs["u"].groupby("lat").mean(("lat", "time")).transpose("lat", "lon").sortby("lat"),
    )
    same(ours["u"].resample(time="YS").reduce("mean"), theirs["u"].resample(time="YS").mean("time"))
    same(ours["n"].resample(time="10D").reduce("max"), theirs["n"].resample(time="10D").max("time"))


def test_where_extrema_lie(ours, theirs):
    t = theirs["temperature"].isel(level=1)
    found = ours["temperature"].isel(level=1).reduce("argmax", over=("lat", "lon"))
    best = t.argmax(("lat", "lon"))
    same(found, t.max(("lat", "lon")))
    for dim in ("lat", "lon"):
        np.testing.assert_array_equal(found[dim], theirs[dim][best[dim]])
        np.testing.assert_array_equal(found[f"{dim}_index"], best[dim])
    # Positions are those of the file, whatever was selected.
    part = ours["u"].isel(time=slice(5, 20, 4), lat=slice(None, None, -2))
    low = part.reduce("argmin")
    assert theirs["u"].values[low["time_index"], low["lat_index"], low["lon_index"]] == low
    assert theirs["time"][low["time_index"]] == low["time"]
    nowhere = ours["temperature"].isel(level=0, lat=2, lon=3).reduce("argmax")
    assert np.isnan(nowhere)
    assert nowhere["time_index"] == -1
    assert np.isnat(nowhere["time"].values)


def test_distributions(ours, theirs):
    u = theirs["u"]
    h = ours["u"].reduce(fl.ops.Histogram([-4, 0, 4]), over=("lat", "lon"))
    assert h.dims == ("time", "bin")
    np.testing.assert_array_equal(h[:, 0], ((u >= -4) & (u < 0)).sum(("lat", "lon")))
    np.testing.assert_array_equal(h["overflow"], (u > 4).sum(("lat", "lon")))
    assert h["bin_lower"].values.tolist() == [-4, 0]
    q = ours["u"].reduce(fl.ops.Quantile([0.0, 0.5, 1.0]))
    assert q.dims == ("quantile",)
    assert (q.sel(quantile=0), q.sel(quantile=1)) == (u.min(), u.max())
    top = ours["u"].reduce(fl.ops.TopK(3), over="time")
    assert top.dims == ("lat", "lon", "rank")
    np.testing.assert_array_equal(top[..., 0], u.max("time"))
    np.testing.assert_array_equal(top["time"][..., 0], theirs["time"][u.argmax("time")])


def test_several_operators_are_a_dataset(ours, theirs):
    found = ours["u"].reduce(["mean", fl.ops.Std(ddof=1), "argmax"], over="time")
    assert isinstance(found, xr.Dataset)
    same(found["std"], theirs["u"].std("time", ddof=1))
    assert "argmax_time" in found.coords
    named = ours["u"].reduce({"high": "max", "low": "min"})
    assert (named["high"], named["low"]) == (theirs["u"].max(), theirs["u"].min())


def test_several_datasets_in_one_pass(ours, theirs):
    speed = np.hypot(theirs["u"], theirs["v"])
    pending = ours.start(
        {"fastest": fl.ops.Apply(np.hypot, "max"), "mean": "mean"},
        {"fastest": ["u", "v"], "mean": "v"},
        over=("lat", "lon"),
    )
    found = pending.wait()
    same(found["fastest"], speed.max(("lat", "lon")))
    same(found["mean"], theirs["v"].mean(("lat", "lon")))
    one = ours.reduce(fl.ops.Apply(np.hypot, "mean"), ["u", "v"], "time", sel={"lat": slice(50, 0)})
    same(one, speed.sel(lat=slice(50, 0)).mean("time"))
    assert "units" not in one.attrs
    quiet = ours.reduce("count", "u", where=lambda u: u < 0)
    assert quiet == (theirs["u"] < 0).sum()


def test_an_operator_written_in_python(ours, theirs):
    class Range(fl.ops.Operator):
        def identity(self, shape):
            return np.inf, -np.inf

        def absorb(self, partial, arrays, offset):
            return min(partial[0], arrays[0].min()), max(partial[1], arrays[0].max())

        def merge(self, a, b):
            return min(a[0], b[0]), max(a[1], b[1])

        def finish(self, partial):
            return partial[1] - partial[0]

    found = ours["u"].reduce(Range(), over="time")
    same(found, theirs["u"].max("time") - theirs["u"].min("time"))


def test_an_operator_written_in_python_gets_masked_arrays(ours, theirs):
    class SumOfSquares(fl.ops.Operator):
        def identity(self, shape):
            return 0.0

        def absorb(self, partial, arrays, offset):
            return partial + (arrays[0].astype("f8") ** 2).sum()

        def merge(self, a, b):
            return a + b

        def finish(self, partial):
            return partial

    t = theirs["temperature"]
    same(ours["temperature"].reduce(SumOfSquares(), over="time"), (t**2).sum("time"))
    found = ours["u"].where("u > 3").reduce(SumOfSquares())
    same(found, (theirs["u"].where(theirs["u"] > 3) ** 2).sum())
    x = np.arange(6.0)
    assert fl.reduce(SumOfSquares(), x, mask=x > 3) == 16 + 25
    assert fl.reduce(SumOfSquares(), x, mask=x > 9) == 0


def test_skipna(ours, theirs):
    t = theirs["temperature"]
    same(ours["temperature"].reduce("mean", "time", skipna=False), t.mean("time", skipna=False))
    same(
        ours["temperature"].groupby("time.month").reduce("max", skipna=False),
        t.groupby("time.month").max("time", skipna=False),
    )
    assert np.isnan(ours["temperature"].reduce("sum", skipna=False))
    same(ours["u"].reduce("sum", "time", skipna=False), theirs["u"].sum("time"))
    low = ours["temperature"].reduce("argmin", "time", skipna=False)
    nan = np.isnan(low.values)  # where the first is missing, as NumPy's argmin of NaN
    np.testing.assert_array_equal(
        low["time_index"].values[nan], t.isnull().argmax("time").values[nan]
    )


@pytest.mark.parametrize("dtype", ["i8", "u8"])
def test_conditions_on_large_integers_are_exact_or_refused(tmp_path, dtype):
    ids = np.array([2**53, 2**53 + 1, 2**53 + 2, 5], dtype)
    with h5py.File(tmp_path / "id.h5", "w") as file:
        file["id"], file["x"], file["f"] = ids, np.arange(4.0), ids.astype("f8")
    file = fl.open(tmp_path / "id.h5")
    for bound in (2**53, 2**53 + 1, 2**63, 2**64 - 1):
        for condition in (f"id == {bound}", f"id < {bound}"):
            for name in ("id", "x"):
                with pytest.raises(fl.InvalidArgument, match="cannot be compared exactly"):
                    file[name].where(condition).sum()
                with pytest.raises(fl.InvalidArgument, match="cannot be compared exactly"):
                    file[name].where(condition).read()
        for comparison in (
            lambda: file["id"] >= bound,  # noqa: B023
            lambda: ~(file["id"] == bound),  # noqa: B023
            lambda: (file["id"] < 3) | (file["id"] == bound),  # noqa: B023
        ):
            with pytest.raises(fl.InvalidArgument, match="cannot be compared exactly"):
                comparison()
    assert file["x"].where(f"id > {2**53 - 1}").count() == 3
    assert file["x"].where("id < 1e30").count() == 4
    assert file["x"].where(f"f >= {2**53}").count() == 3
    with pytest.raises(fl.InvalidArgument, match="64-bit integers cannot be exact: got 9007"):
        file["id"].where(lambda ids: ids == 2**53).count()
    assert file["id"].isel(dim_0=slice(3, 4)).where(lambda ids: ids == 5).count() == 1
    either = (file["id"] < 6) | (file["id"] > 2**53 - 2)
    assert file["id"].where(either).count() == 4
    assert (file["id"].read().values == ids).all()
