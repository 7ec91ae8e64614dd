# SPDX-License-Identifier: Apache-2.0
"""What openPMD leaves to a few words: constants, orders of axes, staggered grids, longer paths."""

import threading

import h5py
import numpy as np
import pytest
from harness.ends import both_ends

import fluvial as fl

OF_F = {
    "axisLabels": ["x", "y"],
    "gridSpacing": [0.5, 2.0],
    "gridGlobalOffset": [0.0, 100.0],
    "dataOrder": "F",
}
FORTRAN = {"y": [100.0, 102.0, 104.0, 106.0], "x": [0.0, 0.5, 1.0]}


def steps_of(path):
    """All of them; the file is open as long as one of them is used."""
    return list(fl.open(path))


def test_elements_are_piped_whatever_an_attribute_says_of_them(tmp_path):
    with fl.open(tmp_path / "a.h5", "w") as series:
        for index in range(3):  # attributes of the first step are those of later ones, too
            said = {"value": 2.5, "shape": [4]} if index == 0 else None
            with series.step() as step:
                step.put("meshes/c", np.full(4, 2.5 + index), attrs=said)
                step.put("meshes/rho", np.arange(4.0), attrs={"value": 3.0, "shape": [4]})
                step.put("particles/e/w", np.arange(4.0), attrs={"shape": "cic", "value": 7.0})
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5")
    for index, step in enumerate(steps_of(tmp_path / "b.h5")):
        assert step["meshes/c"].read().values.tolist() == [2.5 + index] * 4
        assert step["meshes/rho"].read().values.tolist() == [0, 1, 2, 3]
        assert step["particles/e/w"].attrs["shape"] == "cic"
        assert step["particles/e/w"].attrs["value"] == 7.0
    fl.pipe(tmp_path / "a.h5", tmp_path / "c.h5", isel={"x": slice(0, 2)})
    for index, step in enumerate(steps_of(tmp_path / "c.h5")):
        assert step["meshes/c"].read().values.tolist() == [2.5 + index] * 2
        assert step["meshes/c"].attrs.get("shape", [2]) == [2]


def test_a_live_step_is_piped_as_it_is(tmp_path):
    def write():
        with fl.open("live", "w", directory=tmp_path) as series, series.step() as step:
            step.put("meshes/rho", np.arange(4.0), attrs={"value": 3.0, "shape": [4]})
            step.put("meshes/c", np.full(4, 2.5), attrs={"value": 2.5, "shape": [4]})

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    reading = {"directory": tmp_path, "rendezvous_timeout": 20}
    fl.pipe("live", tmp_path / "b.h5", reading=reading)
    writer.join(20)
    (step,) = steps_of(tmp_path / "b.h5")
    assert step["meshes/rho"].read().values.tolist() == [0, 1, 2, 3]
    assert step["meshes/c"].read().values.tolist() == [2.5] * 4
    assert step["meshes/c"].constant == 2.5


@pytest.mark.parametrize(
    ("value", "dtype"),
    [("peak", "f8"), ([1.0, 2.0], "f8"), (300, "u1"), (-1, "u8"), (np.nan, "i4"), ("peak", "c16")],
)
def test_an_attribute_value_that_no_element_can_be_is_one_like_others(value, dtype, tmp_path):
    with fl.open(tmp_path / "a.h5", "w") as series, series.step() as step:
        step.put("meshes/rho", np.ones(3, dtype), attrs={"value": value, "shape": [3]})
    (step,) = steps_of(tmp_path / "a.h5")
    assert np.all(step["meshes/rho"].read().values == 1)
    np.testing.assert_equal(step["meshes/rho"].attrs["value"], value)


def fortran_of(step):
    rho = step["meshes/rho"].read()
    assert rho.dims == step["meshes/rho"].dims
    return {name: values.values.tolist() for name, values in rho.coords.items()}


