# SPDX-License-Identifier: Apache-2.0
"""Steps of files that are not openPMD: records along time, numbered files, a file as a whole."""

import os
import re
import warnings

import h5py
import netCDF4
import numpy as np
import pytest
import xarray as xr

import fluvial as fl


@pytest.mark.parametrize("kind", ["NETCDF3_64BIT_DATA", "NETCDF4"])
def test_records_of_netcdf(tmp_path, kind):
    values = np.arange(24.0).reshape(4, 2, 3)
    times = xr.date_range("2000-01-30", periods=4, freq="D")
    whole = xr.Dataset(
        {"t": (("time", "y", "x"), values), "mask": (("y", "x"), np.eye(2, 3))},
        {"time": times, "x": [1.0, 2.0, 3.0]},
    )
    path = tmp_path / "t.nc"
    encoding = {"time": {"units": "days since 2000-01-01", "dtype": "f8"}}
    engine = "netcdf4"
    whole.to_netcdf(path, engine=engine, format=kind.replace("_DATA", "_OFFSET"),
                    unlimited_dims=["time"], encoding=encoding)  # fmt: skip
    with fl.open(str(path)) as file:
        assert len(file) == 4
        for index, step in enumerate(file):
            assert step.index == index
            assert step.time == np.datetime64(times[index])
            t = step["t"]
            assert (t.dims, t.shape) == (("y", "x"), (2, 3))
            np.testing.assert_array_equal(t.read(), values[index])
            assert t.sel(x=2.0).sum() == values[index][:, 1].sum()
            np.testing.assert_array_equal(step["mask"].read(), np.eye(2, 3))
            assert step.reduce({"a": "sum"}, "t", "x")["a"].dims == ("y",)
        assert file["t"].shape == (4, 2, 3)  # all steps together
        assert file.steps[2]["t"].coords["time"] == times[2]


def test_records_of_several_files_are_one_series(tmp_path):
    for part in range(3):
        with netCDF4.Dataset(tmp_path / f"t_{part}.nc", "w") as nc:
            nc.createDimension("time", None)
            nc.createVariable("time", "f8", ("time",))[:] = [10.0 * part, 10.0 * part + 5]
            nc.createVariable("t", "f4", ("time",))[:] = [part, -part]
    with fl.open(str(tmp_path / "t_*.nc")) as file:
        assert [step.time for step in file] == [0, 5, 10, 15, 20, 25]
        assert [float(step["t"].read()) for step in file] == [0, 0, 1, -1, 2, -2]
        assert file.steps[3].attrs == {"time": 15.0}


@pytest.mark.parametrize("engine", ["netcdf", "netcdf4"])
def test_a_record_has_what_its_own_file_says_of_it(tmp_path, engine):
    told = [{"laps": 3, "half": 0.5}, {}, {"laps": 7.25}]  # of another type in the last one
    for part, attrs in enumerate(told):
        with fl.open(str(tmp_path / f"t_{part}.nc"), "w", engine=engine) as series:
            for record in range(2):
                of_step = {name: value + record for name, value in attrs.items()}
                with series.step(time=10.0 * part + record, attrs=of_step) as step:
                    step.put("t", np.full(2, part))
    for order in ((0, 1, 2), (1, 2, 0)):
        with fl.open([str(tmp_path / f"t_{part}.nc") for part in order]) as file:
            for position, part in enumerate(order):
                for record in range(2):
                    said = {name: value + record for name, value in told[part].items()}
                    attrs = file.steps[2 * position + record].attrs
                    assert attrs == {"time": 10.0 * part + record, **said}
                    assert type(attrs.get("laps")) is type(said.get("laps"))


