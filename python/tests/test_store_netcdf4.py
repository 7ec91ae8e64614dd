# SPDX-License-Identifier: Apache-2.0
"""netCDF-4 files: what Fluvial reads is what the netCDF library reads."""

import netCDF4
import numpy as np
import pytest
import xarray as xr
from fluvial._core import open_file
from harness.file_datasets import check_dataset, check_file


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.nc"


def raw(variable):
    """All values as they are stored."""
    variable.set_auto_maskandscale(False)
    return np.asarray(variable[:])


def test_variables_dimensions_and_attributes(path):
    with netCDF4.Dataset(path, "w") as nc:
        nc.title = "a test"
        nc.createDimension("time", None)
        nc.createDimension("lat", 6)
        nc.createDimension("station", 4)
        nc.createVariable("time", "f8", ("time",))[:] = np.arange(5.0)
        lat = nc.createVariable("lat", "f4", ("lat",))
        lat[:] = np.linspace(-90, 90, 6)
        lat.units = "degrees_north"
        t = nc.createVariable(
            "t", "i2", ("time", "lat", "station"), zlib=True, shuffle=True, fletcher32=True
        )
        t.set_auto_scale(False)
        t[:] = np.arange(120).reshape(5, 6, 4)
        t.scale_factor = np.float32(0.01)
        t.coordinates = "lat lon"
        t.empty = ""
        nc.createVariable("name", "S1", ("station",))
        nc.createVariable("label", str, ("station",))
    file = open_file(str(path))
    assert file.format == "netCDF-4"
    assert file.names == ["time", "lat", "t"]
    assert file.attributes == {"title": "a test"}
    assert file.dimensions == [("time", 5, True), ("lat", 6, False), ("station", 4, False)]
    dataset = file.dataset("t")
    assert dataset.dimensions == ["time", "lat", "station"]
    assert dataset.attributes == {
        "scale_factor": pytest.approx(0.01),
        "coordinates": "lat lon",
        "empty": "",
    }
    assert file.dataset("lat").dimensions == ["lat"]
    assert file.dataset("lat").attributes == {"units": "degrees_north"}
    with netCDF4.Dataset(path) as nc:
        for name in file.names:
            check_dataset(file.dataset(name), raw(nc[name]))


@pytest.mark.parametrize("compression", ["zlib", "zstd", "bzip2", "szip"])
def test_compressions(path, compression):
    if compression != "zlib":
        with netCDF4.Dataset("probe", "w", diskless=True) as probe:
            if not getattr(probe, f"has_{compression}_filter")():
                pytest.skip(f"this netCDF4 has no {compression}")
    values = np.random.default_rng(5).normal(280, 10, (30, 20)).astype("f4").round(1)
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("y", 30)
        nc.createDimension("x", 20)
        nc.createVariable(
            "t", "f4", ("y", "x"), compression=compression, chunksizes=(7, 20), endian="big"
        )[:] = values
    if compression == "bzip2":
        assert "307" in open_file(str(path)).dataset("t").layout["why"]
        return
    layout = check_file(path, "t", values).layout
    assert layout["kind"] == ("by library" if compression == "szip" else "chunked")


def test_values_that_were_never_written(path):
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("time", None)
        nc.createDimension("x", 5)
        nc.createVariable("a", "f4", ("time", "x"))[7:9] = 1
        nc.createVariable("b", "i2", ("time", "x"), fill_value=-5, chunksizes=(2, 3))[3, 2] = 1
        nc.createVariable("c", "f8", ("time", "x"))
        nc.createVariable("d", "i4", ("x",))
        nc.createVariable("e", "i1", ("x", "time"), fill_value=-7)[:, 4] = 3
    file = open_file(str(path))
    assert file.dimensions[0] == ("time", 9, True)
    with netCDF4.Dataset(path) as nc:
        for name in "abcd":
            expected = raw(nc[name])
            assert expected.shape == nc[name].shape
            check_dataset(file.dataset(name), expected)
    # By hand: the netCDF library mixes up rows where an inner dimension grows.
    expected = np.full((5, 9), -7, "i1")
    expected[:, 4] = 3
    check_dataset(file.dataset("e"), expected)
    assert "unlimited" in file.dataset("b").layout["why"]
    assert file.dataset("a").layout["kind"] == "chunked"


def test_groups_have_dimensions_of_their_own(path):
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("x", 3)
        nc.createVariable("x", "i4", ("x",))[:] = [1, 2, 3]
        group = nc.createGroup("g")
        group.createDimension("x", 4)
        group.createDimension("y", 2)
        group.createVariable("t", "f4", ("y", "x"))[:] = np.arange(8).reshape(2, 4)
        deeper = group.createGroup("h")
        deeper.createVariable("u", "f4", ("y",))[:] = [5, 6]
    file = open_file(str(path))
    assert file.names == ["x", "g/t", "g/h/u"]
    assert sorted(file.dimensions) == [("g/x", 4, False), ("g/y", 2, False), ("x", 3, False)]
    assert file.dataset("g/t").dimensions == ["y", "x"]
    assert file.dataset("g/h/u").dimensions == ["y"]
    check_dataset(file.dataset("g/t"), np.arange(8, dtype="f4").reshape(2, 4))


def test_variables_that_are_called_like_a_dimension(path):
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("x", 3)
        nc.createDimension("n", 2)
        nc.createVariable("n", "f4", ("x",))[:] = [1, 2, 3]  # not n's coordinate
        nc.createVariable("x", "f4", ("x", "n"))[:] = np.ones((3, 2))  # of two dimensions
    file = open_file(str(path))
    assert sorted(file.names) == ["n", "x"]
    assert file.dataset("n").dimensions == ["x"]
    assert file.dataset("x").dimensions == ["x", "n"]
    assert file.dimensions == [("x", 3, False), ("n", 2, False)]


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
def test_files_of_xarray(path, engine):
    data = xr.Dataset(
        {"t": (("time", "lat"), np.arange(12.0).reshape(3, 4), {"units": "K"})},
        {"time": [0, 6, 12], "lat": ("lat", [1.0, 2.0, 3.0, 4.0], {"axis": "Y"})},
    )
    data.to_netcdf(path, engine=engine, unlimited_dims=["time"])
    file = open_file(str(path))
    assert file.format == "netCDF-4"
    assert sorted(file.names) == ["lat", "t", "time"]
    assert file.dataset("t").dimensions == ["time", "lat"]
    assert file.dataset("t").attributes["units"] == "K"
    assert sorted(file.dimensions) == [("lat", 4, False), ("time", 3, True)]
    check_dataset(file.dataset("t"), data["t"].values)


def test_the_classic_model_inside_hdf5(path):
    with netCDF4.Dataset(path, "w", format="NETCDF4_CLASSIC") as nc:
        nc.createDimension("x", 3)
        nc.createVariable("t", "f4", ("x",))[:] = [1, 2, 3]
    file = open_file(str(path))
    assert file.format == "netCDF-4"
    assert file.attributes == {}
    check_dataset(file.dataset("t"), np.array([1, 2, 3], "f4"))
