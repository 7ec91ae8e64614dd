# SPDX-License-Identifier: Apache-2.0
"""What the stored numbers of a file mean: missing values, packing, ranges, signs; and no data."""

import warnings

import netCDF4
import numpy as np
import pytest
import xarray as xr
from reading_files.climate import climate, same, write

import fluvial as fl


def file_of(path, values, dims=("y", "x"), kind="NETCDF3_64BIT_DATA", fill=None, **attrs):
    """Write one variable "a" as it is, with any attributes, and open the file."""
    values = np.asarray(values)
    with netCDF4.Dataset(path, "w", format=kind) as nc:
        for dim, n in zip(dims, values.shape, strict=True):
            nc.createDimension(dim, n)
        a = nc.createVariable("a", values.dtype, dims, fill_value=fill)
        a.set_auto_maskandscale(False)
        a.setncatts(attrs)
        a[...] = values
    return fl.open(str(path))


KINDS = ["NETCDF3_64BIT_DATA", "NETCDF4"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fill", [np.float32(1e20), np.float32(np.nan), np.float32(-9.96921e36)])
def test_a_fill_value_of_floats(tmp_path, kind, fill):
    values = np.float32([[1, fill, 3], [fill, fill, 6]])
    with file_of(tmp_path / "a.nc", values, kind=kind, fill=fill) as file:
        a = file["a"]
        np.testing.assert_array_equal(a.reduce("max", "x"), [3, 6])
        np.testing.assert_array_equal(a.reduce("count", "y"), [1, 0, 2])
        assert a.reduce("sum") == 10
        np.testing.assert_array_equal(a.read(), [[1, np.nan, 3], [np.nan, np.nan, 6]])
        np.testing.assert_array_equal(a.reduce("min", "y"), [1, np.nan, 3])
        assert a.reduce("mean").dtype == np.float64


@pytest.mark.parametrize("kind", KINDS)
def test_packed_values(tmp_path, kind):
    stored = np.int16([[0, 100, -32767], [-32768, 5, 32767]])
    path = tmp_path / "a.nc"
    fill = np.int16(-32768)
    with (
        file_of(path, stored, kind=kind, fill=fill, scale_factor=-0.5, add_offset=10.0) as file,
        xr.open_dataset(path) as dataset,
    ):
        for op in ("sum", "min", "max", "mean", "count"):
            same(file["a"].reduce(op, "x"), getattr(dataset["a"], op)("x"))
        same(file["a"].read(), dataset["a"])
        assert file["a"].reduce("max") == 10 + 0.5 * 32767
        assert "scale_factor" not in file["a"].reduce("max").attrs
        raw = fl.open(str(path), decode=False)["a"]
        assert raw.dtype == np.int16
        assert raw.reduce("min") == -32768
        assert raw.reduce("sum").dtype == np.int64
        np.testing.assert_array_equal(raw.read(), stored)


def test_a_missing_value_beside_a_fill_value(tmp_path):
    values = np.int32([[1, 2, 3], [4, 5, 6]])
    with file_of(
        tmp_path / "a.nc", values, fill=np.int32(1), missing_value=np.int32([5, 6])
    ) as file:
        assert file["a"].reduce("sum") == 2 + 3 + 4
        assert file["a"].reduce("count") == 3


@pytest.mark.parametrize("value", [np.float64(np.nan), np.float64(1e20), np.int32(70000)])
def test_a_fill_value_that_the_type_cannot_hold_is_ignored_with_a_warning(tmp_path, value):
    with file_of(tmp_path / "a.nc", np.int16([[1, -1]]), missing_value=value) as file:
        with pytest.warns(UserWarning, match="'a': missing_value is ignored"):
            assert file["a"].reduce("sum") == 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # once is enough
            assert file["a"].reduce("count") == 2


def test_valid_ranges(tmp_path):
    values = np.float32([[-5, 0, 50], [100, 101, np.nan]])
    with file_of(tmp_path / "a.nc", values, valid_range=np.float32([0, 100])) as file:
        assert file["a"].reduce("sum") == 150
        assert file["a"].reduce("count") == 3
        np.testing.assert_array_equal(file["a"].read()[0], [np.nan, 0, 50])
    with file_of(tmp_path / "b.nc", values, valid_min=np.float32(50)) as file:
        assert file["a"].reduce("min") == 50
    with file_of(tmp_path / "c.nc", values, valid_max=np.float32(50)) as file:
        assert file["a"].reduce("max") == 50


def test_valid_ranges_of_packed_values_are_packed(tmp_path):
    stored = np.int16([[0, 50, 100, 101]])
    options = {"scale_factor": 0.1, "valid_range": np.int16([50, 100])}
    with file_of(tmp_path / "a.nc", stored, **options) as file:
        assert file["a"].reduce("min") == pytest.approx(5.0)
        assert file["a"].reduce("max") == pytest.approx(10.0)


@pytest.mark.parametrize("kind", KINDS)
def test_unsigned_bytes(tmp_path, kind):
    stored = np.int8([[-1, 0, 127, -128]])
    with file_of(tmp_path / "a.nc", stored, kind=kind, fill=np.int8(-1), _Unsigned="true") as file:
        assert file["a"].reduce("max") == 128
        assert file["a"].reduce("sum") == 255
        np.testing.assert_array_equal(file["a"].read(), [[np.nan, 0, 127, 128]])


@pytest.mark.parametrize("fill", [None, 250])
@pytest.mark.parametrize("said", ["true", "false"])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4"])
def test_unsigned_says_what_the_bits_mean_whatever_the_dtype(tmp_path, dtype, said, fill):
    stored = np.array([[250, 0, 3], [255, 127, 128]], f"u{dtype[1]}").view(dtype)
    number = None if fill is None else stored[0, 0]
    path = tmp_path / "a.nc"
    with (
        file_of(path, stored, kind="NETCDF4", fill=number, _Unsigned=said) as file,
        xr.open_dataset(path) as dataset,
    ):
        a = file["a"]
        for op in ("sum", "min", "max", "mean", "count"):
            same(a.reduce(op, "x"), getattr(dataset["a"], op)("x"))
        same(a.read(), dataset["a"])
        if fill is None:
            assert a.dtype == np.dtype(f"{'u' if said == 'true' else 'i'}{dtype[1]}")
            assert a.reduce("max").dtype == a.dtype


def test_unsigned_that_says_nothing_is_ignored_with_a_warning(tmp_path):
    with (
        file_of(tmp_path / "a.nc", np.int8([[-1, 2]]), _Unsigned="yes") as file,
        pytest.warns(UserWarning, match="_Unsigned is ignored"),
    ):
        assert file["a"].reduce("min") == -1


@pytest.mark.parametrize("kind", KINDS)
def test_of_equal_elements_the_first_of_the_selection_wins(tmp_path, kind):
    values = np.float32([[3, 7, 7, 1], [7, 2, 1, 7], [1, 7, 3, 1]])
    path = tmp_path / "a.nc"
    back = slice(None, None, -1)
    with file_of(path, values, kind=kind) as file, xr.open_dataset(path) as dataset:
        stored, inside = file["a"], dataset["a"].load()
        for chosen in ({}, {"x": back}, {"y": back}, {"x": back, "y": back}, {"x": back, "y": 1},
                       {"x": slice(3, None, -2), "y": back}):  # fmt: skip
            part, theirs = stored.isel(chosen), inside.isel(chosen)
            at = {d: np.arange(n)[chosen.get(d, slice(None))] for d, n in inside.sizes.items()}
            for op in ("argmin", "argmax"):
                whole = part.reduce(op)
                first = np.unravel_index(getattr(theirs.values, op)(), theirs.shape)
                for dim, i in zip(theirs.dims, first, strict=True):
                    assert whole[f"{dim}_index"] == at[dim][i], (chosen, op)
                if "x" in theirs.dims and theirs.ndim == 2:
                    rows = part.reduce(op, "x")
                    expected = at["x"][getattr(theirs.values, op)(axis=1)]
                    np.testing.assert_array_equal(rows["x_index"], expected)
                    columns = part.reduce(op, "y")
                    expected = at["y"][getattr(theirs.values, op)(axis=0)]
                    np.testing.assert_array_equal(columns["y_index"], expected)
            top = part.reduce(fl.ops.TopK(3))
            order = np.argsort(-theirs.values, axis=None, kind="stable")[:3]
            for dim, i in zip(theirs.dims, np.unravel_index(order, theirs.shape), strict=True):
                np.testing.assert_array_equal(top[f"{dim}_index"], at[dim][i])


def test_nan_without_a_fill_value(tmp_path):
    with file_of(tmp_path / "a.nc", np.float64([[1, np.nan], [2, 3]])) as file:
        np.testing.assert_array_equal(file["a"].reduce("sum", "x"), [1, 5])
        np.testing.assert_array_equal(file["a"].reduce("sum", "x", skipna=False), [np.nan, 5])
        np.testing.assert_array_equal(file["a"].reduce(fl.ops.Max(), "x"), [1, 3])
        propagating = fl.ops.Max(skipna=False)
        np.testing.assert_array_equal(file["a"].reduce(propagating, "x"), [np.nan, 3])


def test_integers_are_exact(tmp_path):
    values = np.int64([[2**60, 1], [2**60 + 1, -1]])
    with file_of(tmp_path / "a.nc", values) as file:
        assert int(file["a"].reduce("sum")) == 2**61 + 1
        assert int(file["a"].reduce("max")) == 2**60 + 1


def test_scalars(tmp_path):
    with fl.open(write(climate(), tmp_path / "t.nc")) as file:
        height = file["height"]
        assert (height.shape, height.dims) == ((), ())
        assert height.reduce("mean") == 2
        assert height.reduce("argmax") == 2
        assert height.read() == 2
        assert file["u"].isel(time=0, lat=1, lon=2).reduce("count") == 1


def test_empty_selections(tmp_path):
    with fl.open(write(climate(), tmp_path / "t.nc")) as file:
        nothing = file["u"].isel(time=slice(5, 5))
        assert nothing.shape == (0, 7, 8)
        assert nothing.reduce("count") == 0
        assert nothing.reduce("sum") == 0
        assert np.isnan(nothing.reduce("mean"))
        assert np.isnan(nothing.reduce("max", "time")).all()
        assert nothing.reduce("mean", "lat").shape == (0, 8)
        assert nothing.read().shape == (0, 7, 8)
        with pytest.raises(fl.InvalidArgument, match="no elements"):
            file["n"].isel(lat=slice(0, 0)).reduce("min")
        past = file["u"].isel(time=slice(20, 100, 7), lon=slice(100, None))
        assert past.shape == (1, 7, 0)
        assert past.reduce("sum") == 0


def test_strides_past_the_end(tmp_path):
    dataset = climate()
    with fl.open(write(dataset, tmp_path / "t.nc")) as file:
        part = file["u"].isel(time=slice(1, None, 50), lat=slice(None, None, 5))
        assert part.shape == (1, 2, 8)
        expected = dataset["u"].isel(time=slice(1, None, 50), lat=slice(None, None, 5))
        assert part.reduce("sum") == pytest.approx(float(expected.sum()), rel=1e-5)


@pytest.mark.parametrize("kind", ["classic", "cdf5", "netcdf4"])
def test_an_unlimited_dimension_of_length_0(tmp_path, kind):
    path = write(climate().isel(time=slice(0)), tmp_path / "t.nc", kind)
    with fl.open(path) as file:
        assert file["u"].shape == (0, 7, 8)
        assert file["u"].reduce("count") == 0
        assert np.isnan(file["u"].reduce("mean", over="time")).all()
        assert file["u"].read().shape == (0, 7, 8)
        assert file["u"].coords["time"].size == 0


def test_a_dimension_without_a_coordinate(tmp_path):
    with file_of(tmp_path / "a.nc", np.float64([[1, 2], [3, 4], [5, 6]])) as file:
        assert file["a"].coords == {}
        assert file["a"].sel(y=slice(1, 3)).reduce("sum") == 18  # by position, as in xarray
        found = file["a"].reduce("argmax", "x")
        assert found["x_index"].values.tolist() == [1, 1, 1]
        assert "x" not in found.coords


def test_calendars_of_models(tmp_path):
    days = np.arange(0.0, 720, 30)
    path = tmp_path / "t.nc"
    time = ("time", days, {"units": "days since 1850-01-01", "calendar": "360_day"})
    xr.Dataset({"a": ("time", np.arange(24.0))}, {"time": time}).to_netcdf(path)
    with fl.open(str(path)) as file, xr.open_dataset(path) as dataset:
        same(file["a"].groupby("time.year").reduce("sum"), dataset["a"].groupby("time.year").sum())
        same(file["a"].sel(time="1850-05").read(), dataset["a"].sel(time="1850-05"))


def test_times_that_cannot_be_decoded_stay_numbers(tmp_path):
    path = tmp_path / "t.nc"
    time = ("time", [0.0, 1.0], {"units": "months since whenever"})
    xr.Dataset({"a": ("time", [1.0, 2.0])}, {"time": time}).to_netcdf(path)
    with fl.open(str(path)) as file:
        with pytest.warns(UserWarning, match="'time' is taken as plain numbers"):
            assert file["a"].coords["time"].values.tolist() == [0, 1]
        assert file["a"].reduce("sum") == 3


def test_coordinates_that_no_result_has_are_not_read(tmp_path):
    path = tmp_path / "t.nc"
    time = ("time", [0.0, 1.0], {"units": "months since whenever"})
    xr.Dataset({"a": (("time", "x"), [[1.0, 4.0], [2.0, 3.0]])}, {"time": time}).to_netcdf(path)

    def reduce(op, over):
        return fl.open(str(path))["a"].reduce(op, over=over)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reduce(["sum", "max"], "time")["sum"].values.tolist() == [3, 7]
    for op, over in (("sum", "x"), ("argmax", "time"), (["sum", "argmax"], "time")):
        with pytest.warns(UserWarning, match="'time' is taken as plain numbers"):
            reduce(op, over)