def test_a_file_without_steps_is_one(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = np.arange(3.0)
        file.attrs["time"] = 2.5
    with fl.open(str(tmp_path / "a.h5")) as file:
        (step,) = file
        assert (step.index, step.time, step["x"].sum()) == (0, 2.5, 3)
    path = tmp_path / "t.raw"
    path.write_bytes(np.arange(6.0).tobytes())
    with fl.open(str(path), raw={"dtype": "f8", "shape": (2, 3)}) as file:
        assert [s["data"].sum() for s in file] == [15]


def test_numbered_files_of_any_format(tmp_path):
    for number in (1, 2, 10):
        xr.Dataset({"t": ("x", np.full(4, number))}).to_netcdf(tmp_path / f"t{number}.nc")
    (tmp_path / "t.nc").touch()
    (tmp_path / "tx.nc").touch()
    with fl.open(str(tmp_path / "t%T.nc")) as series:
        assert [(step.index, int(step["t"].sum())) for step in series] == [(1, 4), (2, 8), (10, 40)]
        assert [os.path.basename(path) for path in series.paths] == ["t1.nc", "t2.nc", "t10.nc"]


def test_patterns_that_cannot_be_used(tmp_path):
    (tmp_path / "t1.nc").touch()
    (tmp_path / "t01.nc").touch()
    with pytest.raises(fl.InvalidArgument, match="two files have the number 1"):
        fl.open(str(tmp_path / "t%T.nc"))
    with pytest.raises(fl.InvalidArgument, match="one %T, or %06T"):
        fl.open(str(tmp_path / "t%T_%T.nc"))
    with pytest.raises(FileNotFoundError, match="no such files"):
        fl.open(str(tmp_path / "u%T.nc"))
    with pytest.raises(FileNotFoundError, match="no such folder"):
        fl.open(str(tmp_path / "nowhere" / "u%T.nc"))
    with pytest.raises(fl.InvalidArgument, match="raw does not go with numbered files"):
        fl.open(str(tmp_path / "t%T.nc"), raw={"dtype": "f8", "shape": (2,)})


def test_parts_of_a_step_by_a_strategy(tmp_path):
    x = np.arange(70.0).reshape(10, 7)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("chunked", data=x, chunks=(4, 3))
        file["whole"] = x
        file["scalar"] = 3.0
    with fl.open(str(tmp_path / "a.h5")) as series:
        (step,) = series
        parts = step.mine("round-robin")
        assert [len(parts[n]) for n in ("chunked", "whole", "scalar")] == [9, 1, 1]
        seen = np.zeros_like(x)
        for piece in parts["chunked"]:
            np.testing.assert_array_equal(step["chunked"][piece.selection], x[piece.selection])
            seen[piece.selection] += 1
        assert (seen == 1).all()
        row = step["chunked"].isel(dim_0=3)
        assert [piece.extent for piece in row.mine("round-robin")] == [(3,), (3,), (1,)]
        assert len(step["chunked"].isel(dim_0=slice(1, None)).mine("round-robin")) == 1
        with pytest.raises(fl.InvalidArgument, match="Did you mean 'blocks'"):
            step.mine("block")
        with pytest.raises(KeyError, match="no such dataset"):
            step.mine("blocks", ["chunk"])
        with pytest.raises(TypeError, match="names"):
            step.mine("blocks", "chunked")


def test_records_of_groups(tmp_path):
    path = str(tmp_path / "g.nc")
    with netCDF4.Dataset(path, "w") as nc:
        group = nc.createGroup("a")
        group.createDimension("time", None)
        group.createVariable("time", "f8", ("time",))[:] = [0, 1, 2]
        group.createVariable("T", "f4", ("time",))[:] = [1, 2, 3]
    with fl.open(path) as file:
        assert [(s.time, s["a/T"].shape, float(s["a/T"].sum())) for s in file] == [
            (0.0, (), 1.0),
            (1.0, (), 2.0),
            (2.0, (), 3.0),
        ]
    with netCDF4.Dataset(path, "a") as nc:
        group = nc.createGroup("b")
        group.createDimension("time", None)
        group.createVariable("T", "f4", ("time",))[:] = [4, 5]
    with fl.open(path) as file:
        with pytest.raises(fl.InvalidArgument, match="has no steps: got 'a/time', 'b/time'"):
            next(iter(file))
        assert float(file["b/T"].sum()) == 9


def test_files_are_joined_along_a_dimension_in_a_group(tmp_path):
    for part in range(2):
        with netCDF4.Dataset(tmp_path / f"g_{part}.nc", "w") as nc:
            group = nc.createGroup("a")
            group.createDimension("time", None)
            group.createDimension("x", 3)
            group.createVariable("time", "f8", ("time",))[:] = np.arange(2) + 2 * part
            group.createVariable("T", "f4", ("time", "x"))[:] = np.full((2, 3), part)
            group.createGroup("b").createVariable("S", "f4", ("time",))[:] = [part, part]
    with fl.open(str(tmp_path / "g_*.nc")) as file:
        assert (file.dims["a/time"], file["a/T"].shape, file["a/b/S"].shape) == (4, (4, 3), (4,))
        assert [(s.time, float(s["a/T"].sum())) for s in file] == [(0, 0), (1, 0), (2, 3), (3, 3)]
        assert file["a/T"].sel(time=slice(1, 2)).reduce("sum").item() == 3


def test_files_that_cannot_be_joined_are_refused(tmp_path):
    for part in range(2):
        with netCDF4.Dataset(tmp_path / f"s_{part}.nc", "w") as nc:
            nc.createDimension("y", 3)
            nc.createDimension("time", None)
            nc.createVariable("T", "f4", ("y", "time"))[:] = np.ones((3, 2 + part))
    refused = pytest.raises(fl.InvalidArgument, match="'T' cannot be joined: got dimensions 'y'")
    with fl.open(str(tmp_path / "s_*.nc")) as file, refused:
        file["T"].sum()


def test_joined_files_without_names_of_dimensions_are_one_step(tmp_path):
    for part in range(2):
        with h5py.File(tmp_path / f"p_{part}.h5", "w") as file:
            file["x"] = np.ones((2, 3))
    with fl.open(str(tmp_path / "p_*.h5")) as file:
        (step,) = file
        assert (len(file), step["x"].shape) == (1, (4, 3))


def test_attributes_of_time_that_are_no_numbers(tmp_path):
    xr.Dataset({"t": ("x", [1.0])}, attrs={"time": "2020-01-01", "dt": "3h"}).to_netcdf(
        tmp_path / "a.nc"
    )
    with fl.open(str(tmp_path / "a.nc")) as file:
        assert np.isnan(file.steps[0].time) and np.isnan(file.steps[0].dt)


def test_numbered_files_of_one_record(tmp_path):
    for number in range(3):
        with netCDF4.Dataset(tmp_path / f"p_{number}.nc", "w") as nc:
            nc.createDimension("time", None)
            nc.createVariable("time", "f8", ("time",))[:] = [number * 6.0]
            nc.createVariable("T", "f4", ("time",))[:] = [number]
    with fl.open(tmp_path / "p_%T.nc") as series:
        assert [(s.index, s.time, s["T"].shape) for s in series] == [
            (n, 6.0 * n, ()) for n in range(3)
        ]


@pytest.mark.parametrize(
    ("days", "wrong"),
    [
        ([[0, 1], [2, 3], [4]], None),
        ([[4, 3], [2], [1, 0]], None),  # they descend
        ([[0, 1, 2], [2, 3], [4]], ("2000-03-04", "s_1", "2000-03-04", "s_0")),  # a restarted run
        ([[0, 1], [4], [2, 3]], ("2000-03-04", "s_2", "2000-03-06", "s_1")),
        ([[3], [1, 2], [4]], ("2000-03-06", "s_2", "2000-03-04", "s_1")),
    ],
)
def test_files_that_do_not_follow_each_other_are_said(tmp_path, days, wrong):
    for part, some in enumerate(days):
        with netCDF4.Dataset(tmp_path / f"s_{part}.nc", "w") as nc:
            nc.createDimension("time", None)
            time = nc.createVariable("time", "f8", ("time",))
            time.units = f"days since 2000-03-0{part + 1}"  # of another day in each file
            time[:] = np.array(some) + 1 - part
            nc.createVariable("T", "f4", ("time",))[:] = some
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with fl.open(str(tmp_path / "s_*.nc")) as file:
            assert file["T"].sum() == file["T"].where("T >= 0").sum() == sum(map(sum, days))
    texts = [str(one.message) for one in told if "not in order" in str(one.message)]
    assert len(texts) == (wrong is not None)
    for text in texts:
        assert re.search(".*".join(wrong), text), text


def times_in(path, values, units, calendar="standard", **packing):
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("time", None)
        time = nc.createVariable("time", "i4", ("time",))
        time.setncatts({"units": units, "calendar": calendar, **packing})
        time.set_auto_maskandscale(False)
        time[:] = values
        nc.createVariable("T", "f4", ("time",))[:] = np.arange(len(values))


@pytest.mark.filterwarnings("error:the files are not in order")
def test_the_order_of_files_is_looked_at_where_it_has_a_meaning(tmp_path):
    days = "days since 2250-01-01"  # the second file ends after what datetime64[ns] holds
    times_in(tmp_path / "far_0.nc", [0, 300], days)
    times_in(tmp_path / "far_1.nc", [600, 30_000], days)
    times_in(tmp_path / "of_0.nc", [0, 1], days, "noleap")
    times_in(tmp_path / "of_1.nc", [2, 3], days, "standard")
    for number, names in enumerate(["bc", "a"]):  # of stations, which need not ascend
        with netCDF4.Dataset(tmp_path / f"at_{number}.nc", "w") as nc:
            nc.createDimension("station", None)
            nc.createVariable("station", "i4", ("station",))[:] = [ord(name) for name in names]
            nc.createVariable("T", "f4", ("station",))[:] = np.arange(len(names))
    for name, total in (("far_*", 2), ("of_*", 2), ("at_*", 1)):
        with fl.open(str(tmp_path / f"{name}.nc")) as file:
            assert file["T"].sum() == total


def test_joined_times_that_are_packed_in_other_ways_are_refused(tmp_path):
    times_in(tmp_path / "t_0.nc", [0, 1], "1", scale_factor=1.0)
    times_in(tmp_path / "t_1.nc", [4, 6], "1", scale_factor=0.5)
    refused = pytest.raises(fl.InvalidArgument, match="store 'time' differently")
    with fl.open(str(tmp_path / "t_*.nc")) as file, refused:
        file["time"].sum()
