# SPDX-License-Identifier: Apache-2.0
"""A series in files is read as a live one: by steps, in openPMD's words, from any encoding."""

import copy
import gc
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading

import h5py
import numpy as np
import openpmd_api as io
import pytest

import fluvial as fl

INDICES = [7, 100, 20]


def field(index, component="x"):
    return np.arange(24, dtype="f4").reshape(4, 6) + index + 1000 * "xy".index(component)


def write_openpmd(name, encoding=None, indices=INDICES):
    """Write, by openPMD's own library, a vector field, a scalar one and particles a step."""
    series = io.Series(str(name), io.Access.create)
    if encoding is not None:
        series.iteration_encoding = encoding
    series.set_attribute("author", "somebody")
    for index in indices:
        step = series.iterations[index]
        step.time, step.dt, step.time_unit_SI = index / 2, 0.5, 1e-15
        mesh = step.meshes["E"]
        mesh.axis_labels, mesh.grid_spacing = ["y", "x"], [0.25, 0.5]
        mesh.grid_global_offset, mesh.grid_unit_SI = [10.0, 20.0], 1e-6
        mesh.unit_dimension = {io.Unit_Dimension.M: 1, io.Unit_Dimension.I: -1}
        for component in "xy":
            part = mesh[component]
            part.reset_dataset(io.Dataset(np.dtype("f4"), [4, 6]))
            part.unit_SI = 2.5
            part.store_chunk(field(index, component))
        scalar = step.meshes["rho"][io.Mesh_Record_Component.SCALAR]
        scalar.reset_dataset(io.Dataset(np.dtype("f8"), [4, 6]))
        scalar.store_chunk(np.full((4, 6), float(index)))
        atoms = step.particles["atoms"]
        for component in "xyz":
            position = atoms["position"][component]
            position.reset_dataset(io.Dataset(np.dtype("f8"), [5]))
            position.store_chunk(np.arange(5.0) * index)
        weight = atoms["weighting"][io.Record_Component.SCALAR]
        weight.reset_dataset(io.Dataset(np.dtype("f8"), [5]))
        weight.make_constant(3.0)
    series.close()
    return str(name)


@pytest.fixture(params=["groups", "files", "padded files", "one"])
def openpmd(request, tmp_path):
    """Return the name of a series in each encoding, and the numbers of its iterations."""
    kind = request.param
    if kind == "groups":
        return write_openpmd(tmp_path / "run.h5"), sorted(INDICES)
    if kind == "one":
        name = write_openpmd(tmp_path / "run.h5", indices=[12])
        with h5py.File(name, "r+") as file:  # as openPMD's library writes it to ADIOS2
            file.move("data/12", "moved")
            del file["data"]
            file.move("moved", "data")
            file.attrs["basePath"] = "/data"
            file.attrs["iterationEncoding"] = "variableBased"
            file["data"].attrs["snapshot"] = np.array([12], "u8")
        return name, [12]
    number = "%T" if kind == "files" else "%06T"
    return write_openpmd(tmp_path / f"data{number}.h5"), sorted(INDICES)


def test_steps_of_openpmd_in_any_encoding(openpmd):
    name, indices = openpmd
    with fl.open(name) as series:
        assert series.attrs["author"] == "somebody"
        assert [step.index for step in series] == indices
        assert series.steps.indices == indices
        assert len(series) == len(series.steps) == len(indices)
        for step in series:
            assert step.time == step.index / 2
            assert (step.dt, step.attrs["timeUnitSI"], step.skipped) == (0.5, 1e-15, 0)
            assert {"meshes/E/x", "meshes/E/y", "meshes/rho"} <= set(step)
            assert len(step) == len(step.names()) == 7
            np.testing.assert_array_equal(step["meshes/E/y"].read(), field(step.index, "y"))
            np.testing.assert_allclose(step["meshes/E/x"].mean("x"), field(step.index).mean(1))


