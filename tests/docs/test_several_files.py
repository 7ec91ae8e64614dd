# SPDX-License-Identifier: Apache-2.0
"""Several files as one: a program in C++ finds what Python finds in the same files."""

import re
import subprocess

import netCDF4
import numpy as np
import pytest

import fluvial as fl

LATS, LONS = 12, 10
KINDS = {
    "classic": {"format": "NETCDF3_64BIT_DATA"},
    "chunked": {"format": "NETCDF4", "zlib": True, "chunksizes": (2, 5, 4)},
    "whole rows": {"format": "NETCDF4", "zlib": True, "shuffle": False, "chunksizes": (1, 12, 10)},
}


def write(path, kind, records, since, lats=LATS, scale=0.01):
    """Write packed temperatures of so many days, some of which are missing."""
    how = dict(KINDS[kind])
    rng = np.random.default_rng(records)
    with netCDF4.Dataset(path, "w", format=how.pop("format")) as file:
        for dim, length in (("time", None), ("lat", lats), ("lon", LONS)):
            file.createDimension(dim, length)
        time = file.createVariable("time", "f8", ("time",))
        time.units = since
        time[:] = np.arange(records)
        file.createVariable("lat", "f4", ("lat",))[:] = np.linspace(-80, 80, lats)
        file.createVariable("lon", "f4", ("lon",))[:] = np.arange(LONS)
        t = file.createVariable("t", "i2", ("time", "lat", "lon"), fill_value=-999, **how)
        t.scale_factor, t.add_offset = scale, 250.0
        t.set_auto_maskandscale(False)
        stored = rng.integers(-3000, 3000, (records, lats, LONS))
        t[:] = np.where(stored % 17 == 0, -999, stored)


@pytest.fixture
def year(tmp_path):
    """Files of both formats, one of them without records."""
    write(tmp_path / "t_01.nc", "classic", 31, "days since 2001-01-01")
    write(tmp_path / "t_02.nc", "chunked", 28, "days since 2001-02-01")
    write(tmp_path / "t_03.nc", "classic", 0, "days since 2001-03-01")
    write(tmp_path / "t_04.nc", "whole rows", 30, "days since 2001-04-01")
    return tmp_path


def run(launcher, ranks, *command, cwd):
    words = [str(word) for word in command]
    with launcher.start(
        ranks, words, timeout=60, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as job:
        printed, said = (text.decode() for text in job.process.communicate(timeout=75))
        return job.wait(), printed, said


def numbers(printed):
    return [[float(n) for n in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", line)] for line in printed]


@pytest.mark.any_mpi
@pytest.mark.slow
@pytest.mark.parametrize("ranks", [1, 3])
def test_cpp_finds_what_python_finds(build, launcher, year, ranks):
    program = build("05_climate_file") / "several_files"
    code, printed, said = run(launcher, ranks, program, "t", "t_*.nc", cwd=year)
    assert (code, said) == (0, "")
    with fl.open(str(year / "t_*.nc")) as file:
        t = file["t"]
        each = t.reduce(["mean", "std"], over=("lat", "lon"), local=True)
        everything = t.reduce(["mean", "std", fl.ops.Quantile(0.9)], local=True)
    *rows, last = numbers(printed.splitlines())
    days = (each["time"].values - np.datetime64("2001-01-01")) / np.timedelta64(1, "D")
    expected = np.stack([days, each["mean"].values, each["std"].values], axis=1)
    np.testing.assert_allclose(rows, expected, rtol=1e-14)
    assert len(rows) == 89
    wanted = [89, float(everything["mean"]), float(everything["std"]), 0.9]
    np.testing.assert_allclose(last, [*wanted, float(everything["quantile"])], rtol=1e-14)


@pytest.mark.any_mpi
@pytest.mark.slow
def test_cpp_refuses_and_warns_of_what_python_does(build, launcher, year):
    program = build("05_climate_file") / "several_files"
    backwards = ["t_02.nc", "t_01.nc"]
    code, _, said = run(launcher, 2, program, "t", *backwards, cwd=year)
    assert code == 0
    assert re.search("^warning: the files are not in order along 'time'", said, re.MULTILINE)
    with (
        fl.open([year / name for name in backwards]) as file,
        pytest.warns(UserWarning, match="not in order along 'time'"),
    ):
        file["t"].reduce("mean", local=True)
    write(year / "packed.nc", "chunked", 2, "days since 2001-05-01", scale=0.02)
    write(year / "coarse.nc", "classic", 2, "days since 2001-05-01", lats=6)
    for other, message in (
        ("packed.nc", "scale_factor = 0.02 in"),
        ("coarse.nc", "join|differ in coordinate .lat."),
    ):
        code, _, said = run(launcher, 2, program, "t", "t_01.nc", other, cwd=year)
        assert code != 0
        assert re.search(message, said)
        with (
            fl.open([year / "t_01.nc", year / other]) as file,
            pytest.raises(fl.InvalidArgument, match=message),
        ):
            file["t"].reduce("mean", local=True)


@pytest.mark.any_mpi
@pytest.mark.slow
def test_a_program_goes_on_without_a_coordinate(build, launcher, year):
    program = build("05_climate_file") / "several_files"
    write(year / "furlongs.nc", "classic", 2, "furlongs")
    code, printed, said = run(launcher, 2, program, "t", "t_02.nc", "furlongs.nc", cwd=year)
    assert code == 0
    assert printed.splitlines()[-2].startswith("time no. 29: mean ")
    assert said.startswith("warning: the coordinate 'time' is left out: files say units 'furlongs'")
    code, printed, said = run(launcher, 2, program, "lat", "t_01.nc", "t_02.nc", cwd=year)
    assert (code, said) == (0, "")
    assert printed.startswith("59 records: mean 0, std ")
    for words in ((), ("t",)):
        code, _, said = run(launcher, 1, program, *words, cwd=year)
        assert code == 2
        assert said.startswith("usage: several_files VARIABLE FILE...\n")  # mpiexec may say more
