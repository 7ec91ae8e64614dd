# SPDX-License-Identifier: Apache-2.0
"""What is missing in the dataset of a condition does not count, however it is given or read."""

import netCDF4
import numpy as np
import pytest
import xarray as xr

import fluvial as fl

MARKS = {
    "_FillValue": {"_FillValue": np.float32(1e20)},
    "missing_value": {"missing_value": np.float32(1e20)},
    "valid_max": {"valid_max": np.float32(100)},
    "valid_range": {"valid_range": np.array([-5, 100], np.float32)},
}


@pytest.fixture(params=MARKS)
def path(request, tmp_path):
    """t, and u, of which the second element is missing; v, packed, of which the last is."""
    name = str(tmp_path / "marked.nc")
    with netCDF4.Dataset(name, "w") as file:
        file.set_auto_maskandscale(False)
        file.createDimension("x", 4)
        for dataset, values in (("t", [1, 2, 3, 4]), ("u", [1, 1e20, 5, 6])):
            file.createVariable(dataset, "f4", ("x",))[:] = values
        for name_of, value in MARKS[request.param].items():
            if name_of == "_FillValue":
                file.renameVariable("u", "plain")
                marked = file.createVariable("u", "f4", ("x",), fill_value=value)
                marked.set_auto_maskandscale(False)
                marked[:] = [1, 1e20, 5, 6]
            else:
                file["u"].setncattr(name_of, value)
        packed = file.createVariable("v", "i2", ("x",), fill_value=np.int16(99))
        packed.set_auto_maskandscale(False)
        packed.scale_factor = 0.5
        packed[:] = [2, 4, 6, 99]
    return name


def test_a_file(path):
    theirs = xr.open_dataset(path)
    with fl.open(path) as file:
        t, u, v = file["t"], file["u"], file["v"]
        for ours in (t.where("u > 0"), t.where(u > 0)):
            assert (int(ours.count()), float(ours.sum())) == (3, 8)
        expected = theirs["t"].where(theirs["u"] > 0)  # xarray knows of no valid_range
        assert float(theirs["t"].fluvial.where("u > 0").sum()) == float(expected.sum())
        assert int(t.where(u > 0).read().count()) == 3
        assert np.isnan(float(t.where("u > 0").reduce("sum", skipna=False)))
        assert float(t.where("u > 0 and v > 0").sum()) == 4
        assert float(t.where((u > 0) & (v > 0)).start("sum").wait()) == 4
        assert float(v.where("u > 0").sum()) == 4
        assert int(t.where("u != 7").count()) == 3
        counts = t.where("u > 0").reduce(fl.ops.Histogram([0, 2.5, 5]))
        np.testing.assert_array_equal(counts, [1, 2])


def test_a_stream(tmp_path):
    with (
        fl.open("marked", "w", directory=tmp_path, readers=0) as writer,
        fl.open("marked", directory=tmp_path) as reader,
    ):
        with writer.step() as step:
            step.put("t", np.array([1.0, 2, 3]), attrs={"axisLabels": ["x"]})
            marked = {"_FillValue": 1e20, "axisLabels": ["x"]}
            step.put("u", np.array([5, 1e20, 1]), attrs=marked)
        step = reader.next()
        assert int(step["t"].where("u > 0").count()) == 2
        assert float(step["t"].where(step["u"] > 0).sum()) == 4


def test_infinite_numbers_have_a_median():
    assert fl.reduce("median", np.array([5, np.inf])).value == np.inf
    assert fl.reduce("median", np.array([5, -np.inf])).value == -np.inf
    assert fl.reduce("median", np.array([np.inf, np.inf])).value == np.inf


@pytest.mark.parametrize("attrs", [{"scale_factor": 1.0}, {"add_offset": 0.0}])
def test_integers_by_a_factor_of_one_are_packed(tmp_path, attrs):
    path = str(tmp_path / "by_one.nc")
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        one = file.createVariable("v", "i2", ("x",))
        one.set_auto_maskandscale(False)
        one.setncatts(attrs)
        one[:] = [200, 300, 400]
    with fl.open(path) as file:
        v = file["v"]
        assert v.dtype == np.float64
        np.testing.assert_array_equal((v * 200).read(), [40000, 60000, 80000])
        assert int((v * 200 > 0).sum()) == 3
        assert float((v * 200).sum()) == 180000


def test_a_missing_scalar_is_nan(tmp_path):
    path = str(tmp_path / "scalar.nc")
    with netCDF4.Dataset(path, "w") as file:
        one = file.createVariable("p", "i2", (), fill_value=np.int16(-9))
        one.set_auto_maskandscale(False)
        one.scale_factor = 0.5
        one[...] = -9
    with fl.open(path) as file:
        assert np.isnan(float(file["p"].read()))


def test_labels_that_are_text_are_refused(tmp_path):
    path = str(tmp_path / "text.nc")
    xr.Dataset({"v": ("s", [1.0, 2]), "w": ("plain", [1.0])}, {"s": ["a", "b"]}).to_netcdf(path)
    with fl.open(path) as file:
        for label in ("a", 1, slice("a", "b")):
            with pytest.raises(fl.InvalidArgument, match=r"no labels along 's' .*isel\(s=…\)"):
                file["v"].sel(s=label)
        assert float(file["w"].sel(plain=0).read()) == 1
        with pytest.raises(fl.InvalidArgument, match="the file has none"):
            file["w"].sel(plain="a")
        assert float(file["v"].isel(s=0).read()) == 1