def test_the_words_of_openpmd(openpmd):
    name, indices = openpmd
    with fl.open(name) as series:
        step = series.steps[-1]
        assert step.index == indices[-1]
        assert list(step.meshes) == ["E", "rho"]
        e = step.meshes["E"]
        assert sorted(e) == ["x", "y"]
        assert e.x.max() == field(step.index).max()
        assert e.attrs["unitDimension"][:4] == [0, 1, 0, -1]
        assert "unitSI" in e.attrs and e.x.attrs["gridSpacing"] == [0.25, 0.5]
        np.testing.assert_allclose(e.y.si.read(), 2.5 * field(step.index, "y"))
        np.testing.assert_allclose(e["y"].si.sum(), 2.5 * field(step.index, "y").sum(), rtol=1e-6)
        np.testing.assert_allclose(e.x.coords["x"], 20 + 0.5 * np.arange(6))
        np.testing.assert_allclose(e.x.coords["y"], 10 + 0.25 * np.arange(4))
        assert e.x.sel(x=21.0).dims == ("y",)
        assert step.meshes["rho"].sum() == 24 * step.index
        assert list(step.particles) == ["atoms"]
        atoms = step.particles["atoms"]
        assert sorted(atoms) == ["position", "weighting"]
        np.testing.assert_array_equal(atoms["position"].z.read(), np.arange(5.0) * step.index)
        assert atoms["weighting"].sum() == 15
        with pytest.raises(KeyError, match="no such record in 'meshes/': got 'B'; allowed: 'E'"):
            step.meshes["B"]
        with pytest.raises(KeyError, match="'meshes/E' has no such component: got 'z'"):
            e["z"]
        with pytest.raises(AttributeError, match="component or attribute 'z'"):
            e.z  # noqa: B018
        with pytest.raises(KeyError, match="no such species in 'particles/': got 'ions'"):
            step.particles["ions"]
        assert "x" in dir(e) and "E" in repr(step.meshes) and "of x, y" in repr(e)


def test_steps_by_position_and_one_after_the_other(openpmd):
    name, indices = openpmd
    with fl.open(name) as series:
        assert [step.index for step in series.steps[::-1]] == indices[::-1]
        assert series.steps[-1:].indices == indices[-1:]
        with pytest.raises(IndexError, match="no such step"):
            series.steps[len(indices)]
        found = []
        while (step := series.next()) is not None:
            found.append(step.index)
        assert found == indices
        assert series.next() is None
        assert [step.index for step in series] == indices  # as often as one likes
        assert series.stats.pop("wait_s") > 0
        counted = {"steps_read": 2 * len(indices), "steps_discarded": 0, "transport": "files"}
        assert series.stats.items() >= counted.items()
        assert pickle.loads(pickle.dumps(series)).stats["steps_read"] == 0


def test_equal_parts_by_rank(openpmd):
    with fl.open(openpmd[0]) as series:
        dataset = series.next()["meshes/E/x"]
        for chosen in (dataset, dataset.isel({dataset.dims[0]: slice(1, 4)})):
            parts = [chosen[chosen.slab(rank, 3)] for rank in range(3)]
            np.testing.assert_array_equal(np.concatenate(parts), chosen.read())
        with pytest.raises(fl.OutOfBounds, match="got rank 4; allowed: 0 to 3"):
            dataset.slab(4, 4)


def test_what_a_closed_series_says(openpmd):
    name, _ = openpmd
    with fl.open(name) as series:
        step, dataset = series.steps[0], series.steps[0]["meshes/rho"]
    for use in (
        dataset.sum,
        lambda: step["meshes/rho"],
        lambda: series.steps[0].attrs,
        lambda: step.time,
    ):
        with pytest.raises(fl.InvalidArgument, match="closed"):
            use()
    series.close()


