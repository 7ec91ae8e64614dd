# SPDX-License-Identifier: Apache-2.0
"""What a series writes into files of netCDF: a record a step, as its own library reads it."""

import contextlib
import os
import signal
import subprocess
import sys

import netCDF4
import numpy as np
import pytest
import xarray as xr

import fluvial as fl

DTYPES = [*(f"{s}{n}" for s in "iu" for n in (1, 2, 4, 8)), "f4", "f8"]
LAT, LON = np.linspace(60, -60, 4), np.arange(6) * 60.0


@pytest.fixture(params=["nc", "nc4"])
def suffix(request):
    """The suffix of CDF-5, and of netCDF-4."""
    return request.param


def field(index=0):
    array = xr.DataArray(
        np.arange(24.0).reshape(4, 6) + 100 * index, {"lat": LAT, "lon": LON}, ("lat", "lon")
    )
    array["lat"].attrs["units"] = "degrees_north"
    return array.assign_attrs(units="K", valid_min=0.0, levels=[1, 2])


def write(name, steps=3):
    with fl.open(str(name), "w") as series:
        series.attrs.update(title="waves", version=3, on=True)
        for index in range(steps):
            with series.step(time=index / 4, dt=0.25, attrs={"cycle": 7 + index}) as step:
                assert (step.index, step.accepted) == (index, True)
                step.put("t", field(index))
                step.put("count", np.int16(index))
                step.put("flux", np.full((6, 2), index, "f4"), attrs={"axisLabels": ["lon", "k"]})


@pytest.mark.parametrize("name", ["run", "data%T", "data_%06T"])
def test_what_was_written_is_read_again(tmp_path, name, suffix):
    write(tmp_path / f"{name}.{suffix}")
    with fl.open(str(tmp_path / f"{name}.{suffix}")) as series:
        assert series.format == {"nc": "netCDF classic (CDF-5)", "nc4": "netCDF-4"}[suffix]
        assert series.attrs == {"software": "Fluvial", "title": "waves", "version": 3, "on": 1}
        assert len(series) == 3
        for index, step in enumerate(series):
            assert (step.index, step.time, step.dt) == (index, index / 4, 0.25)
            assert step.attrs == {"time": index / 4, "dt": 0.25, "cycle": 7 + index}
            xr.testing.assert_equal(step["t"].read().drop_vars("time"), field(index))
            assert step["t"].attrs["units"] == "K"
            assert "valid_min" not in step["t"].attrs
            assert step["count"].read() == index
            assert step["flux"].dims == ("lon", "k")
            assert step["flux"].sum() == 12 * index


