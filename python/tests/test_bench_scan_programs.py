# SPDX-License-Identifier: Apache-2.0
"""The climate files, and what the bench's peers make of them, beside NumPy."""

import shutil
import subprocess
import sys
from pathlib import Path

import netCDF4
import numpy as np
import pytest

from bench.scan import cases, compiled, files, once

ROOT = Path(cases.__file__).resolve().parents[2]
GENERATOR = ROOT / "examples" / "05_climate_file" / "make_climate_file.py"
SHAPE = 6, 5, 7, 91  # rows longer than a vector, and no multiple of one
CHUNK = 1, 2, 4, 50
START, COUNT = (1, 1, 2, 3), (4, 3, 4, 80)


def make(folder, *words):
    sizes = [
        f"--{name}={n}" for name, n in zip(("steps", "level", "lat", "lon"), SHAPE, strict=True)
    ]
    command = [sys.executable, str(GENERATOR), str(folder), *sizes, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("climate")
    chunks = ",".join(map(str, CHUNK))
    done = make(folder, "--formats=cdf5,hdf5,netcdf4,raw", f"--chunks={chunks}")
    assert done.returncode == 0, done.stderr
    values = np.fromfile(folder / "temperature.raw", "<f4").reshape(SHAPE)
    return folder, values


@pytest.mark.parametrize("name", ["cdf5", "hdf5", "netcdf4"])
def test_netcdf_reads_the_same_values_from_every_format(made, name):
    folder, values = made
    with netCDF4.Dataset(folder / f"temperature.{name}.nc") as file:
        variable = file["temperature"]
        np.testing.assert_array_equal(variable[:], values)
        assert variable.dimensions == cases.DIMENSIONS
        assert variable.units == "K"
        assert file.Conventions.startswith("CF-")
        assert file["time"].units == "hours since 2000-01-01 00:00:00"
        np.testing.assert_allclose(file["lat"][:], np.linspace(-90, 90, 15)[1::2])
        if name == "cdf5":
            assert file.data_model == "NETCDF3_64BIT_DATA"
        else:
            assert variable.chunking() == ("contiguous" if name == "hdf5" else list(CHUNK))


@pytest.mark.parametrize("name", ["cdf5", "netcdf4"])
def test_time_may_be_unlimited(made, tmp_path, name):
    assert make(tmp_path, f"--formats={name}", "--record").returncode == 0
    with netCDF4.Dataset(tmp_path / f"temperature.{name}.nc") as file:
        assert file.dimensions["time"].isunlimited()
        np.testing.assert_array_equal(file["temperature"][:], made[1])
        np.testing.assert_array_equal(file["time"][:], 6.0 * np.arange(SHAPE[0]))


def test_a_seed_makes_other_noise_and_the_same_seed_the_same(made, tmp_path):
    for seed, same in ((0, True), (1, False)):
        assert make(tmp_path, "--formats=raw", f"--seed={seed}").returncode == 0
        values = np.fromfile(tmp_path / "temperature.raw", "<f4").reshape(SHAPE)
        assert np.array_equal(values, made[1]) == same
        np.testing.assert_allclose(values, made[1], atol=6)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--formats=grib"], "choose from cdf5"),
        (["--size=4 apples"], "--size: cannot read a number of bytes: got '4 apples'"),
        (["--chunks=2,1,1,1"], "the first 1"),
    ],
)
def test_the_generator_refuses_what_it_cannot_make(tmp_path, words, said):
    done = make(tmp_path, *words)
    assert done.returncode == 2
    assert said in done.stderr


def words_of(made, name, task, subset):
    folder, _ = made
    path = folder / f"temperature.{name}.nc"
    found = [
        f"file={path}",
        f"task={task}",
        "variable=temperature",
        "bins=10",
        "low=210",
        "high=290",
    ]
    found.append("shape=" + ",".join(map(str, SHAPE)))
    start, count = (START, COUNT) if subset else ((0, 0, 0, 0), SHAPE)
    found += ["start=" + ",".join(map(str, start)), "count=" + ",".join(map(str, count))]
    if name == "cdf5":
        offset = path.stat().st_size - made[1].nbytes
        found += ["swapped=1", f"offset={offset}"]
    elif name == "hdf5":
        found.append(f"offset={files._offset(path)}")
    else:
        found += [f"chunks={files._chunk_places(path)}", "chunk=" + ",".join(map(str, CHUNK))]
    return found


def expected(made, task, subset):
    values = made[1]
    if subset:
        values = values[tuple(slice(s, s + n) for s, n in zip(START, COUNT, strict=True))]
    if task == "summary":
        total = float(values.sum(dtype=np.float64))
        return {"sum": total, "min": float(values.min()), "max": float(values.max())}
    if task == "steps":
        return {"steps": values.sum(axis=(1, 2, 3), dtype=np.float64).tolist()}
    return {"counts": np.histogram(values, 10, (210, 290))[0].tolist()}


def check(made, command, name, task, subset):
    found = once.run([*command, *words_of(made, name, task, subset)], 60)
    case = cases.Case(cases.SUMMARY, cases.DataFile(name, Path(name), SHAPE[0]))
    cases.check(case, command[0], found, expected(made, task, subset))
    return found


def needed(program):
    if program.path is None:
        pytest.skip(program.missing)
    return program


EVERY = pytest.mark.parametrize("subset", [False, True], ids=["whole", "subset"])
TASKS = pytest.mark.parametrize("task", ["summary", "steps", "histogram"])


@EVERY
@TASKS
@pytest.mark.parametrize("name", ["cdf5", "hdf5", "netcdf4"])
@pytest.mark.parametrize("ranks", [1, 3])
def test_the_limit_computes_what_numpy_does(made, name, task, subset, ranks):
    program = needed(compiled.limit())
    command = [str(program.path), f"ranks={ranks}", "block=4000", "repeats=2"]
    assert len(check(made, command, name, task, subset)["seconds"]) == 2


def test_a_reading_loop_computes_nothing(made):
    program = needed(compiled.limit())
    command = [str(program.path), "reads_only=1", *words_of(made, "cdf5", "summary", False)]
    assert once.run(command, 60)["sum"] == 0


@EVERY
@TASKS
@pytest.mark.parametrize("way", ["collective", "view", "independent"])
@pytest.mark.parametrize("steps", [0, 2])
def test_mpi_io_computes_what_numpy_does(made, task, subset, way, steps):
    program = needed(compiled.with_mpich())
    command = [*program.launcher, "-n", "2", str(program.path), f"way={way}", f"steps={steps}"]
    check(made, command, "cdf5", task, subset)


@EVERY
@TASKS
def test_pnetcdf_computes_what_numpy_does(made, task, subset, monkeypatch):
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    program = needed(compiled.with_open_mpi())
    command = [*program.launcher, "-n", "2", str(program.path), "way=pnetcdf", "steps=3"]
    check(made, command, "cdf5", task, subset)


@EVERY
@pytest.mark.parametrize("task", ["summary", "steps"])
@pytest.mark.parametrize(
    ("tool", "program"), [("cdo", "cdo"), ("cdo-info", "cdo"), ("nco", "ncwa")]
)
def test_tools_compute_what_numpy_does(made, task, subset, tool, program):
    if shutil.which(program) is None or (tool, task) == ("cdo-info", "steps"):
        pytest.skip(f"{tool} cannot do it here")
    script = ROOT / "bench" / "scan" / "with_tools.py"
    command = [sys.executable, str(script), f"tool={tool}", "threads=1"]
    assert check(made, command, "cdf5", task, subset)["tolerance"] > 0