def test_several_datasets_of_a_step_in_one_pass(openpmd):
    name, indices = openpmd
    with fl.open(name) as series:
        step = series.steps[0]
        speed = fl.ops.Apply(np.hypot, "max")
        found = step.reduce({"speed": speed}, ["meshes/E/x", "meshes/E/y"])
        x, y = field(indices[0]), field(indices[0], "y")
        np.testing.assert_allclose(found["speed"], np.hypot(x, y).max(), rtol=1e-6)
        part = step.reduce("sum", "meshes/E/x", None, np.s_[1:3])
        np.testing.assert_allclose(part, x[1:3].sum())
        masked = step["meshes/E/x"].where("value > 15")
        assert masked.reduce("count") == (x > 15).sum()


def test_steps_can_be_pickled(openpmd):
    name, indices = openpmd
    with fl.open(name) as series:
        dataset = pickle.loads(pickle.dumps(series.steps[-1]["meshes/E/x"]))
    np.testing.assert_array_equal(dataset.read(), field(indices[-1]))


def test_a_numbered_file_of_several_iterations_is_refused(tmp_path):
    write_openpmd(tmp_path / "run.h5")
    shutil.move(tmp_path / "run.h5", tmp_path / "run3.h5")
    with (
        fl.open(str(tmp_path / "run%T.h5")) as series,
        pytest.raises(fl.DamagedFile, match="no file of one iteration: got 3"),
    ):
        next(iter(series))


def test_the_example_of_openpmd_s_validator(tmp_path):
    program = pathlib.Path(sys.executable).with_name("openPMD_createExamples_h5")
    subprocess.run([sys.executable, program], cwd=tmp_path, capture_output=True, check=True)
    with (
        fl.open(str(tmp_path / "example.h5")) as series,
        h5py.File(tmp_path / "example.h5") as file,
    ):
        (step,) = series
        for component in ("r", "t", "z") if "r" in step.meshes["E"] else ("x", "y", "z"):
            stored = file[f"data/{step.index}"][f"{step.meshes.path}E/{component}"]
            np.testing.assert_array_equal(step.meshes["E"][component].read(), stored[()])
            assert step.meshes["E"].attrs["unitDimension"] == list(
                stored.parent.attrs["unitDimension"]
            )
        electrons = step.particles["electrons"]
        assert {"position", "momentum", "weighting", "charge"} <= set(electrons)
        assert electrons["charge"].reduce("max") == electrons["charge"].reduce("min")  # constant
        assert sorted(electrons["momentum"]) == ["x", "y", "z"]


def test_engines(tmp_path, monkeypatch):
    path = write_openpmd(tmp_path / "run.h5")
    with fl.open(path, engine="hdf5") as series:
        assert len(series) == 3
    with pytest.raises(fl.InvalidArgument, match="another format than engine 'netcdf' reads"):
        fl.open(path, engine="netcdf")
    with pytest.raises(fl.InvalidArgument, match=r"got 'hdf'; allowed: .*Did you mean 'hdf5'"):
        fl.open(path, engine="hdf")
    with pytest.raises(fl.InvalidArgument, match="engine 'raw' needs the layout"):
        fl.open(path, engine="raw")
    monkeypatch.setenv("FLUVIAL_ENGINE", "netcdf")
    with pytest.raises(fl.InvalidArgument, match="engine 'netcdf'"):
        fl.open(path)
    monkeypatch.setenv("FLUVIAL_ENGINE", "adios")
    with pytest.raises(fl.InvalidArgument, match=r"FLUVIAL_ENGINE.*got 'adios'"):
        fl.open(path)


def test_options_of_streams_have_no_effect_on_files(tmp_path):
    path = write_openpmd(tmp_path / "run.h5")
    options = {"start": "next", "step_timeout": 3.0, "directory": tmp_path}
    with fl.open(path, **options, rendezvous_timeout=1, stall_timeout=2) as series:
        assert len(series) == 3
    with pytest.raises(fl.InvalidArgument, match="got queue_steps"):
        fl.open(path, queue_steps=3)


