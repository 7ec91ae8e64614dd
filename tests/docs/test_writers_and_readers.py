# SPDX-License-Identifier: Apache-2.0
"""Examples of writers and readers in C and C++: streams, openPMD, netCDF and Zarr."""

import json
import pathlib
import subprocess
import sys

import h5py
import numpy as np
import pytest
import xarray as xr
from harness.example_programs import run_on, run_pair, run_serial

import fluvial as fl


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
    check_job_script(programs / "writer", launcher, tmp_path)
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


def check_job_script(writer, launcher, folder):
    """The program writes "plate", which is a file when its job script says so."""
    path = folder / "by_script.h5"
    job = folder / "job.toml"
    job.write_text(f'[series.plate]\nengine = "hdf5"\npath = "{path}"\n')
    for said in (str(job), job.read_text(), json.dumps({"series": {"plate": {"path": str(path)}}})):
        path.unlink(missing_ok=True)
        run_on(launcher, 2, str(writer), env={"FLUVIAL_OPTIONS": said})
        with fl.open(path) as series:
            assert (len(series), float(series.steps[9]["meshes/T"].max())) == (10, 428.0)


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
    job = {"FLUVIAL_OPTIONS": f'series.plate = {{path = "{tmp_path}/plate.h5", engine = "hdf5"}}'}
    assert run_on(launcher, 2, *look, env=job).splitlines() == expected
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
