# SPDX-License-Identifier: Apache-2.0
"""Programs of README, of the tutorials and of the examples run as they stand."""

import os
import pathlib
import re
import subprocess
import sys

import h5py
import netCDF4
import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr
from harness.page import Page

import fluvial as fl

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LINES_MAX = 12


README = Page.read(ROOT / "README.md")
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "guide" / "running.md",
    ROOT / "docs" / "guide" / "pipe.md",
    ROOT / "docs" / "guide" / "flow.md",
    ROOT / "docs" / "guide" / "swift.md",
    ROOT / "docs" / "guide" / "routes.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
]


def body(path):
    """The code of an example, without licence and docstring."""
    return re.sub(r'^# SPDX.*\n""".*?"""\n+', "", path.read_text(), flags=re.DOTALL)


def run_pair(launcher, where, writer, reader):
    """Start two jobs, the reader first; return what the reader printed."""
    env = {"FLUVIAL_DIRECTORY": str(where)}
    with (
        launcher.start(
            3, reader, timeout=60, cwd=where, env=env, stdout=subprocess.PIPE
        ) as reading,
        launcher.start(2, writer, timeout=60, cwd=where, env=env) as writing,
    ):
        printed = reading.process.communicate(timeout=75)[0].decode()
        assert (writing.wait(), reading.wait()) == (0, 0), printed
    assert not list(where.glob("*.fluvial")), "the contact file went with the writer"
    return printed.splitlines()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_shows_is_what_its_commands_print(launcher, prefix, tmp_path, path):
    page = Page.read(path)
    assert page.sessions and page.unnamed == [], "every block of Python follows its file's name"
    (tmp_path / "examples").symlink_to(EXAMPLES)
    env = launcher.environment() | {
        "FLUVIAL_DIRECTORY": str(tmp_path),
        "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig"),
        "PATH": os.pathsep.join(
            [
                str(prefix / "bin"),
                str(pathlib.Path(sys.executable).parent),
                str(pathlib.Path(launcher.mpiexec).parent),
                os.environ["PATH"],
            ]
        ),
    }
    for session, printed in zip(page.sessions, page.run(tmp_path, env, timeout=100), strict=True):
        assert session.pattern.fullmatch(printed) or not session.printed, (
            f"{session.commands}shown:\n{session.printed}printed:\n{printed}"
        )


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("02_writer_and_reader", "writer.py"),
        ("02_writer_and_reader", "reader.py"),
        ("05_climate_file", "tropics.py"),
        ("08_mpistream", "listing1.py"),
    ],
)
def test_readme_shows_the_examples_in_few_lines(folder, name):
    program = README.files[name]
    assert program == body(EXAMPLES / folder / name)
    assert len([line for line in program.splitlines() if line.strip()]) <= LINES_MAX


@pytest.mark.any_mpi
def test_readme_writer_and_reader(launcher, tmp_path):
    for name, program in README.files.items():
        (tmp_path / name).write_text(program)
    printed = run_pair(
        launcher, tmp_path, [sys.executable, "writer.py"], [sys.executable, "reader.py"]
    )
    assert printed == what_the_reader_prints()


def what_the_reader_prints():
    """What README's reader prints of a writer on 2 ranks."""
    n, rngs = 100_000, [np.random.default_rng(rank) for rank in range(2)]
    expected = []
    for i in range(10):
        v = np.concatenate([rng.normal(scale=1 + i, size=n) for rng in rngs])
        expected.append(
            f"t={0.1 * i:.1f}: {2 * n} atoms, mean {v.mean():.3f}, spread {v.std():.3f}"
        )
    return expected


@pytest.mark.parametrize("path", ["gas2.h5", "gas%T.h5"])
def test_readme_writer_and_reader_go_through_a_file_by_an_options_file(launcher, tmp_path, path):
    for name in ("writer.py", "reader.py"):
        (tmp_path / name).write_text(README.files[name])
    (tmp_path / "gas.toml").write_text(f'[series.gas]\nengine = "hdf5"\npath = "{path}"\n')
    env = {"FLUVIAL_OPTIONS": str(tmp_path / "gas.toml")}
    run_on(launcher, 2, sys.executable, "writer.py", cwd=tmp_path, env=env)
    printed = run_on(launcher, 3, sys.executable, "reader.py", cwd=tmp_path, env=env)
    assert printed.splitlines() == what_the_reader_prints()


