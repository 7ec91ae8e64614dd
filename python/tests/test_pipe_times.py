# SPDX-License-Identifier: Apache-2.0
"""`fluvial.pipe` from format to format: values arrive, and so do times, numbers and dates."""

import threading

import cftime
import numpy as np
import pytest
import xarray as xr

import fluvial as fl

WAIT = {"step_timeout": 20, "rendezvous_timeout": 20}
DATES = np.array(["2000-01-01", "2000-01-03T12:00:00.5"], "M8[ns]")
SECONDS = [946684800.0, 946900800.5]
RECORDS = ["o.nc", "o.nc4", "o.zarr"]
ITERATIONS = ["o.h5", "o.bp"]


def installed(name):
    """Skip where the library of a format is not there; return the name."""
    needed = {"nc4": "h5py", "zarr": "zarr", "bp": "adios2"}.get(name.rpartition(".")[2])
    if needed is not None:
        pytest.importorskip(needed)
    return name


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLUVIAL_DIRECTORY", str(tmp_path))
    return tmp_path


def write_numbers(name):
    with fl.open(name, "w") as series:
        for index in range(2):
            with series.step(time=6.0 * index, dt=6.0, attrs={"count": index}) as step:
                step.put("t", np.arange(3.0) + index, attrs={"axisLabels": ["x"]})


def write_dates(name, dates=DATES):
    t = xr.DataArray(np.array([np.arange(3.0), np.arange(3.0) + 1]), dims=("time", "x"), name="t")
    t.assign_coords(time=dates).to_dataset().to_netcdf(name, unlimited_dims="time")


def pipe_through(source, way, **options):
    """Pipe a source into the last file of a way, through another file or a stream before it."""
    if "." in way[0]:
        for target in way:
            fl.pipe(source, target, **options)
            source = target
        return
    sender = threading.Thread(
        target=fl.pipe, args=(source, way[0]), kwargs={"writing": WAIT, **options}
    )
    sender.start()
    try:
        fl.pipe(way[0], way[1], reading=WAIT)
    finally:
        sender.join()


def check_values(step, index):
    np.testing.assert_array_equal(step["t"].read(), np.arange(3.0) + index)
    assert step["t"].dims == ("x",)


@pytest.mark.parametrize("options", [{}, {"datasets": "t"}], ids=["all", "one dataset"])
@pytest.mark.parametrize("source", ["s.nc", "s.nc4", "s.zarr", "s.h5", "s.bp"])
@pytest.mark.parametrize("target", [*RECORDS, *ITERATIONS, "o%T.nc", "o%T.h5"])
def test_numbers_are_times_in_any_format(folder, source, target, options):
    write_numbers(installed(source))
    fl.pipe(source, installed(target), **options)
    with fl.open(target) as series:
        steps = list(series)
        assert [step.time for step in steps] == [0.0, 6.0]
        for index, step in enumerate(steps):
            check_values(step, index)
            assert step.attrs["time"] == 6.0 * index
            assert (step.attrs["dt"], step.attrs["count"]) == (6.0, index)


@pytest.mark.parametrize("way", [["m.h5"], ["m.bp"], ["m.nc4"], ["m.zarr"], ["stream"]])
@pytest.mark.parametrize("target", RECORDS)
def test_records_are_records_again(folder, way, target):
    write_numbers("n.nc")
    write_dates("d.nc")
    for source, times in (("n.nc", [0.0, 6.0]), ("d.nc", list(DATES))):
        pipe_through(source, [*map(installed, way), installed(target)])
        with fl.open(target) as series:
            assert [step.time for step in series] == times
            for index, step in enumerate(series):
                check_values(step, index)


@pytest.mark.parametrize("options", [{}, {"datasets": "t"}], ids=["all", "one dataset"])
@pytest.mark.parametrize("way", [[name] for name in ITERATIONS] + [["stream", "o.h5"]])
def test_dates_are_seconds_of_iterations(folder, way, options):
    write_dates("d.nc")
    pipe_through("d.nc", list(map(installed, way)), **options)
    with fl.open(way[-1]) as series:
        assert [step.time for step in series] == SECONDS
        for index, step in enumerate(series):
            check_values(step, index)
            assert step.attrs["timeUnitSI"] == 1.0


@pytest.mark.parametrize("options", [{}, {"datasets": "t"}], ids=["all", "one dataset"])
@pytest.mark.parametrize("target", RECORDS)
def test_dates_are_dates_of_records(folder, target, options):
    write_dates("d.nc")
    fl.pipe("d.nc", installed(target), **options)
    with fl.open(target) as series:
        assert [step.time for step in series] == list(DATES)
        assert [dict(step.attrs) for step in series] == [{}, {}]


