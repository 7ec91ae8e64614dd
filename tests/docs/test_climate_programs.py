# SPDX-License-Identifier: Apache-2.0
"""Examples that reduce files of climate and weather data: figure 6 and WRF."""

import os
import pathlib
import re
import subprocess
import sys

import netCDF4
import numcodecs
import numpy as np
import pytest
import zarr
from harness.example_programs import run_on, run_serial

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def temperatures(tmp_path_factory):
    """A file of whole numbers, and their sum."""
    path = tmp_path_factory.mktemp("figure6") / "t.nc"
    values = np.random.default_rng(6).integers(200, 320, (11, 6, 8)).astype("f4")
    with netCDF4.Dataset(path, "w", format="NETCDF3_64BIT_DATA") as file:
        for dim, length in zip(("time", "lat", "lon"), (None, 6, 8), strict=True):
            file.createDimension(dim, length)
        file.createVariable("temperature", "f4", ("time", "lat", "lon"))[:] = values
    return path, int(values.sum())


@pytest.mark.any_mpi
@pytest.mark.slow
def test_figure_6_in_c_and_cpp(build, launcher, temperatures):
    path, total = temperatures
    programs = build("06_collective_computing")
    for program, ranks in (("figure6", 3), ("figure6", 1), ("figure6_cpp", 3)):
        assert run_on(launcher, ranks, programs / program, path, "temperature") == (
            f"sum of temperature: {total}, by {ranks} ranks\n"
        )
    missing = [str(programs / "figure6"), str(path), "none"]
    with launcher.start(2, missing, timeout=60, stderr=subprocess.PIPE) as job:
        said = job.process.communicate(timeout=75)[1].decode()
        assert job.wait() != 0
    assert "'none'" in said and "temperature" in said


@pytest.fixture(params=["v2", "v2 big endian", "v3", "v3 of gzip", "v3 in shards"])
def stores(request, tmp_path, temperatures):
    """The same numbers as the file's, written by Zarr's own library in a group of a group."""
    with netCDF4.Dataset(temperatures[0]) as file:
        values = file["temperature"][:].filled()
    how = {
        "v2": {"compressors": numcodecs.Zstd(), "filters": [numcodecs.Shuffle(4)]},
        "v2 big endian": {"compressors": numcodecs.Zlib()},
        "v3": {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
        "v3 of gzip": {"compressors": [zarr.codecs.GzipCodec(), zarr.codecs.Crc32cCodec()]},
        "v3 in shards": {"shards": (8, 12, 10)},
    }[request.param]
    root = zarr.create_group(tmp_path / "t.zarr", zarr_format=int(request.param[1]))
    group = root.create_group("climate").create_group("air")
    stored = values.astype(">f4") if "big" in request.param else values
    group.create_array("temperature", data=stored, chunks=(4, 6, 5), **how)
    return tmp_path / "t.zarr"


@pytest.mark.any_mpi(cases=2)
@pytest.mark.slow
def test_figure_6_of_zarr(build, launcher, stores, temperatures):
    programs = build("06_collective_computing")
    name = "climate/air/temperature"
    for program, ranks in (("figure6", 2), ("figure6_cpp", 3), ("figure6_cpp", 1)):
        assert run_on(launcher, ranks, programs / program, stores, name) == (
            f"sum of {name}: {temperatures[1]}, by {ranks} ranks\n"
        )


@pytest.mark.any_mpi
def test_figure_6_by_make(prefix, launcher, temperatures, tmp_path):
    env = os.environ | {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    folder = EXAMPLES / "06_collective_computing"
    subprocess.run(
        ["make", "-f", folder / "Makefile", f"VPATH={folder}"], cwd=tmp_path, env=env, check=True
    )
    printed = run_on(launcher, 2, tmp_path / "figure6", temperatures[0], "temperature")
    assert printed == f"sum of temperature: {temperatures[1]}, by 2 ranks\n"


@pytest.mark.any_mpi
def test_figure_6_in_python(launcher, temperatures):
    path, total = temperatures
    program = EXAMPLES / "06_collective_computing" / "figure6.py"
    printed = run_on(launcher, 3, sys.executable, program, path, "temperature")
    assert printed == f"sum of temperature: {total}, by 3 ranks\n"


@pytest.fixture(scope="module", params=["NETCDF3_64BIT_DATA", "NETCDF4"])
def wrf_file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("wrf") / "wrfout.nc"
    sizes = ["--times", 5, "--south-north", 50, "--west-east", 61, "--levels", 2]
    run_serial(
        sys.executable,
        EXAMPLES / "07_wrf" / "make_wrf_file.py",
        path,
        *sizes,
        f"--format={request.param}",
    )
    return path


def hurricane(path):
    """What the vortex is known to be at each step: its centre, and how strong its wind is."""
    with netCDF4.Dataset(path) as file:
        pressure, height = file["PSFC"][:], file["HGT"][:]
        lowest_at_surface = [np.unravel_index(p.argmin(), p.shape) for p in pressure]
        on_mountain = [height[0][at] > 1000 for at in lowest_at_surface]
        return list(on_mountain), np.hypot(file["U10"][:], file["V10"][:]).max(axis=(1, 2))


def rows_of(printed):
    """Numbers and positions of the lines `step value unit at (y, x)`.

    What another rank prints may stand before the end of a line: launchers pass on what they get.
    """
    found = re.findall(r" (\d+) +([\d.]+) (?:hPa|m/s) at \((\d+), (\d+)\)", printed)
    return [(int(step), float(value), (int(y), int(x))) for step, value, y, x in found]


@pytest.mark.any_mpi(cases=3)
@pytest.mark.parametrize("ranks", [None, 1, 2])
def test_wrf_tasks_in_python(launcher, wrf_file, ranks):
    printed = {}
    for name in ("sea_level_pressure", "wind_speed"):
        command = [sys.executable, EXAMPLES / "07_wrf" / f"{name}.py", wrf_file, "--check"]
        printed[name] = run_serial(*command) if ranks is None else run_on(launcher, ranks, *command)
        assert printed[name].count("as NumPy has it") == (ranks or 1)
    centres = [at for _, _, at in rows_of(printed["sea_level_pressure"])]
    expected = [
        (int(np.rint((0.25 + 0.5 * s / 4) * 49)), int(np.rint((0.8 - 0.6 * s / 4) * 60)))
        for s in range(5)
    ]
    assert centres == expected, printed["sea_level_pressure"]
    on_mountain, strongest = hurricane(wrf_file)
    assert all(on_mountain), "the surface pressure alone would have found the mountains"
    assert [v for _, v, _ in rows_of(printed["wind_speed"])] == pytest.approx(strongest, abs=1e-3)


@pytest.mark.any_mpi
@pytest.mark.slow
def test_wrf_tasks_in_cpp_are_those_in_python(build, launcher, wrf_file):
    program = build("07_wrf") / "hurricane"
    for ranks in (1, 2):
        in_cpp = run_on(launcher, ranks, program, wrf_file)
        both = "".join(
            run_serial(sys.executable, EXAMPLES / "07_wrf" / f"{name}.py", wrf_file)
            for name in ("sea_level_pressure", "wind_speed")
        )
        assert in_cpp == both
