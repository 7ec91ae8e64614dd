# SPDX-License-Identifier: Apache-2.0
"""What is stored in a file and is no dataset is listed with the reason."""

import html
import json
import subprocess
import sys

import h5py
import netCDF4
import numpy as np
import pytest

import fluvial as fl

pair = np.dtype([("a", "f8"), ("b", "i4")])
HDF5 = {
    "compound": (np.zeros(3, pair), "a compound type"),
    "words": (np.array(["a", "b"], dtype=h5py.string_dtype()), "text"),
    "group/long": (np.zeros(2, np.longdouble), "a floating-point type of 16 bytes"),
    "nothing": (h5py.Empty("f8"), "a null dataspace"),
    "references": (None, "references"),
    "colours": (np.zeros(2, h5py.enum_dtype({"red": 0, "blue": 1})), "an enumeration"),
}


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file["numbers"] = np.arange(3.0)
        for name, (value, _) in HDF5.items():
            if value is None:
                file.create_dataset(name, data=[file.ref], dtype=h5py.ref_dtype)
            else:
                file[name] = value


def write_classic(path):
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as file:
        file.createDimension("x", 3)
        file.createVariable("numbers", "f8", ("x",))[:] = np.arange(3.0)
        file.createVariable("words", "S1", ("x",))[:] = "a"


def write_netcdf4(path):
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        file.createVariable("numbers", "f8", ("x",))[:] = np.arange(3.0)
        file.createVariable("words", str, ("x",))[0] = "a"


def write_zarr(path):
    zarr = pytest.importorskip("zarr")
    root = zarr.open_group(path, mode="w", zarr_format=2)
    root.create_array("numbers", shape=(3,), dtype="f8")
    root["numbers"][:] = np.arange(3.0)
    root.create_array("dates", shape=(3,), dtype="M8[s]")


def write_bp(path):
    adios2 = pytest.importorskip("adios2")
    with adios2.Stream(path, "w") as stream:
        stream.write("numbers", np.arange(3.0), [3], [0], [3])
        stream.write("words", "text of a simulation")
        stream.write("here", np.arange(2.0), [], [], [2])


FORMATS = {
    "a.h5": (write_hdf5, {name: why for name, (_, why) in HDF5.items()}),
    "a.nc": (write_classic, {"words": "text (NC_CHAR)"}),
    "b.nc": (write_netcdf4, {"words": "text"}),
    "a.zarr": (write_zarr, {"dates": "datetime64"}),
    "a.bp": (write_bp, {"words": "text", "here": "LocalArray of double"}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_what_is_no_dataset_is_listed_with_the_reason(tmp_path, name):
    write, reasons = FORMATS[name]
    path = str(tmp_path / name)
    write(path)
    with fl.open(path) as file:
        assert file.names == ["numbers"]
        assert set(file.left_out) == set(reasons)
        for left_out, why in reasons.items():
            assert why in file.left_out[left_out]
            assert f"{left_out} (left out: {file.left_out[left_out]})" in repr(file)
            assert f"left out: {file.left_out[left_out]}" in html.unescape(file._repr_html_())
            assert left_out not in file
            with pytest.raises(fl.InvalidArgument) as raised:
                file[left_out]
            assert why in str(raised.value)
        assert float(file["numbers"].reduce("sum")) == 3


def test_an_iteration_of_openpmd(tmp_path):
    path = str(tmp_path / "run.h5")
    with fl.open(path, "w") as series, series.step() as step:
        step.put("meshes/E/x", np.ones(3))
    with h5py.File(path, "a") as file:
        file["data/0/notes"] = "written by hand"
    with fl.open(path) as file:
        assert file.left_out == {"data/0/notes": "text"}
        with pytest.raises(fl.InvalidArgument, match="text"):
            file.steps[0]["notes"]


@pytest.mark.parametrize("word", ["info", "ls"])
def test_the_command_line_says_so(tmp_path, word):
    path = str(tmp_path / "a.h5")
    write_hdf5(path)
    command = [sys.executable, "-m", "fluvial", word, path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = done.stdout + done.stderr
    for name, (_, why) in HDF5.items():
        (line,) = (line for line in said.splitlines() if f"{name} is left out: " in line)
        assert why in line
    as_json = [*command, "--format", "json"]
    told = json.loads(subprocess.run(as_json, capture_output=True, text=True, check=True).stdout)
    assert set(told["left_out"]) == set(HDF5)
    assert all(why in told["left_out"][name] for name, (_, why) in HDF5.items())


def test_a_list_of_chosen_datasets_has_nothing_else(tmp_path):
    path = str(tmp_path / "a.h5")
    write_hdf5(path)
    command = [sys.executable, "-m", "fluvial", "ls", path, "numb*", "--format", "json"]
    told = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert [row["dataset"] for row in told["rows"]] == ["numbers"]
    assert told["left_out"] == {}
