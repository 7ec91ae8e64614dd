# SPDX-License-Identifier: Apache-2.0
"""What `fluvial.open` takes for files: one, several as one, raw ones; and what it refuses."""

import itertools
import pathlib
import subprocess
import sys
import time

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr
from reading_files.climate import T, climate, same, write

import fluvial as fl


@pytest.fixture
def months(tmp_path):
    """Return three files of a month each, whose times count from days of their own."""
    dataset = climate()
    cuts = [0, 5, 6, T]
    for i, (begin, end) in enumerate(itertools.pairwise(cuts)):
        part = dataset.isel(time=slice(begin, end)).copy()
        part["time"] = (
            "time",
            part["time"].values - 30.0 * begin,
            {"units": f"days since {np.datetime64('2000-01-01') + 30 * begin}"},
        )
        write(part, tmp_path / f"t_{i}.nc", ["cdf5", "classic", "cdf5"][i])
    whole = write(dataset, tmp_path / "whole.nc")
    return tmp_path, whole


def test_a_program_that_imports_nothing_else(months):
    program = f"import fluvial; print(fluvial.open({str(months[1])!r})['u'].reduce('count').item())"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "1344\n"


@pytest.mark.parametrize("how", ["pattern", "list", "paths"])
def test_several_files_as_one(months, how):
    folder, whole = months
    names = sorted(folder.glob("t_*.nc"))
    given = {"pattern": f"{folder}/t_*.nc", "list": list(map(str, names)), "paths": names}[how]
    with fl.open(given) as file, xr.open_dataset(whole) as expected:
        assert file.dims["time"] == T
        assert file["temperature"].shape == expected["temperature"].shape
        assert file["lat"].shape == (7,)
        np.testing.assert_array_equal(file["u"].coords["time"], expected["time"])
        for chosen in [{}, {"time": slice(3, 20, 4)}, {"time": 5}, {"time": slice(None, None, -1)}]:
            mine, theirs = file["temperature"].isel(chosen), expected["temperature"].isel(chosen)
            same(mine.read(), theirs)
            same(mine.reduce("mean", ("lat", "lon")), theirs.astype("f8").mean(("lat", "lon")))
            same(mine.reduce("max"), theirs.max())
        same(
            file["packed"].groupby("time.month").reduce("sum"),
            expected["packed"].groupby("time.month").sum("time"),
        )
        low = file["u"].reduce("argmin")
        assert low["time"] == expected["time"][low["time_index"]]


def test_files_of_other_grids_or_packings_are_refused(tmp_path):
    one = write(climate(), tmp_path / "a.nc")
    shifted = climate().assign_coords(lon=climate()["lon"] + 1)
    other = write(shifted, tmp_path / "b.nc")
    with pytest.raises(fl.InvalidArgument, match=r"'lon'.*b\.nc.*grid"):
        fl.open([one, other])["u"].reduce("mean", "time")
    packing = {"dtype": "i2", "scale_factor": 0.1, "_FillValue": np.int16(-32768)}
    packed = write(climate(), tmp_path / "c.nc", packed=packing)
    with pytest.raises(fl.InvalidArgument, match=r"scale_factor.*0\.1.*0\.01"):
        fl.open([one, packed])["packed"].reduce("mean")
    small = write(climate().isel(lat=slice(3)), tmp_path / "d.nc")
    with pytest.raises(fl.InvalidArgument):
        fl.open([one, small])["u"].reduce("mean", "lat")


