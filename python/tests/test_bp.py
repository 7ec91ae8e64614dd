# SPDX-License-Identifier: Apache-2.0
"""Series in BP: openPMD as written here and by its own library, and steps of any program."""

import importlib.util
import os
import pathlib
import pickle

import adios2
import numpy as np
import openpmd_api as io
import pytest
from harness.unlucky_writers import killed_in_the_third_step, refused_by_a_full_disk

import fluvial as fl

MESH = {"axisLabels": ["y", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [1.0, 0.0]}
DTYPES = [*(f"{s}{n}" for s in "iu" for n in (1, 2, 4, 8)), "f4", "f8", "c8", "c16"]


def values(index, shape=(4, 6), dtype="f8"):
    return (np.arange(np.prod(shape)).reshape(shape) + 100 * index).astype(dtype)


def write(name, steps=3):
    with fl.open(str(name), "w") as series:
        series.attrs["author"] = "somebody"
        for index in range(steps):
            with series.step(time=index / 4, dt=0.25, attrs={"timeUnitSI": 1e-15}) as step:
                for number, component in enumerate("xy"):
                    attrs = {"unitSI": 2.5, "unitDimension": [1] + 6 * [0], **MESH}
                    step.put(f"meshes/E/{component}", values(index + number), attrs=attrs)
                step.put("particles/e/position/x", values(index, (7 + index,)))
                step.put("energy", np.float64(index))


@pytest.mark.parametrize("name", ["run.bp", "data%T.bp", "data_%06T.bp"])
def test_what_was_written_is_read_again(tmp_path, name):
    write(tmp_path / name)
    with fl.open(str(tmp_path / name)) as series:
        assert series.format == "ADIOS2 BP"
        assert series.attrs["author"] == "somebody"
        assert len(series) == 3
        for index, step in enumerate(series):
            assert (step.index, step.time, step.dt) == (index, index / 4, 0.25)
            assert step.attrs["timeUnitSI"] == 1e-15
            e = step.meshes["E"]
            np.testing.assert_array_equal(e.y.read(), values(index + 1))
            assert e.y.sel(x=slice(2.0, 6.0)).reduce("sum") == values(index + 1)[:, 1:4].sum()
            assert (e.x.dims, e.x.attrs["unitSI"]) == (("y", "x"), 2.5)
            assert e.attrs["unitDimension"] == [1] + 6 * [0]
            particles = step.particles["e"]
            np.testing.assert_array_equal(
                particles["position"].x.read(), values(index, (7 + index,))
            )
            if "%" not in name:
                assert particles["positionOffset"].x.sum() == 0
            assert step["energy"].read() == index
        again = pickle.loads(pickle.dumps(series.steps[1]["energy"]))
        assert again.read() == 1
    assert not [entry for entry in os.listdir(tmp_path) if entry.endswith(".part")]


@pytest.mark.parametrize("name", ["run.bp", "data%T.bp"])
def test_openpmd_s_own_library_reads_it(tmp_path, name):
    write(tmp_path / name)
    series = io.Series(str(tmp_path / name), io.Access.read_only)
    assert (series.openPMD, series.author) == ("1.1.0", "somebody")
    assert [int(i) for i in series.iterations] == [0, 1, 2]
    for index, iteration in series.iterations.items():
        assert (iteration.time, iteration.time_unit_SI) == (index / 4, 1e-15)
        assert iteration.meshes["E"].axis_labels == ["y", "x"]
        found = iteration.meshes["E"]["x"].load_chunk()
        series.flush()
        np.testing.assert_array_equal(found, values(index))
    series.close()


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype_and_shape(tmp_path, dtype):
    shapes = [(), (1,), (5,), (2, 3, 4, 5)]
    with fl.open(str(tmp_path / "a.bp"), "w") as series, series.step() as step:
        for number, shape in enumerate(shapes):
            step.put(f"x{number}", values(1, shape, dtype))
    with fl.open(str(tmp_path / "a.bp")) as series:
        for number, shape in enumerate(shapes):
            found = series.steps[0][f"x{number}"]
            assert found.stored_dtype == dtype
            np.testing.assert_array_equal(found.read(), values(1, shape, dtype))


@pytest.fixture
def steps_of_others(tmp_path):
    """Return a folder as any program writes it, without openPMD."""
    path = str(tmp_path / "sim.bp")
    with adios2.Stream(path, "w") as stream:
        for index in range(3):
            stream.begin_step()
            stream.write("t", values(index), [4, 6], [0, 0], [4, 6])
            count = 5 + index
            stream.write("/atoms/x", values(index, (count,)), [count], [0], [count])
            stream.write("time", np.float64(index / 2))
            stream.write("own", np.arange(3.0), [], [], [3])
            if index == 0:
                stream.write("grid", np.arange(4.0), [4], [0], [4])
                stream.write_attribute("units", "K", "t")
                stream.write_attribute("title", "waves")
            if index > 0:
                stream.write("late", np.arange(2), [2], [0], [2])
            stream.end_step()
    return path


def test_steps_of_any_program(steps_of_others):
    with fl.open(steps_of_others) as file:
        assert sorted(file.names) == ["grid", "t", "time"]
        assert (file["t"].dims[0], file["t"].shape) == ("step", (3, 4, 6))
        expected = np.stack([values(i) for i in range(3)])
        np.testing.assert_array_equal(file["t"].read(), expected)
        np.testing.assert_array_equal(file["t"][1:, 2, ::2], expected[1:, 2, ::2])
        assert file["t"].where("t > 5").reduce("mean") == expected[expected > 5].mean()
        assert len(file) == 3
        for index, step in enumerate(file):
            assert (step.index, step.time) == (index, index / 2)
            assert step.attrs["title"] == "waves"
            assert step["t"].attrs == {"units": "K"}
            np.testing.assert_array_equal(step["t"].read(), values(index))
            np.testing.assert_array_equal(step["atoms/x"].read(), values(index, (5 + index,)))
            np.testing.assert_array_equal(step["grid"].read(), np.arange(4.0))
            expected = ["atoms/x", "grid", "late", "t", "time"]
            assert sorted(step) == [n for n in expected if n != "late" or index > 0]
        assert pickle.loads(pickle.dumps(file.steps[2]["atoms/x"])).size == 7


def test_constant_components_and_groups(tmp_path):
    with fl.open(str(tmp_path / "a.bp"), "w") as series:
        groups = {"particles/e": {"comment": "thermal"}}
        with series.step(iteration=7, groups=groups) as step:
            one = np.broadcast_to(np.float32(3.5), (10,))
            step.put("particles/e/mass", one, attrs={"value": 3.5, "shape": [10]})
            step.put("particles/e/position/x", np.arange(10.0))
    with fl.open(str(tmp_path / "a.bp")) as file:
        (step,) = file
        assert step.index == 7
        mass = step.particles["e"]["mass"]
        assert (mass.dtype, mass.shape, mass.sum()) == (np.float32, (10,), 35)


def test_openpmd_as_its_own_library_writes_it(tmp_path):
    series = io.Series(str(tmp_path / "sim_%T.bp"), io.Access.create)
    for index in (3, 40):
        x = series.iterations[index].meshes["E"]["x"]
        x.reset_dataset(io.Dataset(np.dtype("f8"), [4, 6]))
        x.store_chunk(values(index))
        series.iterations[index].close()
    series.close()
    with fl.open(str(tmp_path / "sim_%T.bp")) as found:
        assert found.steps.indices == [3, 40]
        for step in found:
            np.testing.assert_array_equal(step.meshes["E"].x.read(), values(step.index))


def test_without_the_package_it_is_refused_at_once(tmp_path, monkeypatch):
    write(tmp_path / "run.bp", steps=1)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in ("run.bp", "nowhere.bp", pathlib.Path("run.bp"), ["run.bp"]):
        with pytest.raises(fl.InvalidArgument, match=r"'bp' needs a .*: pip install adios2"):
            fl.open(name)
    with pytest.raises(fl.InvalidArgument, match=r"'bp' needs a .*: pip install adios2"):
        fl.open("new.bp", "w")


def test_what_cannot_be_written_leaves_no_step(tmp_path):
    path = str(tmp_path / "run.bp")
    with fl.open(path, "w") as series:
        for array in (np.ones(3, "f2"), np.ones((3, 0))):
            refused = pytest.raises(fl.InvalidArgument, match="'x' cannot be written as BP: got")
            with refused, series.step() as step:
                step.put("x", array)
        refused = pytest.raises(fl.InvalidArgument, match=r"of another object .*got 'a/b'; allowed")
        with refused, series.step() as step:  # it would be read as one of "z/a"
            step.put("z", np.ones(3), attrs={"a/b": 1})
        with pytest.raises(KeyError), series.step() as step:
            step.put("x", np.ones(3))
            raise KeyError
        with series.step(time=5.0) as step:
            step.put("x", np.ones(3))
    with fl.open(path) as file:
        assert [(step.index, step.time) for step in file] == [(4, 5.0)]
    with fl.open(path, "w") as series, series.step() as step:  # overwritten
        step.put("y", np.ones(3))
    with fl.open(path) as file:
        assert list(file.steps[0]) == ["y"]
    series = fl.open(str(tmp_path / "no" / "a.bp"), "w")
    with pytest.raises(OSError, match="cannot be written: got"), series.step() as step:
        step.put("x", np.ones(3))
    series.close()


def test_metadata_that_are_damaged(tmp_path):
    write(tmp_path / "run.bp", steps=1)
    (tmp_path / "run.bp" / "md.idx").write_bytes(b"nothing of it" * 10)
    with pytest.raises(fl.DamagedFile, match=r"metadata of '.*run\.bp' cannot be read: got"):
        fl.open(tmp_path / "run.bp")


def test_a_killed_writer_leaves_whole_steps(tmp_path):
    killed_in_the_third_step(tmp_path / "a.bp")
    with fl.open(tmp_path / "a.bp") as file:
        assert [int(step["x"].max()) for step in file] == [0, 1]


def test_a_full_disk_is_an_error_and_leaves_the_steps_before(tmp_path):
    """The library ends the process when it closes what it could not write."""
    printed = refused_by_a_full_disk(tmp_path / "a.bp")
    assert printed.count("a.bp' cannot be written: got File too large; allowed") == 2
    with fl.open(tmp_path / "a.bp") as file:
        assert [step["x"].sum() for step in file] == [1000]


def test_elements_that_no_block_holds_are_zero(tmp_path):
    path = str(tmp_path / "holes.bp")
    with adios2.Stream(path, "w") as stream:
        stream.begin_step()
        stream.write("h", np.ones(1000), [100_000], [2], [1000])
        stream.end_step()
    used = np.full(100_000, 7.0)  # whose memory may be given out next
    del used
    with fl.open(path) as file:
        expected = np.zeros(100_000)
        expected[2:1002] = 1
        np.testing.assert_array_equal(file["h"].read(), expected)
        assert file["h"].reduce("sum") == 1000


@pytest.mark.parametrize("encoding", ["group", "variable"])
def test_iterations_as_openpmd_s_own_library_writes_them(tmp_path, encoding):
    path = str(tmp_path / "sim.bp")
    series = io.Series(path, io.Access.create)
    series.set_iteration_encoding(getattr(io.Iteration_Encoding, f"{encoding}_based"))
    for index in (0, 10, 20):
        iteration = series.write_iterations()[index]
        iteration.time, iteration.dt = index / 4, 0.25
        x = iteration.meshes["E"]["x"]
        x.reset_dataset(io.Dataset(np.dtype("f4"), [4, 6]))
        x.store_chunk(values(index, dtype="f4"))
        e = iteration.particles["e"]
        e["mass"].reset_dataset(io.Dataset(np.dtype("f8"), [5 + index]))
        e["mass"].make_constant(index + 2.5)
        e["position"]["x"].reset_dataset(io.Dataset(np.dtype("f8"), [5 + index]))
        e["position"]["x"].store_chunk(values(index, (5 + index,)))
        iteration.close()
    series.close()
    with fl.open(path) as found:
        assert found.steps.indices == [0, 10, 20]
        for step in found:
            assert (step.time, step.dt) == (step.index / 4, 0.25)
            np.testing.assert_array_equal(step.meshes["E"].x.read(), values(step.index))
            e = step.particles["e"]
            expected = values(step.index, (5 + step.index,))
            np.testing.assert_array_equal(e["position"].x.read(), expected)
            assert (e["mass"].shape, e["mass"].max()) == ((5 + step.index,), step.index + 2.5)
        again = pickle.loads(pickle.dumps(found.steps[2]["particles/e/position/x"]))
        np.testing.assert_array_equal(again.read(), values(20, (25,)))


def test_a_variable_of_some_steps_is_in_those(tmp_path):
    path = str(tmp_path / "sim.bp")
    with adios2.Stream(path, "w") as stream:
        for index in range(4):
            stream.begin_step()
            if index != 1:
                stream.write("some", values(index, (index + 2,)), [index + 2], [0], [index + 2])
            if index == 2:
                stream.write("once", np.arange(3.0), [3], [0], [3])
                stream.write_attribute("title", "late")
            stream.write("time", np.float64(index))
            stream.end_step()
    with fl.open(path) as file:
        steps = list(file)
        assert [sorted(step) for step in steps] == [
            ["some", "time"],
            ["time"],
            ["once", "some", "time"],
            ["once", "some", "time"],
        ]
        assert [step.attrs.get("title") for step in steps] == [None, None, "late", "late"]
        for index in (0, 2, 3):
            found = steps[index]["some"].read()
            np.testing.assert_array_equal(found, values(index, (index + 2,)))


@pytest.mark.parametrize(
    ("name", "missing", "message"),
    [
        ("data.0", 1, r"data\.0 has \d+ bytes of at least \d+"),
        ("md.0", 1, r"md\.0 has \d+ bytes of at least \d+"),
        ("md.idx", 1, r"md\.idx ends within a record, after \d+ bytes"),
    ],
)
def test_bytes_that_are_missing(tmp_path, name, missing, message):
    path = tmp_path / "sim.bp"
    with adios2.Stream(str(path), "w") as stream:
        for index in range(3):
            stream.begin_step()
            stream.write("t", values(index, (1000,)), [1000], [0], [1000])
            stream.write("time", np.float64(index))
            stream.end_step()
    os.truncate(path / name, (path / name).stat().st_size - missing)
    with pytest.raises(fl.DamagedFile, match=message):
        fl.open(path)


def test_attributes_called_value_and_shape_are_no_constant(tmp_path):
    path = str(tmp_path / "sim.bp")
    with adios2.Stream(path, "w") as stream:
        stream.begin_step()
        stream.write("x", np.arange(3.0), [3], [0], [3])
        stream.write_attribute("m/value", 3)
        stream.write_attribute("m/shape", "round")
        stream.end_step()
    with fl.open(path) as file:
        assert file.names == ["x"]
        assert file.steps[0]["x"].sum() == 3