def test_dates_of_other_calendars_are_counted_in_them(folder):
    dates = [cftime.Datetime360Day(1970, 2, day) for day in (29, 30)]
    write_dates("c.nc", dates)
    fl.pipe("c.nc", "c.h5")
    fl.pipe("c.nc", "again.nc", datasets="t")
    with fl.open("c.h5") as series:
        assert [step.time for step in series] == [58 * 86400.0, 59 * 86400.0]
    with fl.open("again.nc") as series:
        assert [step.time for step in series] == dates


UNITS = {"s": 1.0, "fs": 1e-15, "days": 86400.0, "Days since 2000-01-01": 86400.0, "strides": None}


def write_units(name, units):
    write_dates(name, np.array([0.0, 6.0]))
    with xr.open_dataset(name, decode_cf=False) as found:
        made = found.load()
    made["time"].attrs = {"units": units, "long_name": "when"}
    if "since" in units:
        made["time"].attrs["calendar"] = "noleap"
    made.to_netcdf(name, unlimited_dims="time")


@pytest.mark.parametrize("options", [{}, {"datasets": "t"}], ids=["all", "one dataset"])
@pytest.mark.parametrize("way", [["m.h5"], ["m.bp"], ["m.zarr"], ["stream"], ["o.h5", "o%T.h5"]])
@pytest.mark.parametrize("units", UNITS)
def test_numbers_keep_their_units(folder, units, way, options):
    write_units("s.nc", units)
    raw = {"reading": {"decode": False}}
    with fl.open("s.nc", decode=False) as source:
        said = dict(source.steps[1].attrs)
    expected = {"time": 6.0, "timeUnits": units, "timeUnitSI": UNITS[units]}
    if UNITS[units] is None:
        del expected["timeUnitSI"]
    if "since" in units:
        expected["timeCalendar"] = "noleap"
    assert said == expected
    pipe_through("s.nc", [*map(installed, way), "back.nc"], **raw, **options)
    with fl.open("back.nc", decode=False) as back:
        assert dict(back.steps[1].attrs) == expected | (
            {"dt": 1.0} if way[0].endswith(("h5", "bp")) else {}
        )
        assert back["time"].attrs["units"] == units
    if way[-1].endswith("h5"):
        with fl.open(way[-1]) as iterations:
            assert iterations.steps[1].attrs.items() >= expected.items()


@pytest.mark.parametrize("target", [*RECORDS, *ITERATIONS])
def test_a_step_written_with_the_attributes_of_another_keeps_its_units(folder, target):
    write_units("s.nc", "fs")
    with fl.open("s.nc") as source, fl.open(installed(target), "w") as series:
        for step in source:
            with series.step(attrs=step.attrs) as written:
                written.put("t", step["t"].read())
    with fl.open(target) as series:
        assert [step.attrs["timeUnits"] for step in series] == ["fs", "fs"]
        assert [step.attrs["timeUnitSI"] for step in series] == [1e-15, 1e-15]


def test_units_are_those_of_the_source_that_says_the_time(folder):
    write_units("s.nc", "fs")
    with fl.open("no.h5", "w") as series:
        for index in range(2):
            with series.step(time=3.0 * index, attrs={"timeUnitSI": 0.5}) as step:
                step.put("u", np.zeros(2))
    fl.pipe(["no.h5", "s.nc"], "both.h5", datasets=["u", "t"])
    with fl.open("both.h5") as series:
        attrs = series.steps[1].attrs
        assert (attrs["time"], attrs["timeUnitSI"]) == (3.0, 0.5)
        assert "timeUnits" not in attrs


def test_what_is_no_date_is_nan(folder):
    write_dates("d.nc", np.array(["2000-01-01", "NaT"], "M8[ns]"))
    fl.pipe("d.nc", "d.h5")
    with fl.open("d.h5") as series:
        np.testing.assert_array_equal([step.time for step in series], [SECONDS[0], np.nan])


def test_the_first_source_with_a_time_says_it(folder):
    with fl.open("no.nc", "w") as series:
        for _ in range(2):
            with series.step() as step:
                step.put("u", np.zeros(2))
    write_dates("d.nc")
    fl.pipe(["no.nc", "d.nc"], "both.h5")
    with fl.open("both.h5") as series:
        assert [step.time for step in series] == SECONDS