def test_readme_reduction_of_a_file(launcher, tmp_path):
    make = EXAMPLES / "05_climate_file" / "make_climate_file.py"
    run_serial(sys.executable, make, tmp_path, "--size", "8Mi", "--lat", 60, "--lon", 90)
    (tmp_path / "tropics.py").write_text(README.files["tropics.py"])
    path = tmp_path / "temperature.cdf5.nc"
    with xr.open_dataset(path) as file:
        t = file["temperature"].sel(lat=slice(-30, 30)).isel(level=0)
        mean = t.astype("float64").weighted(np.cos(np.deg2rad(t.lat))).mean(("lat", "lon"))
        frame = xr.Dataset({"mean": mean, "max": t.max(("lat", "lon"))}).to_dataframe()
    expected = str(frame[["mean", "max"]].round(3)) + "\n"
    assert run_serial(sys.executable, tmp_path / "tropics.py", path) == expected
    for name in ("temperature.cdf5.nc", "temperature.netcdf4.nc"):
        printed = run_on(launcher, 2, sys.executable, tmp_path / "tropics.py", tmp_path / name)
        assert printed == expected


@pytest.mark.any_mpi
@pytest.mark.slow
def test_cpp_writer_and_reader(build, launcher, tmp_path):
    programs = build("03_cpp_writer_and_reader")
    printed = run_pair(launcher, tmp_path, [str(programs / "writer")], [str(programs / "reader")])
    assert printed == [
        f"step {i}: mean {300 + i + 59.5}, max {300 + i + 119}, row 7 {300 + i + 7}"
        for i in range(10)
    ]
    for name in ("plate", str(tmp_path / "followed.h5"), str(tmp_path / "followed%T.h5")):
        writer, follower = [str(programs / "writer"), name], [str(programs / "follower"), name]
        assert run_pair(launcher, tmp_path, writer, follower) == [
            f"step {i}: mean {300 + i + 59.5}, max {300 + i + 119}" for i in range(10)
        ]
    for name in ("plate.h5", "plate%T.h5", "packed.h5"):
        path = str(tmp_path / name)
        writer = [str(programs / "writer"), path, "gzip" if name == "packed.h5" else "none"]
        with launcher.start(2, writer, timeout=60) as job, fl.open(path, follow=True) as series:
            for index, step in enumerate(series):
                assert (step.index, step.time) == (index, index / 2)
                rows = 300.0 + index + np.arange(120)[:, None]
                np.testing.assert_array_equal(step["meshes/T"].read(), np.tile(rows, 64))
            assert (index, job.wait()) == (9, 0)
    check = pathlib.Path(sys.executable).with_name("openPMD_check_h5")
    with h5py.File(tmp_path / "packed.h5") as file:
        field = file["data/9/meshes/T"]
        assert (field.compression, field.shuffle, field.chunks) == ("gzip", True, (60, 64))
        np.testing.assert_array_equal(field, np.tile(309.0 + np.arange(120)[:, None], 64))
        assert field.id.get_storage_size() < field.nbytes / 20
    for path in (tmp_path / "plate.h5", tmp_path / "plate3.h5", tmp_path / "packed.h5"):
        assert "Result: 0 Errors" in run_serial(sys.executable, check, "-i", path)
    for name in ("climate.nc", "climate.nc4"):
        check_climate(programs / "climate", launcher, tmp_path / name)


@pytest.mark.slow
def test_c_writer_and_reader(build, launcher, tmp_path):
    programs = build("17_c_writer_and_reader")
    expected = [
        f"t={i / 2}: mean {300 + i + 59.5}, max {300 + i + 119}, row 7 {300 + i + 7}"
        for i in range(10)
    ]
    heat, look = [str(programs / "heat")], [str(programs / "look")]
    assert run_pair(launcher, tmp_path, heat, look) == expected
    for name in ("plate.h5", "plate%T.h5"):
        path = str(tmp_path / name)
        run_on(launcher, 3, *heat, path)
        assert run_on(launcher, 2, *look, path).splitlines() == expected
        with fl.open(path) as series:
            for index, step in enumerate(series):
                temperature = step["meshes/T"]
                assert (step.time, temperature.attrs["units"]) == (index / 2, "K")
                rows = 300.0 + index + np.arange(120)[:, None]
                np.testing.assert_array_equal(temperature.read(), np.tile(rows, 64))
    check = pathlib.Path(sys.executable).with_name("openPMD_check_h5")
    assert "Result: 0 Errors" in run_serial(sys.executable, check, "-i", tmp_path / "plate.h5")
    failed = subprocess.run(
        [*look, str(tmp_path / "none.h5")], capture_output=True, text=True, timeout=60, check=False
    )
    assert failed.returncode != 0 and "none.h5" in failed.stderr