@pytest.mark.parametrize("dtype", ["<f4", ">f4", ">i2", "<f8", ">c8"])
def test_raw_files(tmp_path, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    (tmp_path / "x.bin").write_bytes(b"header" + values.tobytes())
    layout = {"dtype": dtype, "shape": (2, 3, 4), "offset": 6, "dims": ["t", "y", "x"]}
    with fl.open(tmp_path / "x.bin", raw=layout) as file:
        assert file.names == ["data"]
        np.testing.assert_array_equal(file["data"].read(), values)
        np.testing.assert_allclose(file["data"].reduce("sum", ("t", "x")), values.sum((0, 2)))
        assert file["data"].isel(y=1).reduce("count") == 8


def test_several_raw_datasets_and_bad_layouts(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(np.arange(6.0).tobytes())
    layouts = [
        {"name": "a", "dtype": "f8", "shape": 2, "attrs": {"units": "m", "_FillValue": 1.0}},
        {"name": "b", "dtype": float, "shape": [4], "offset": 16},
    ]
    with fl.open(str(path), raw=layouts) as file:
        assert file["a"].reduce("count") == 1
        assert file["b"].reduce("sum") == 2 + 3 + 4 + 5
        assert file["b"].dims == ("dim_0",)
    for bad, words in [
        ({"dtype": "f8", "shape": 7}, "48"),
        ({"dtype": "f8"}, "'dtype' and 'shape'"),
        ({"dtype": "f8", "shape": 1, "order": "F"}, "'order'"),
        ({"dtype": "S3", "shape": 1}, "dtype"),
    ]:
        with pytest.raises(fl.InvalidArgument, match=words):
            fl.open(str(path), raw=bad)


def test_what_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    begin = time.monotonic()
    for missing in ["nowhere.nc", "a/b.dat", pathlib.Path("x"), ["nowhere.nc"]]:
        with pytest.raises(fl.SystemError, match="No such file"):
            fl.open(missing)
    with pytest.raises(fl.NoSuchFile, match=r"no such files: got 't_\*\.nc'"):
        fl.open("t_*.nc")
    pathlib.Path("text.nc").write_text("not a data file at all")
    with pytest.raises(fl.InvalidArgument, match="format"):
        fl.open("text.nc")
    with pytest.raises(fl.InvalidArgument, match="queue_steps"):
        fl.open(pathlib.Path("text.nc"), queue_steps=3)
    assert time.monotonic() - begin < 10


def test_a_stream_of_the_name_of_no_file_is_a_stream(tmp_path):
    with (
        fl.open("melt", "w", readers=0, directory=tmp_path),
        fl.open("melt", directory=tmp_path) as reader,
    ):
        assert isinstance(reader, fl.ReadSeries)


def test_a_damaged_file(tmp_path):
    whole = pathlib.Path(write(climate(), tmp_path / "t.nc")).read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(fl.DamagedFile, match=r"cut\.nc"), fl.open(tmp_path / "cut.nc") as file:
        file["u"].reduce("mean")


def test_a_file_that_was_closed(tmp_path):
    with fl.open(write(climate(), tmp_path / "t.nc")) as file:
        u = file["u"]
    file.close()
    with pytest.raises(fl.InvalidArgument, match="closed"):
        u.reduce("mean")
    assert "closed" in repr(file)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: f["wind"], r"got 'wind'; allowed: 'temperature'"),
        (lambda f: f["u"].isel(x=0), r"no such dimension: got 'x'; allowed: 'time', 'lat', 'lon'"),
        (lambda f: f["u"].isel(lat=7), r"'lat': got 7; allowed: -7 to 6"),
        (lambda f: f["u"].isel(lat=1.5), r"got 1\.5.*sel\(\)"),
        (lambda f: f["u"].isel(lat=[0, 1, 3]), r"not regular: got positions \[0, 1, 3\]"),
        (lambda f: f["u"].isel(lat=slice(None, None, 0)), "step 0"),
        (lambda f: f["u"].isel(lat=0).isel(lat=0), "no such dimension"),
        (lambda f: f["u"].isel(lat=[True, False]), r"mask of 'lat'.*\(2,\)"),
        (lambda f: f["u"].sel(lat=10.0), r"no such label along 'lat': got 10\.0.*75\.0 to -75\.0"),
        (lambda f: f["u"].sel(time="1999"), r"got '1999'"),
        (lambda f: f["u"].where("u ~ 3"), r"cannot read the condition: got 'u ~ 3'"),
        (lambda f: f["u"].where("3 > 2"), "cannot read the condition"),
        (lambda f: f["u"].where(np.ones(3)), "one of bool: got an array of float64"),
        (lambda f: f["u"].where([True]), "not a condition"),
        (lambda f: f["u"].where("w > 2").reduce("sum"), r"got 'w'; allowed: 'value'"),
        (lambda f: f["u"].where("lat > 2").reduce("sum"), r"another shape: got \(7,\)"),
        (lambda f: f["u"].where(lambda a, b: a > b).reduce("sum"), "2 parameters; allowed: 1"),
        (lambda f: f["u"].weighted("sin(lat)"), "cannot read the weights"),
        (lambda f: f["u"].weighted({"lat": [1, 2]}), r"got shape \(2,\); allowed: \(7,\)"),
        (lambda f: f["u"].weighted({"x": [1, 2]}), "no such dimension"),
        (lambda f: f["u"].weighted(xr.DataArray(np.ones((7, 8)), dims=("lat", "lon"))), "2 dim"),
        (lambda f: f["u"].weighted(3), "not weights"),
        (lambda f: f["u"].groupby("lat.month"), "component 'month'"),
        (lambda f: f["u"].groupby("time.moon"), "component 'moon'"),
        (lambda f: f["u"].groupby("height"), "cannot group by 'height'"),
        (lambda f: f["u"].groupby("time.month").reduce("sum", "lat"), "axis of the groups"),
        (lambda f: f["u"].resample(time="moon"), "periods: got 'moon'"),
        (lambda f: f["u"].resample(), "one dimension: got 0"),
        (lambda f: f["u"].reduce("sum", "x"), r"got 'x'; allowed: 'time', 'lat', 'lon'"),
        (lambda f: f["u"].reduce("sum", 3), "no such axis: got 3; allowed: -3 to 2"),
        (lambda f: f["u"].reduce("sum", []), "no axis to reduce over"),
        (lambda f: f["u"].reduce("add"), "no operator of this name: got 'add'"),
        (lambda f: f["u"].reduce([]), "no operator: got none"),
        (lambda f: f["u"].reduce("sum", mode="alone"), "unknown mode: got 'alone'"),
        (lambda f: f["u"].reduce("sum", shuffle="all"), "unknown shuffle: got 'all'"),
        (lambda f: f["u"].reduce("sum", buffer="big"), "buffer: cannot read.*got 'big'"),
        (lambda f: f["u"].reduce("sum", colour=3), "unknown option of a reduction: got colour"),
        (lambda f: f["u"].reduce("sum", comm=3), "not a communicator"),
        (lambda f: f["u"].reduce(fl.ops.Apply(np.hypot, "max")), "takes 2 datasets: got 1"),
        (lambda f: f.reduce(["mean", "max"], ["u", "v"]), "no operator reads 'v'"),
        (lambda f: f.reduce("sum", []), "no dataset"),
        (lambda f: f.reduce({"a": "sum"}, {"b": "u"}), r"got 'b'.*'a'"),
        (lambda f: f.reduce(fl.ops.Apply(np.hypot, "max"), ["u", "temperature"]), "shape"),
    ],
)
def test_errors_name_the_value_and_the_allowed(tmp_path, call, words):
    with (
        fl.open(write(climate(), tmp_path / "t.nc")) as file,
        pytest.raises(fl.InvalidArgument, match=words),
    ):
        call(file)


