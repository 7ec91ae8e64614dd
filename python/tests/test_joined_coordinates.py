# SPDX-License-Identifier: Apache-2.0
"""Coordinates of several files that are one: labels that fit are joined, others are refused."""

import netCDF4
import numpy as np
import pytest

import fluvial as fl


def write(path, times, units, calendar="standard", lat=(0, 1), **of_lat):
    """Write T(time, lat), which is its time, with a latitude of these attributes."""
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("time", None)
        nc.createDimension("lat", len(lat))
        time = nc.createVariable("time", "f8", ("time",))
        time.setncatts({"units": units, "calendar": calendar})
        time[:] = times
        some = np.asarray(lat)
        latitude = nc.createVariable("lat", "i2" if of_lat else some.dtype, ("lat",))
        latitude.set_auto_maskandscale(False)
        latitude.setncatts(of_lat)
        latitude[:] = some
        nc.createVariable("T", "f4", ("time", "lat"))[:] = np.outer(times, np.ones(len(lat)))


@pytest.mark.parametrize("turned", [False, True])
def test_dates_of_which_datetime64_holds_some_are_all_of_cftime(tmp_path, turned):
    days = "days since 2262-01-01"
    write(tmp_path / "a.nc", [0, 1], days)
    write(tmp_path / "b.nc", [200, 400], days)  # after what datetime64[ns] holds
    paths = [tmp_path / "a.nc", tmp_path / "b.nc"]
    dates = ["2262-01-01", "2262-01-02", "2262-07-20", "2263-02-05"]
    if turned:
        paths, dates = paths[::-1], dates[2:] + dates[:2]
        warned = pytest.warns(UserWarning, match="not in order along 'time': got 2262-01-01")
        with fl.open(paths) as file, warned:
            file["T"].isel(time=slice(1, 3)).sum()
    with fl.open(paths) as file:
        kept = file["T"].isel(time=slice(None)).coords["time"].values
        assert [date.strftime("%Y-%m-%d") for date in kept] == dates
        assert {step.time.calendar for step in file} == {"standard"}
        if not turned:
            assert file["T"].sel(time=slice("2262-01-02", "2262-12-31")).shape == (2, 2)


@pytest.mark.parametrize(
    ("units", "calendar", "said"),
    [
        ("days since 2000-02-01", "noleap", "units 'days since 2000-02-01' and calendar 'noleap'"),
        ("months since 2000-02-01", "standard", "units 'months since 2000-02-01'"),  # plain numbers
        ("hours", "standard", "units 'hours'"),
    ],
)
def test_times_that_count_otherwise_are_refused(tmp_path, units, calendar, said):
    write(tmp_path / "t_0.nc", [0, 1], "days since 2000-01-01")
    write(tmp_path / "t_1.nc", [4, 6], units, calendar)
    with fl.open(str(tmp_path / "t_*.nc")) as file:
        refused = pytest.raises(fl.InvalidArgument, match=f"'time' counts otherwise.*{said}.*t_1")
        with refused:
            file["T"].reduce("mean", over="lat", local=True)
        with refused:
            file["T"].sel(time=slice("2000-01-02", None))
        assert file["T"].reduce("max", local=True) == 6  # for which nobody needs the times


def test_numbers_that_count_by_other_units_are_refused(tmp_path):
    write(tmp_path / "t_0.nc", [0, 1], "m")
    write(tmp_path / "t_1.nc", [4, 6], "km")
    refused = pytest.raises(fl.InvalidArgument, match=r"got units 'km'.*in '.*t_1.nc'.*'m'")
    with fl.open(str(tmp_path / "t_*.nc")) as file, refused:
        file["T"].reduce("mean", over="lat", local=True)
    with fl.open(str(tmp_path / "t_*.nc"), decode=False) as file:  # which are as they are stored
        kept = file["T"].reduce("mean", over="lat", local=True)
        np.testing.assert_array_equal(kept["time"], [0, 1, 4, 6])


def test_calendars_of_two_names_are_joined(tmp_path):
    write(tmp_path / "t_0.nc", [0, 1], "days since 2000-02-28", "noleap")
    write(tmp_path / "t_1.nc", [0, 1], "days since 2000-03-02", "365_day")
    with fl.open(str(tmp_path / "t_*.nc")) as file:
        kept = file["T"].reduce("mean", over="lat", local=True)
        assert [date.strftime("%m-%d") for date in kept["time"].values] == [
            *("02-28", "03-01", "03-02", "03-03")
        ]


def test_other_coordinates_are_compared_as_what_they_mean(tmp_path):
    days = "days since 2000-01-01"
    write(tmp_path / "n_0.nc", [0], days, lat=[0, np.nan])
    write(tmp_path / "n_1.nc", [1], days, lat=[0, np.nan])
    write(tmp_path / "p_0.nc", [0], days, lat=[0, 20], scale_factor=0.5)
    write(tmp_path / "p_1.nc", [1], days, lat=[0, 10], scale_factor=1.0)
    write(tmp_path / "q_0.nc", [0], days, lat=[0, 1], add_offset=0.0)
    write(tmp_path / "q_1.nc", [1], days, lat=[0, 1], add_offset=10.0)
    for name in ("n_*.nc", "p_*.nc"):
        with fl.open(str(tmp_path / name)) as file:
            assert file["T"].reduce("mean", over="time", local=True).dims == ("lat",)
    refused = pytest.raises(fl.InvalidArgument, match="differ in coordinate 'lat': got other")
    with fl.open(str(tmp_path / "q_*.nc")) as file, refused:
        file["T"].reduce("mean", over="time", local=True)