@pytest.mark.any_mpi
@pytest.mark.slow
@pytest.mark.parametrize("name", ["followed.zarr", "followed%T.zarr"])
def test_cpp_follows_zarr_that_python_writes(build, launcher, tmp_path, name):
    follower = [str(build("03_cpp_writer_and_reader") / "follower"), str(tmp_path / name)]
    with launcher.start(2, follower, timeout=60, stdout=subprocess.PIPE) as job:
        with fl.open(str(tmp_path / name), "w") as series:
            for index in range(4):
                with series.step() as step:
                    step.put("meshes/T", np.arange(12.0).reshape(3, 4) + index)
                printed = job.process.stdout.readline().decode()
                assert printed == f"step {index}: mean {5.5 + index}, max {11 + index}\n"
        assert job.wait() == 0


def check_climate(program, launcher, path):
    """What C++ ranks write as netCDF is what programs for climate data expect."""
    growing = path.suffix == ".nc"  # one file of netCDF-4 is read when it is closed
    with launcher.start(3, [str(program), str(path)], timeout=60) as job:
        if not growing:
            assert job.wait() == 0
        with fl.open(path, follow=growing) as series:
            for index, step in enumerate(series):
                assert (step.index, step["t2m"].shape) == (index, (90, 180))
                assert float(step["t2m"].max()) == pytest.approx(300 + index, abs=0.01)
        assert (index, job.wait()) == (4, 0)
    lat, lon = -89.0 + 2 * np.arange(90), 2.0 * np.arange(180)
    for engine in ("netcdf4", "fluvial"):
        with xr.open_dataset(path, engine=engine) as found:
            assert found.attrs["Conventions"] == "CF-1.8"
            assert found["t2m"].dims == ("time", "lat", "lon")
            assert found["t2m"].attrs["units"] == "K"
            days = np.datetime64("2026-01-01") + np.arange(5).astype("timedelta64[D]")
            np.testing.assert_array_equal(found["time"], days.astype("datetime64[ns]"))
            np.testing.assert_array_equal(found["lat"], lat)
            np.testing.assert_array_equal(found["lon"], lon)
            expected = 250 + np.arange(5)[:, None] + 50 * np.cos(np.deg2rad(lat))
            np.testing.assert_allclose(
                found["t2m"], np.repeat(expected[:, :, None], 180, 2), rtol=1e-6
            )
    with fl.open(path) as series:
        assert [str(step.time)[:10] for step in series][-1] == "2026-01-05"


def run_serial(*command):
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.check_output([str(word) for word in command], text=True, env=env, timeout=60)


@pytest.mark.slow
def test_cpp_operator(build):
    program = build("04_operators") / "geometric_mean"
    assert run_serial(program) == "geometric 11.3137, arithmetic 31.875\n"


def test_python_operator():
    assert run_serial(sys.executable, EXAMPLES / "04_operators" / "geometric_mean.py") == (
        "geometric 11.3137, arithmetic 31.875\nof each row: [ 2.82842712 45.254834  ]\n"
    )


def test_numba_operator():
    assert run_serial(sys.executable, EXAMPLES / "04_operators" / "numba_cfunc.py") == (
        "all: 21.400934559032695\nof each row: [13. 17.]\n"
    )


def run_on(launcher, ranks, *command, **how):
    """Run one job; return what it printed, sorted where ranks print each their own."""
    words = [str(word) for word in command]
    with launcher.start(ranks, words, timeout=60, stdout=subprocess.PIPE, **how) as job:
        printed = job.process.communicate(timeout=75)[0].decode()
        assert job.wait() == 0, printed
    return printed


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


@pytest.mark.any_mpi
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
    """Numbers and positions of the lines `step value unit at (y, x)`."""
    found = re.findall(r"^ +(\d+) +([\d.]+) (?:hPa|m/s) at \((\d+), (\d+)\)$", printed, re.M)
    return [(int(step), float(value), (int(y), int(x))) for step, value, y, x in found]


@pytest.mark.any_mpi
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
    assert centres == expected, "the low is where the script put it"
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