def test_a_failing_function_of_the_user(tmp_path):
    def broken(u):
        raise ZeroDivisionError("in the condition")

    with fl.open(write(climate(), tmp_path / "t.nc")) as file:
        with pytest.raises(ZeroDivisionError, match="in the condition"):
            file["u"].where(broken).reduce("sum")
        with pytest.raises(ValueError, match="returns another shape"):
            file["u"].where(lambda u: np.ones(3, dtype=bool)).reduce("sum")
        kept = []
        with pytest.raises(fl.InvalidArgument, match="kept a reference"):
            file["u"].where(lambda u: kept.append(u) or u > 0).reduce("sum")
        assert file["u"].reduce("count") == 24 * 7 * 8  # and all is well again


def test_an_increasing_slice_of_a_decreasing_coordinate_is_warned_of(tmp_path):
    file = fl.open(write(climate(), tmp_path / "t.nc"))
    with pytest.warns(UserWarning, match=r"'lat' decreases.*slice\(30, -30\)"):
        assert file["u"].sel(lat=slice(-30, 30)).size == 0


def test_groups_of_a_netcdf4_file(tmp_path):
    with netCDF4.Dataset(tmp_path / "g.nc", "w") as nc:
        nc.createDimension("time", None)
        nc.createVariable("time", "f8", ("time",))[:] = [1, 2, 3]
        nc["time"].units = "days since 2000-01-01"
        group = nc.createGroup("obs")
        group.createDimension("x", 4)
        group.createVariable("x", "f4", ("x",))[:] = [10, 20, 30, 40]
        group.createVariable("a", "i2", ("time", "x"), fill_value=-1)[:] = np.arange(12).reshape(
            3, 4
        )
        deep = group.createGroup("deep")
        deep.createVariable("b", "f8", ("time", "x"))[:] = 1.5
        deep["b"].coordinates = "height"
        nc.createVariable("height", "f4", ())[...] = 2
    with fl.open(tmp_path / "g.nc") as file:
        found = file["obs/a"].where("a > 3").reduce("max", "time")
        assert found.name == "a"
        assert found["x"].values.tolist() == [10, 20, 30, 40]
        b = file["obs/deep/b"].sel(x=slice(20, 30)).reduce("sum", "x")
        assert b["time"].dtype.kind == "M"
        assert b["height"] == 2
        assert file["obs/a"].groupby("time.day").reduce("count").sizes == {"day": 3, "x": 4}


