# SPDX-License-Identifier: Apache-2.0
"""openPMD files of HDF5, as openPMD's own library writes them."""

import h5py
import numpy as np
import openpmd_api as io
import pytest
from fluvial._core import InvalidArgument, UnknownName, open_file
from harness.file_datasets import check_dataset


@pytest.fixture
def path(tmp_path):
    """A field of two components, a scalar field, particles with a constant component."""
    path = tmp_path / "t.h5"
    series = io.Series(str(path), io.Access.create)
    step = series.iterations[100]
    for number, component in enumerate("xy"):
        field = step.meshes["E"]
        field.axis_labels = ["y", "x"]
        field[component].reset_dataset(io.Dataset(np.dtype("f4"), [4, 6]))
        field[component].unit_SI = 2.5
        field[component].store_chunk(np.arange(24, dtype="f4").reshape(4, 6) + 100 * number)
    zero = step.meshes["E"]["z"]
    zero.reset_dataset(io.Dataset(np.dtype("f8"), [4, 6]))
    zero.make_constant(1.5)
    density = step.meshes["rho"]
    density.axis_labels = ["y", "x"]
    scalar = density[io.Mesh_Record_Component.SCALAR]
    scalar.reset_dataset(io.Dataset(np.dtype("f8"), [4, 6]))
    scalar.store_chunk(np.ones((4, 6)))
    atoms = step.particles["atoms"]
    atoms["position"]["x"].reset_dataset(io.Dataset(np.dtype("f8"), [10]))
    atoms["position"]["x"].store_chunk(np.arange(10.0))
    atoms["charge"][io.Record_Component.SCALAR].reset_dataset(io.Dataset(np.dtype("i8"), [10]))
    atoms["charge"][io.Record_Component.SCALAR].make_constant(-1)
    series.close()
    return path


def test_components_are_datasets_whether_constant_or_not(path):
    file = open_file(str(path))
    assert file.format == "HDF5"
    assert file.attributes["openPMD"].startswith(("1.", "2."))
    assert sorted(file.names) == [
        "data/100/meshes/E/x",
        "data/100/meshes/E/y",
        "data/100/meshes/E/z",
        "data/100/meshes/rho",
        "data/100/particles/atoms/charge",
        "data/100/particles/atoms/position/x",
    ]
    field = np.arange(24, dtype="f4").reshape(4, 6)
    check_dataset(file.dataset("data/100/meshes/E/x"), field)
    check_dataset(file.dataset("data/100/meshes/E/y"), field + 100)
    check_dataset(file.dataset("data/100/meshes/E/z"), np.full((4, 6), 1.5))
    check_dataset(file.dataset("data/100/meshes/rho"), np.ones((4, 6)))
    check_dataset(file.dataset("data/100/particles/atoms/position/x"), np.arange(10.0))
    check_dataset(file.dataset("data/100/particles/atoms/charge"), np.full(10, -1, "i8"))


def test_attributes_and_axes_come_from_the_record(path):
    file = open_file(str(path))
    for name in ("E/x", "E/y", "E/z", "rho"):
        assert file.dataset(f"data/100/meshes/{name}").dimensions == ["y", "x"]
    assert file.dataset("data/100/meshes/E/x").attributes["unitSI"] == 2.5
    constant = file.dataset("data/100/meshes/E/z").attributes
    assert not {"value", "shape"} & constant.keys()
    assert {"unitSI", "position", "unitDimension", "gridSpacing", "axisLabels"} <= constant.keys()
    assert constant.items() >= file.group_attributes("data/100/meshes/E").items()
    assert file.dataset("data/100/particles/atoms/charge").dimensions == [""]


def test_axes_in_fortran_order_are_named_backwards(path):
    with h5py.File(path, "r+") as file:
        mesh = file["data/100/meshes/E"]
        mesh.attrs["dataOrder"] = np.bytes_(b"F")
    assert open_file(str(path)).dataset("data/100/meshes/E/x").dimensions == ["x", "y"]


def test_a_group_is_a_constant_only_in_openpmd_and_only_if_it_makes_sense(path):
    with h5py.File(path, "r+") as file:
        bad = file.create_group("bad")
        bad.attrs["value"] = 1.0
        bad.attrs["shape"] = np.array([-1, 5])
        text = file.create_group("text")
        text.attrs["value"] = "a"
        text.attrs["shape"] = np.array([5])
        huge = file.create_group("huge")
        huge.attrs["value"] = np.float32(4)
        huge.attrs["shape"] = np.array([1 << 40, 5], "u8")
    file = open_file(str(path))
    assert (file.dataset("huge").read((1 << 39, 2), (3, 3)) == np.full((3, 3), 4)).all()
    for name in ("bad", "text"):
        assert name not in file.names
        with pytest.raises(InvalidArgument):
            file.dataset(name)
    with h5py.File(path, "r+") as file:
        del file.attrs["openPMD"]
    assert "huge" not in open_file(str(path)).names


def test_a_name_inside_a_step_is_told_from_one_of_the_file(path):
    with pytest.raises(UnknownName) as error:
        open_file(str(path)).dataset("meshes/E/x")
    assert "steps[0]['meshes/E/x']; in the file as a whole it is 'data/100/meshes/E/x'" in str(
        error.value
    )
