# SPDX-License-Identifier: Apache-2.0
"""What stands for missing values, and bounds, are stored as other programs compare them."""

import netCDF4
import numpy as np
import pytest
import xarray as xr

import fluvial as fl

FORMATS = {"nc": {}, "nc4": {}, "3.zarr": {}, "2.zarr": {"zarr_format": 2}}
INTEGERS = np.array([1, -9, 3], "i2")
FLOATS = np.array([1, -9.9, 3], "f4")


@pytest.mark.parametrize("suffix", FORMATS)
def test_others_find_what_is_missing(tmp_path, suffix):
    path = str(tmp_path / f"a.{suffix}")
    bounds = {"valid_range": [-20, 20], "valid_min": 0.5}
    with fl.open(path, "w", **FORMATS[suffix]) as series:
        for _ in range(2):
            with series.step() as step:
                step.put("i", INTEGERS, attrs={"_FillValue": -9, **bounds})
                step.put("m", FLOATS, attrs={"missing_value": -9.9})
                step.put("f", FLOATS, attrs={"_FillValue": -9.9})
                step.put("n", FLOATS, attrs={"_FillValue": np.nan})
    zarr = suffix.endswith("zarr")
    with xr.open_zarr(path) if zarr else xr.open_dataset(path, engine="netcdf4") as found:
        for name in ("i", "m", "f"):
            assert np.isnan(found[name].values).tolist() == 2 * [[False, True, False]], name
        assert not np.isnan(found["n"].values).any()
        assert found["i"].attrs["valid_range"].tolist() == [-20, 20] if not zarr else True
    with fl.open(path) as series:
        step = series.steps[1]
        for name in ("i", "m", "f"):
            assert np.isnan(np.asarray(step[name].read())).tolist() == [False, True, False], name
        assert step["i"].attrs["valid_range"] == [-20, 20]
        assert step["i"].attrs["valid_min"] == 0.5
    if not zarr:
        with netCDF4.Dataset(path) as file:
            assert file["i"]._FillValue.dtype == file["i"].valid_range.dtype == np.int16
            assert file["m"].missing_value.dtype == np.float32
            assert file["i"].valid_min.dtype == np.float64


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("dtype", "fill"),
    [("u1", 300), ("i2", 65535), ("i1", -129), ("i4", 1.5), ("f4", 1e300), ("f4", "none")],
)
def test_a_fill_value_that_the_dtype_cannot_hold(tmp_path, suffix, dtype, fill):
    with fl.open(str(tmp_path / f"a.{suffix}"), "w", **FORMATS[suffix]) as series:
        refused = pytest.raises(fl.InvalidArgument, match="_FillValue of 'x' is no ")
        with refused, series.step() as step:
            step.put("x", np.zeros(3, dtype), attrs={"_FillValue": fill})
        with series.step() as step:
            step.put("x", np.zeros(3, dtype), attrs={"missing_value": fill})


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("name", ["zarr.json", "a/.zarray", "a/.zgroup", "a/.zattrs"])
def test_names_of_zarrs_own_files(tmp_path, name, version):
    with fl.open(str(tmp_path / "a.zarr"), "w", zarr_format=version) as series:
        refused = pytest.raises(fl.InvalidArgument, match="no file of Zarr's own")
        with refused, series.step() as step:
            step.put(name, np.zeros(3))