def test_openpmd_and_plain_hdf5(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as h5:
        h5["data/0/meshes/E/x"] = np.arange(24.0).reshape(4, 6)
        h5["data/0/fields/T"] = np.ones((4, 6), "f4")
        h5["data/0/fields/T"].attrs["axisLabels"] = ["y", "x"]
        h5["c"] = np.array([1 + 2j, 3])
    with fl.open(tmp_path / "p.h5") as file:
        ex = file["data/0/meshes/E/x"]
        assert ex.dims == ("dim_0", "dim_1")
        found = ex.reduce("argmax")
        assert (found["dim_0_index"], found["dim_1_index"]) == (3, 5)
        assert "cell_methods" not in found.attrs
        both = "data/0/meshes/E/x > 5 and data/0/fields/T > 0"
        assert ex.where(both).reduce("count") == 18
        assert file["data/0/fields/T"].reduce("sum", over="x").dims == ("y",)
        assert file["c"].reduce("sum") == 4 + 2j


def test_coordinates_of_two_dimensions_are_left_alone(tmp_path):
    """As WRF has them, whose times are text."""
    with netCDF4.Dataset(tmp_path / "w.nc", "w", format="NETCDF3_64BIT_OFFSET") as nc:
        for name, n in (("Time", None), ("y", 3), ("x", 4), ("chars", 19)):
            nc.createDimension(name, n)
        text = np.array([list("2000-01-01_00:00:00")] * 2, "S1")
        nc.createVariable("Times", "S1", ("Time", "chars"))[:] = text
        nc.createVariable("XLAT", "f4", ("Time", "y", "x"))[:] = 0
        pressure = nc.createVariable("PSFC", "f4", ("Time", "y", "x"))
        pressure.coordinates = "XLAT XTIME"
        pressure[:] = np.arange(24).reshape(2, 3, 4)
    with fl.open(tmp_path / "w.nc") as file:
        low = file["PSFC"].reduce("argmin", over=("y", "x"))
        assert low.values.tolist() == [0, 12]
        assert low["y_index"].values.tolist() == [0, 0]
        with pytest.raises(fl.InvalidArgument, match="NC_CHAR"):
            file["Times"]


def test_a_file_is_not_made_from_a_path():
    with pytest.raises(fl.WrongType, match=r"a File is made by fl\.open: got 't\.nc'"):
        fl.File("t.nc")