@pytest.mark.parametrize("name", ["x.sst", "./x.SST"])
@pytest.mark.parametrize("mode", ["r", "w"])
def test_what_nothing_can_read_is_refused_at_once(name, mode, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fl.InvalidArgument, match=r"cannot be written|no engine reads"):
        fl.open(name, mode)


def test_folders_are_refused_and_a_stream_may_have_the_name_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fl.InvalidArgument, match="a folder is no series"):
        fl.open(f"{tmp_path}/")
    with fl.open("run.h5", "w", engine="stage", readers=0, directory=tmp_path) as series:
        assert series.name == "run.h5"


def test_openpmd_files_are_not_joined(tmp_path):
    write_openpmd(tmp_path / "f%T.h5")
    with (
        fl.open(str(tmp_path / "f*.h5")) as file,
        pytest.raises(fl.InvalidArgument, match=r"not joined: got 3 of them; .*data%T.h5"),
    ):
        iter(file)


@pytest.mark.parametrize("path", ["/", ""])
def test_meshes_without_a_path_of_their_own(tmp_path, path):
    name = str(tmp_path / "a.h5")
    with h5py.File(name, "w") as file:
        file.attrs.update({"openPMD": "1.1.0", "basePath": "/data/%T/", "meshesPath": path})
        file["data/1/E/x"] = np.ones(3)
        file["data/1/rho"] = np.ones(3)
        file["data/1/particles/e/w"] = np.ones(3)
    with fl.open(name) as series:
        (step,) = series
        assert (list(step.meshes), list(step.particles)) == (["E", "rho"], ["e"])
        assert step.meshes["E"].x.sum() == 3


def test_copies_and_pickles(openpmd):
    name, indices = openpmd
    with fl.open(name) as series:
        e = series.steps[0].meshes["E"]
        assert copy.copy(e).x.max() == e.x.max()
        again = pickle.loads(pickle.dumps(series))
        assert [step.index for step in again] == indices
        with pytest.raises(fl.InvalidArgument, match="steps cannot be pickled"):
            pickle.dumps(series.steps)


def test_files_are_closed_with_their_steps(tmp_path):
    name = write_openpmd(tmp_path / "f%T.h5")
    gc.disable()
    try:
        before = len(os.listdir("/proc/self/fd"))
        with fl.open(name) as series:
            for step in series:
                step.meshes["E"].x.mean()
                assert len(os.listdir("/proc/self/fd")) <= before + 8
            kept = series.steps[0]
        assert len(os.listdir("/proc/self/fd")) == before
        assert kept.index == min(INDICES)
    finally:
        gc.enable()


def test_after_an_error_come_the_other_steps(tmp_path):
    name = write_openpmd(tmp_path / "f%T.h5")
    with fl.open(name) as series:
        os.unlink(series.paths[1])
        steps = iter(series)
        assert next(steps).index == 7
        with pytest.raises(FileNotFoundError):
            next(steps)
        assert [step.index for step in steps] == [100]
        threads = [threading.Thread(target=lambda: list(iter(other.next, None))) for _ in range(4)]
        other = fl.open(write_openpmd(tmp_path / "g.h5"))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert other.next() is None


@pytest.mark.parametrize("name", ["run.h5", "run.nc", "run%T.h5"])
def test_no_iteration_comes_after_the_largest(tmp_path, name):
    largest = 2**63 - 1
    with fl.open(str(tmp_path / name), "w") as series:
        with pytest.raises(
            fl.InvalidArgument, match="iteration is out of range: got 9223372036854"
        ):
            series.step(iteration=largest + 1)
        with series.step(iteration=largest) as step:
            step.put("x", np.arange(3.0))
        with pytest.raises(
            fl.InvalidArgument, match="iteration is out of range: got 9223372036854"
        ):
            series.step()
