# SPDX-License-Identifier: Apache-2.0
"""Which datasets of a step are coordinates: the same in live steps and in files of every format."""

import h5py
import numpy as np
import pytest
from harness.ends import both_ends

import fluvial as fl

U = np.arange(24.0).reshape(4, 6)
LAT = np.array([0.0, 10.0, 20.0, 30.0])
LABELS = {"axisLabels": ["lat", "lon"]}
ENGINES = ["live", ".h5", "%T.h5", ".nc", ".nc4", ".bp", ".zarr", "%T.nc"]
OTHERS = [engine for engine in ENGINES if engine != ".nc4"]  # which refuses such names
LAT_ATTRS = [
    None,
    {"units": "degrees_north"},
    {"axisLabels": ["lat"]},
    {"axisLabels": "lat", "units": "degrees_north"},
]


def of_one_step(engine, tmp_path, put, use):
    """Put into a step as `put` does, and return what `use` finds in it."""
    if engine == "live":
        with both_ends(tmp_path) as (writer, reader):
            with writer.step() as step:
                put(step)
            return use(reader.next())
    name = str(tmp_path / f"run{engine}")
    with fl.open(name, "w") as writer, writer.step() as step:
        put(step)
    with fl.open(name) as reader:
        (found,) = [use(step) for step in reader]
    return found


def coordinate_of_u(step, u="u"):
    coords = step[u].coords
    south = step[u].sel(lat=slice(0, 10)).sum() if "lat" in coords else None
    return sorted(coords), south if south is None else float(south)


@pytest.mark.parametrize("attrs", LAT_ATTRS)
@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_called_like_an_axis_is_its_coordinate(engine, attrs, tmp_path):
    def put(step):
        step.put("u", U, attrs=LABELS)
        step.put("lat", LAT, attrs=attrs)

    found = of_one_step(engine, tmp_path, put, coordinate_of_u)
    assert found == (["lat"], float(U[:2].sum()))


@pytest.mark.parametrize("attrs", LAT_ATTRS)
@pytest.mark.parametrize("engine", ["live", ".h5", "%T.h5", ".bp"])
def test_and_so_in_a_group_among_meshes_or_further_out(engine, attrs, tmp_path):
    for group in ("meshes/", ""):

        def put(step, group=group):
            step.put("meshes/u", U, attrs=LABELS)
            step.put(f"{group}lat", LAT, attrs=attrs)

        folder = tmp_path / (group.strip("/") or "outside")
        folder.mkdir()
        coords, south = of_one_step(
            engine, folder, put, lambda step: coordinate_of_u(step, "meshes/u")
        )
        assert "lat" in coords
        assert south == U[:2].sum()


@pytest.mark.parametrize("engine", OTHERS)
def test_nothing_else_is_one(engine, tmp_path):
    """Of another length, along another axis, or with a name that no axis has."""

    def put(step):
        step.put("u", U, attrs=LABELS)
        step.put("lon", LAT, attrs={"axisLabels": ["lat"]})
        step.put("height", LAT)

    assert of_one_step(engine, tmp_path, put, coordinate_of_u) == ([], None)


def test_an_array_of_another_length_stays_what_it_is(tmp_path):
    def put(step):
        step.put("u", U, attrs=LABELS)
        step.put("lat", LAT[:3])

    def use(step):
        return list(step["u"].coords), np.asarray(step["lat"].read()).tolist()

    for engine in OTHERS:
        assert of_one_step(engine, tmp_path, put, use) == ([], [0.0, 10.0, 20.0]), engine


def test_files_of_other_programs_have_both_kinds(tmp_path):
    for number, labelled in enumerate((False, True)):
        name = str(tmp_path / f"other{number}.h5")
        with h5py.File(name, "w") as file:
            file.attrs["openPMD"] = "1.1.0"
            file.attrs["basePath"] = "/data/%T/"
            file.attrs["iterationEncoding"] = "groupBased"
            file["data/0/u"] = U
            file["data/0/u"].attrs["axisLabels"] = ["lat", "lon"]
            file["data/0/lat"] = LAT
            if labelled:
                file["data/0/lat"].attrs["axisLabels"] = ["lat"]
        with fl.open(name) as series:
            assert coordinate_of_u(next(iter(series))) == (["lat"], float(U[:2].sum()))


@pytest.mark.parametrize("engine", ["live", ".h5", "%T.h5", ".bp"])
def test_components_of_a_record_are_no_coordinates_of_each_other(engine, tmp_path):
    """In one dimension the component x of a field is called like the axis."""
    squares = np.arange(5.0) ** 2

    def put(step):
        for name in ("x", "y"):
            step.put(f"meshes/E/{name}", squares, attrs={"axisLabels": ["x"], "gridSpacing": [0.5]})

    def use(step):
        for name in ("x", "y"):
            component = step.meshes["E"][name]
            assert component.coords["x"].values.tolist() == [0, 0.5, 1, 1.5, 2]
            assert float(component.sel(x=1.0).sum()) == 4
        return True

    assert of_one_step(engine, tmp_path, put, use)


@pytest.mark.parametrize("engine", ["live", ".h5"])
def test_what_a_group_says_of_its_axes(engine, tmp_path):
    if engine == "live":
        with both_ends(tmp_path) as (writer, reader):
            check_groups(writer, lambda: reader.next())
    else:
        with fl.open(str(tmp_path / "run.h5"), "w") as writer:
            check_groups(writer, None)
        with fl.open(str(tmp_path / "run.h5")) as reader:
            check_groups(None, lambda: next(iter(reader)))


def check_groups(writer, found):
    if writer is not None:
        said = {"meshes/E": {"axisLabels": ["x"], "gridSpacing": [0.5]}}
        with writer.step(groups=said) as step:
            step.put("meshes/E/x", np.arange(5.0))
            step.put("meshes/E/y", np.arange(5.0) + 10)
    if found is not None:
        y = found()["meshes/E/y"]
        assert y.dims == ("x",)
        assert float(y.sel(x=2.0).sum()) == 14


@pytest.mark.parametrize("engine", ["live", ".h5", ".bp"])
def test_components_of_particles_are_paired_by_position(engine, tmp_path):
    def put(step):
        step.put("particles/e/position/x", np.arange(7.0))
        step.put("particles/e/position/y", np.arange(7.0)[::-1].copy())

    def use(step):
        x, y = (step[f"particles/e/position/{name}"] for name in "xy")
        return float(x.where(y > 3).mean()), len(x.coords)

    assert of_one_step(engine, tmp_path, put, use) == (1.0, 0)


def test_the_nearest_variable_along_the_axis_is_its_coordinate(tmp_path):
    """One of that name but of two axes, nearer by, is none."""
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["run/u"] = U
        file["run/u"].attrs["axisLabels"] = ["lat", "lon"]
        file["run/lat"] = np.zeros((2, 4))
        file["lat"] = LAT
    with fl.open(str(tmp_path / "other.h5")) as file:
        assert file["run/u"].coords["lat"].values.tolist() == LAT.tolist()