@pytest.mark.parametrize("ending", [".h5", ".bp", ".zarr"])
def test_axes_in_the_order_of_fortran(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    with fl.open(path, "w") as series, series.step() as step:
        step.put("meshes/rho", np.arange(12.0).reshape(4, 3), attrs=OF_F)
    for name in (path, tmp_path / f"piped{ending}", tmp_path / "piped.h5"):
        if name != path:
            fl.pipe(path, name)
        (step,) = steps_of(name)
        assert fortran_of(step) == FORTRAN
    with fl.open(path) as series, fl.open(tmp_path / "put.h5", "w") as out, out.step() as step:
        step.put("meshes/rho", series.steps[0]["meshes/rho"])
    (step,) = steps_of(tmp_path / "put.h5")
    assert fortran_of(step) == FORTRAN


def test_axes_of_a_live_step_in_the_order_of_fortran(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put("meshes/rho", np.arange(12.0).reshape(4, 3), attrs=OF_F)
        found = reader.next()
        assert fortran_of(found) == FORTRAN
        assert float(found["meshes/rho"].sel(x=0.5, y=104.0).sum()) == 7


def staggered(path):
    grid = {"axisLabels": ["y", "x"], "gridSpacing": [1.0, 1.0], "gridGlobalOffset": [0.0, 0.0]}
    with fl.open(path, "w") as series, series.step() as step:
        for name, position in (("x", [0.0, 0.5]), ("y", [0.5, 0.0])):
            own = grid | {"position": position}
            step.put(f"meshes/E/{name}", np.arange(24.0).reshape(4, 6), attrs=own)


@pytest.mark.parametrize("way", ["pipe", "put", "put what was read"])
@pytest.mark.parametrize("part", [slice(1, 5, 2), slice(None, None, 2), slice(1, 4)])
def test_components_of_a_staggered_grid_keep_the_cells_that_they_share(part, way, tmp_path):
    staggered(tmp_path / "a.h5")
    before = steps_of(tmp_path / "a.h5")[0].meshes["E"]
    wanted = {name: before[name].isel(x=part).read() for name in "xy"}
    if way == "pipe":
        fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", isel={"x": part})
    else:
        with fl.open(tmp_path / "b.h5", "w") as out, out.step() as step:
            for name in "xy":
                chosen = before[name].isel(x=part)
                step.put(f"meshes/E/{name}", chosen if way == "put" else chosen.read())
    after = steps_of(tmp_path / "b.h5")[0].meshes["E"]
    for name in "xy":
        found = after[name].read()
        np.testing.assert_array_equal(found, wanted[name])
        for dim in "xy":
            np.testing.assert_allclose(found[dim], wanted[name][dim], rtol=1e-15)
        assert all(0 <= at < 1 for at in after[name].attrs["position"])


def test_paths_of_meshes_and_particles_of_several_words(tmp_path):
    with fl.open(tmp_path / "a.h5", "w") as series:
        series.attrs.update(meshesPath="fields/em/", particlesPath="parts/in/")
        with series.step() as step:
            for number, name in enumerate("EB", 1):
                said = {"axisLabels": ["x"], "gridSpacing": [float(number)]}
                step.put(f"fields/em/{name}/x", np.zeros(3), attrs=said)
            step.put("parts/in/e/position/x", np.zeros(4))
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5")
    for name in ("a.h5", "b.h5"):
        with h5py.File(tmp_path / name) as file:
            fields = file["data/0/fields/em"]
            assert "gridSpacing" not in fields.attrs
            assert [float(fields[each].attrs["gridSpacing"][0]) for each in "EB"] == [1, 2]
            assert "unitDimension" in file["data/0/parts/in/e/position"].attrs
            assert "value" in file["data/0/parts/in/e/positionOffset/x"].attrs


@pytest.mark.parametrize("name", ["a.h5", "a.bp"])
def test_the_library_of_openpmd_reads_bools(name, tmp_path):
    io = pytest.importorskip("openpmd_api")
    with fl.open(tmp_path / name, "w") as series:
        series.attrs.update(flag=True, number=1)
        with series.step(attrs={"done": False}) as step:
            step.put("meshes/rho", np.zeros(3), attrs={"ok": True})
    theirs = io.Series(str(tmp_path / name), io.Access.read_only)
    assert theirs.get_attribute("flag") is True
    assert theirs.iterations[0].meshes["rho"].get_attribute("ok") is True
    with fl.open(tmp_path / name) as series:
        assert series.attrs["flag"] is True
        assert series.attrs["number"] == 1
        assert series.attrs["number"] is not True
        assert [(step.attrs["done"], step["meshes/rho"].attrs["ok"]) for step in series] == [
            (False, True)
        ]
    if name == "a.h5":
        with h5py.File(tmp_path / name) as file:
            assert file.attrs["flag"] == np.True_


def test_positions_that_the_library_of_openpmd_writes_into_bp(tmp_path):
    io = pytest.importorskip("openpmd_api")
    series = io.Series(str(tmp_path / "a.bp"), io.Access.create)
    series.set_iteration_encoding(io.Iteration_Encoding.variable_based)
    iteration = series.write_iterations()[0]
    mesh = iteration.meshes["E"]
    mesh.axis_labels, mesh.grid_spacing, mesh.grid_global_offset = ["y", "x"], [1.0] * 2, [0.0] * 2
    mesh["x"].reset_dataset(io.Dataset(np.dtype("f8"), [2, 3]))
    mesh["x"].position = [0.0, 0.5]  # which it writes as long double
    mesh["x"].store_chunk(np.ones((2, 3)))
    iteration.close()
    series.close()
    (step,) = steps_of(tmp_path / "a.bp")
    assert step["meshes/E/x"].attrs["position"] == [0.0, 0.5]


@pytest.mark.parametrize("name", ["s", "run.h5", "run%T.h5", "run.bp"])
def test_a_species_and_all_meshes_have_their_attributes(tmp_path, name):
    live = name == "s"
    options = {"readers": 0, "directory": tmp_path} if live else {}
    where = {"directory": tmp_path} if live else {}
    path = name if live else str(tmp_path / name)
    groups = {"particles/e": {"particleShape": 3.0}, "meshes": {"fieldSolver": "Yee"}}
    with fl.open(path, "w", **options) as writer:
        with writer.step(groups=groups) as step:
            step.put("meshes/rho", np.ones(3))
            step.put("particles/e/position/x", np.ones(3))
            step.put("particles/i/position/x", np.ones(3))
        if live:
            series = fl.open(path, **where)
    if not live:
        series = fl.open(path)
    with series:
        step = next(iter(series))
        assert step.particles["e"].attrs["particleShape"] == 3.0
        assert "particleShape" not in step.particles["i"].attrs
        assert step.meshes.attrs["fieldSolver"] == "Yee"
