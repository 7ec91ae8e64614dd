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
