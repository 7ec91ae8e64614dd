# SPDX-License-Identifier: Apache-2.0
"""Several files as one: what does not fit together is refused by the name of the file."""

import netCDF4
import numpy as np
import pytest

import fluvial as fl


def write(path, value, axes=("time", "y", "x"), **attributes):
    """Write two records of T over a square, and their times."""
    with netCDF4.Dataset(path, "w") as nc:
        for dim, length in (("time", None), ("y", 3), ("x", 3)):
            nc.createDimension(dim, length)
        nc.createVariable("time", "f8", ("time",))[:] = [value, value + 1]
        t = nc.createVariable("T", "f8", axes)
        t.setncatts(attributes)
        t[:] = np.full((2, 3, 3), value)


def test_axes_in_another_order_are_not_taken_for_the_same(tmp_path):
    write(tmp_path / "q_0.nc", 0)
    write(tmp_path / "q_1.nc", 2, ("time", "x", "y"))
    refused = pytest.raises(
        fl.InvalidArgument,
        match=r"cannot join 'T' of '.*q_1.nc': got axes 'time', 'x', 'y'; "
        r"allowed: 'time', 'y', 'x' as in '.*q_0.nc'",
    )
    with fl.open(str(tmp_path / "q_*.nc")) as file:
        assert file["time"].max() == 3
        with refused:
            file["T"].reduce("mean", over="time", local=True)


def test_values_of_other_units_are_not_taken_together(tmp_path):
    write(tmp_path / "u_0.nc", 290, units="K")
    write(tmp_path / "u_1.nc", 17, units="degC")
    write(tmp_path / "v_0.nc", 290, units="K")
    write(tmp_path / "v_1.nc", 292)  # which does not say any
    refused = pytest.raises(
        fl.InvalidArgument, match=r"store 'T' differently: got units = 'degC' in '.*u_1.nc'.*'K'"
    )
    with fl.open(str(tmp_path / "u_*.nc")) as file:
        for _ in range(2):  # once is not enough
            with refused:
                file["T"].mean()
    with fl.open(str(tmp_path / "u_*.nc"), decode=False) as file:
        assert file["T"].mean() == (290 + 17) / 2
    with fl.open(str(tmp_path / "v_*.nc")) as file:
        assert file["T"].mean() == 291


def test_each_pattern_of_a_list_fits_something(tmp_path):
    write(tmp_path / "u_0.nc", 0)
    patterns = [str(tmp_path / name) for name in ("v_*.nc", "u_*.nc")]
    with pytest.raises(FileNotFoundError, match=r"no such files: got '[^']*v_\*.nc'"):
        fl.open(patterns)


def test_a_file_without_the_joined_dimension_is_named(tmp_path):
    write(tmp_path / "t_0.nc", 0)
    with netCDF4.Dataset(tmp_path / "t_1.nc", "w") as nc:
        nc.createDimension("hour", 2)
        nc.createVariable("T", "f8", ("hour",))[:] = [0, 1]
    refused = pytest.raises(
        fl.InvalidArgument, match=r"t_1.nc' has not the dimension .*: got 'hour'; allowed: 'time'"
    )
    with fl.open(str(tmp_path / "t_*.nc")) as file:
        with refused:
            len(file)
        with refused:
            dict(file.dims)


def test_a_variable_of_two_axes_that_is_called_like_one_is_no_coordinate(tmp_path):
    for part in range(2):
        with netCDF4.Dataset(tmp_path / f"m_{part}.nc", "w") as nc:
            nc.createDimension("time", None)
            nc.createDimension("lat", 3)
            nc.createVariable("time", "f8", ("time",))[:] = [2 * part, 2 * part + 1]
            nc.createVariable("lat", "f8", ("lat", "time"))[:] = np.zeros((3, 2))
            t = nc.createVariable("T", "f8", ("time", "lat"))
            t.coordinates = "lat"
            t[:] = np.full((2, 3), part)
    with fl.open(str(tmp_path / "m_*.nc")) as file:
        kept = file["T"].reduce("mean", over="lat", local=True)
        np.testing.assert_array_equal(kept, [0, 0, 1, 1])
        np.testing.assert_array_equal(kept["time"], [0, 1, 2, 3])
        assert list(file["T"].coords) == ["time"]
        with pytest.raises(fl.InvalidArgument, match="'lat' cannot be joined"):
            file["lat"].mean()