def test_its_own_library_and_xarray_read_it(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    write(path)
    with netCDF4.Dataset(path) as file:
        assert file.data_model == {"nc": "NETCDF3_64BIT_DATA", "nc4": "NETCDF4"}[suffix]
        assert file.dimensions["time"].isunlimited()
        assert file["lat"].units == "degrees_north" and file["lat"].dimensions == ("lat",)
        assert list(file["t"].levels) == [1, 2]
        np.testing.assert_array_equal(file["count"][:], [0, 1, 2])
        np.testing.assert_array_equal(file["cycle"][:], [7, 8, 9])
    with xr.open_dataset(path, engine="netcdf4") as found:
        expected = xr.concat([field(i) for i in range(3)], "time")
        expected = expected.assign_coords(time=[0, 0.25, 0.5])
        xr.testing.assert_equal(found["t"].load(), expected)


def test_the_library_of_netcdf4_adds_records_and_variables(tmp_path):
    path = tmp_path / "run.nc4"
    write(path)
    with netCDF4.Dataset(path, "a") as file:
        assert list(file.variables)[:5] == ["lat", "lon", "t", "count", "flux"]
        file["t"][3] = field(3).values
        file["time"][3] = 0.75
        new = file.createVariable("new", "f4", ("time", "lat"))
        new[3] = 1.0
        assert file["count"][:].mask.tolist() == [False, False, False, True]
    with xr.open_dataset(path, engine="h5netcdf") as found:
        assert found.sizes == {"time": 4, "lat": 4, "lon": 6, "k": 2}
        np.testing.assert_array_equal(found["t"][3], field(3))
        np.testing.assert_array_equal(found["t"][1], field(1))


def test_netcdf4_without_a_time_and_with_a_fill_value(tmp_path):
    path = tmp_path / "run.nc4"
    with fl.open(str(path), "w") as series:
        for index in range(3000):  # more than a chunk of numbers
            with series.step() as step:
                step.put("n", np.int32(index), attrs={"_FillValue": 7, "note": ""})
    with netCDF4.Dataset(path) as file:
        assert file.dimensions["time"].size == 3000 and "time" not in file.variables
        assert file["n"]._FillValue.dtype == np.int32
        assert file["n"].note == ""
        expected = np.ma.masked_equal(np.arange(3000), 7)
        np.testing.assert_array_equal(file["n"][:].mask, expected.mask)
        np.testing.assert_array_equal(file["n"][:].compressed(), expected.compressed())


def test_a_dataset_may_be_called_like_an_axis_whose_coordinate_it_is_not(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    arrays = [np.arange(6.0).reshape(3, 2) + 10 * index for index in range(3)]
    with fl.open(str(path), "w") as series:
        for array in arrays:
            with series.step() as step:
                step.put("y", xr.DataArray(array, dims=("y", "x")))
                step.put("E", xr.DataArray(-array, dims=("y", "x")))
    with netCDF4.Dataset(path) as file:
        assert file["y"].dimensions == file["E"].dimensions == ("time", "y", "x")
        np.testing.assert_array_equal(file["y"][:], arrays)
        np.testing.assert_array_equal(file["E"][:], np.negative(arrays))
    with netCDF4.Dataset(path, "a") as file:
        file["y"][3] = 7
    with fl.open(str(path)) as series:
        for step, array in zip(series, [*arrays, np.full((3, 2), 7.0)], strict=True):
            assert step["y"].dims == ("y", "x")
            np.testing.assert_array_equal(step["y"].read(), array)


def test_netcdf4_has_one_time_a_record(tmp_path):
    with (
        pytest.raises(fl.InvalidArgument, match=r"'time' is the axis of the records.*'y', 'x'"),
        fl.open(str(tmp_path / "run.nc4"), "w") as series,
        series.step() as step,
    ):
        step.put("time", xr.DataArray(np.ones((3, 2)), dims=("y", "x")))


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype_and_shape(tmp_path, dtype, suffix):
    shapes = [(), (1,), (5,), (7, 1), (3, 2, 2), (2, 3, 4, 5)]
    values = [
        [(np.arange(np.prod(s)).reshape(s) + 3 * index).astype(dtype) for s in shapes]
        for index in range(3)
    ]
    for alone in (False, True):  # a lone variable of records is stored without padding
        path = tmp_path / f"{alone}.{suffix}"
        with fl.open(str(path), "w") as series:
            for index in range(3):
                with series.step() as step:
                    for number, array in enumerate(values[index]):
                        if not alone or number == 2:
                            step.put(f"x{number}", array)
        with fl.open(str(path)) as series, netCDF4.Dataset(path) as file:
            assert len(series) == 3
            for index, step in enumerate(series):
                for number, expected in enumerate(values[index]):
                    if not alone or number == 2:
                        np.testing.assert_array_equal(step[f"x{number}"].read(), expected)
                        found = file[f"x{number}"]
                        assert found.dtype == expected.dtype
                        np.testing.assert_array_equal(found[index], expected)


def test_times_of_records(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    times = np.array(["2000-01-01T00:00", "2000-01-01T06:30:00.25"], "datetime64[ns]")
    whole = xr.concat([field(0), field(1)], "time").assign_coords(time=times)
    with fl.open(str(path), "w") as series:
        for index in range(2):
            with series.step() as step:
                step.put("t", whole.isel(time=index))
    with xr.open_dataset(path, engine="netcdf4") as found:
        np.testing.assert_array_equal(found["time"], times)
        np.testing.assert_array_equal(found["t"], whole)
    with fl.open(str(path)) as series:
        assert [step.time for step in series] == list(times)
        assert series["t"].sel(time="2000-01-01").mean() == whole.mean()
        with fl.open(str(tmp_path / f"copy.{suffix}"), "w") as copy:  # from a file's own datasets
            for step in series:
                with copy.step() as to:
                    to.put("t", step["t"])
    with xr.open_dataset(tmp_path / f"copy.{suffix}", engine="netcdf4") as found:
        xr.testing.assert_equal(found["t"].load(), whole)


def test_coordinates_of_grids_and_as_datasets(tmp_path, suffix):
    path = tmp_path / f"run.{suffix}"
    grid = {"axisLabels": ["y", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [1.0, 0.0]}
    with fl.open(str(path), "w") as series:
        for index in range(3):
            with series.step() as step:
                step.put("rho", np.full((2, 3), index), attrs=grid)
                if index != 1:  # they may be put again, just as they were
                    step.put("x", np.array([7.0, 8.0, 9.0]), attrs={"axisLabels": ["x"]})
    with xr.open_dataset(path, engine="netcdf4") as found:
        assert found["rho"].dims == ("time", "y", "x")
        assert found["y"].values.tolist() == [1.0, 1.5]
        assert found["x"].values.tolist() == [7, 8, 9]
    with (
        pytest.raises(fl.InvalidArgument, match="coordinate 'x' changes: got an array"),
        fl.open(str(path), "w") as series,
    ):
        for index in range(2):
            with series.step() as step:
                step.put("rho", np.full((2, 3), index), attrs=grid)
                step.put("x", np.arange(3.0) + index, attrs={"axisLabels": ["x"]})
    with fl.open(str(path)) as file:
        assert len(file) == 1


FIRST = {"t": field(), "n": np.int16(1)}
LATER = {
    "'n' is missing in step 1": {"t": field()},
    "'m' is new in step 1": FIRST | {"m": 1},
    "'n' changes in step 1: got int32": FIRST | {"n": np.int32(1)},
    r"'lon' changes in step 1: got float64 \(5,\)": FIRST | {"t": field().isel(lon=slice(5))},
    "attributes of 't' change in step 1": FIRST | {"t": field().assign_attrs(units="C")},
    "arrays differ in the coordinate 'lat'": FIRST | {"t": field().assign_coords(lat=LAT + 1)},
    "is new in step 1": FIRST | {"dt": 3.0},
}
AT_FIRST = {
    "two lengths: got 5 in 'b'; allowed: 6": {"a": field(), "b": xr.DataArray(LON[:5], dims="lon")},
    "axis that is called 'time'": {"a": field().rename(lat="time")},
    "'z' has a dtype that files of netCDF do not have: got complex64": {"z": np.ones(2, "c8")},
    "'h' has a dtype .* got float16.*engine='hdf5'": {"h": np.ones(2, "f2")},
    "'e' has no elements: got shape": {"e": np.ones((3, 0))},
    "netCDF file cannot be called that: got 'meshes/E/x'": {"meshes/E/x": np.ones(2)},
    "cannot be called that: got ''": {"": np.ones(2)},
    "attribute 'a' of 'x' cannot be one": {"x": field().assign_attrs(a=["x", "y"])},
    "'lat' cannot be written: got .*drop_vars": {
        "x": field().assign_coords(lat=["a", "b", "c", "d"])
    },
    "nothing that changes with time: got 'lon'": {"lon": xr.DataArray(LON, dims="lon")},
}


@pytest.mark.parametrize("message", LATER)
def test_later_steps_must_be_as_the_first(tmp_path, message, suffix):
    path = tmp_path / f"a.{suffix}"
    with fl.open(str(path), "w") as series:
        for index, puts in enumerate([FIRST, LATER[message], FIRST]):
            refused = pytest.raises(fl.InvalidArgument, match=message)
            with refused if index == 1 else contextlib.nullcontext(), series.step() as step:
                for name, array in puts.items():
                    step.put(name, array)
    with xr.open_dataset(path, engine="netcdf4") as found:
        assert found.sizes["time"] == 2
        np.testing.assert_array_equal(found["t"][1], field())


@pytest.mark.parametrize("message", AT_FIRST)
def test_what_cannot_be_written_leaves_no_file(tmp_path, message, suffix):
    path = tmp_path / f"a.{suffix}"
    with fl.open(str(path), "w") as series:
        with pytest.raises(fl.InvalidArgument, match=message), series.step() as step:
            for name, array in AT_FIRST[message].items():
                step.put(name, array)
        wrong = pytest.raises(fl.InvalidArgument, match="'note' of step 1 is no number: got 'hot'")
        with wrong, series.step(attrs={"note": "hot"}) as step:
            step.put("t", field())
    assert os.listdir(tmp_path) == []
    with fl.open(str(path), "w") as series:
        with pytest.raises(fl.InvalidArgument, match=message), series.step() as step:
            for name, array in AT_FIRST[message].items():
                step.put(name, array)
        with series.step() as step:
            step.put("t", field(5))
    with fl.open(str(path)) as file:
        np.testing.assert_array_equal(file["t"][0], field(5))


def test_a_full_disk_is_an_error_and_leaves_whole_records(tmp_path, suffix):
    path = tmp_path / f"a.{suffix}"
    program = f"""
import resource, signal
import numpy as np, fluvial as fl
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))  # as a disk of 256 KiB
with fl.open({str(path)!r}, "w") as series:
    for index in range(5):
        try:
            with series.step() as step:
                step.put("x", np.full(12000, float(index)))
        except OSError as error:
            print("refused:", error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("refused: ") == 3 and "File too large" in done.stdout
    with fl.open(str(path)) as file:
        assert [float(step["x"].mean()) for step in file] == [0, 1]


@pytest.mark.parametrize("where", ["_finish", "_write_parts"])
def test_a_killed_writer_leaves_whole_records(tmp_path, where, suffix):
    path = tmp_path / f"a.{suffix}"
    program = f"""
import os, signal, numpy as np, fluvial as fl
series = fl.open({str(path)!r}, "w")
for index in range(3):
    with series.step() as step:
        step.put("x", np.full(10, index))
        if index == 2:
            series.{where} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    with fl.open(str(path)) as file, netCDF4.Dataset(path) as theirs:
        assert [int(step["x"].max()) for step in file] == [0, 1]
        assert theirs["x"].shape == (2, 10)


def test_descriptors_are_given_back(tmp_path, suffix):
    before = len(os.listdir("/proc/self/fd"))
    for name in (f"a.{suffix}", f"b%T.{suffix}"):
        write(tmp_path / name, steps=5)
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("name", ["DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "_Netcdf4Dimid"])
def test_attributes_of_dimensions_are_not_for_users(tmp_path, name):
    program = f"""
import fluvial as fl, numpy as np
with fl.open({str(tmp_path / "run.nc4")!r}, "w") as series, series.step(time=0.0) as step:
    step.put("x", np.arange(3.0), attrs={{{name!r}: "mine"}})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "InvalidArgument" in done.stderr and name in done.stderr
