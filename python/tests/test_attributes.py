# SPDX-License-Identifier: Apache-2.0
"""Attributes on their way through a stream: what goes in comes out, or is refused by name."""

import math

import h5py
import numpy as np
import pytest
from fluvial.describe.attributes import plain

import fluvial as fl

VALUES = {
    "bool": True,
    "int": -5,
    "most": 2**63 - 1,
    "least": -(2**63),
    "beyond int64": 2**64 - 1,
    "float": 1e-10,
    "whole float": 1.0,
    "infinite": math.inf,
    "text": "Ångström\nand more",
    "empty text": "",
    "ints": [1, -2],
    "one int": [1],
    "ints beyond int64": [0, 2**63],
    "floats": [1.0, 2.5],
    "whole floats": [1.0, 2.0],
    "texts": ["x", "", "ζ"],
    "nothing": [],
    "unitDimension": [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
}


def through_a_stream(tmp_path, attrs):
    with fl.open("attrs", "w", readers=0, directory=tmp_path) as writer:
        writer.attrs.update(attrs)
        with fl.open("attrs", directory=tmp_path) as reader:
            with writer.step(attrs=attrs) as step:
                step.put("x", np.zeros(1), attrs=attrs)
            step = reader.next()
            return reader.attrs, step.attrs, step["x"].attrs


def test_values_and_types_survive_on_series_step_and_dataset(tmp_path):
    for got in through_a_stream(tmp_path, VALUES):
        assert got == VALUES
        for name, value in VALUES.items():
            assert type(got[name]) is type(value), name
            if isinstance(value, list):
                assert [type(item) for item in got[name]] == [type(item) for item in value], name


def test_numpy_values_become_plain_ones(tmp_path):
    attrs = {
        "scalar": np.float32(0.5),
        "flag": np.bool_(True),
        "array": np.arange(3, dtype=np.uint8),
        "matrix": np.eye(2),
        "tuple": (1, 2.5),
        "strings": np.array(["a", "b"]),
        "string": np.array("a"),
        "number": np.array(2, "i2"),
    }
    expected = {
        "scalar": 0.5,
        "flag": True,
        "array": [0, 1, 2],
        "matrix": [1.0, 0.0, 0.0, 1.0],
        "tuple": [1.0, 2.5],
        "strings": ["a", "b"],
        "string": "a",
        "number": 2,
    }
    assert all(got == expected for got in through_a_stream(tmp_path, attrs))


@pytest.mark.parametrize(
    "value",
    [
        None,
        2**64,
        -(2**63) - 1,
        [-1, 2**63],
        1j,
        b"bytes",
        {"a": 1},
        [1, "a"],
        [[1], [2]],
        [None],
        object(),
    ],
)
def test_what_no_attribute_can_hold_is_refused_by_its_name(value):
    with pytest.raises(fl.InvalidArgument, match=r"attribute 'odd'.*allowed"):
        plain({"odd": value})


def test_series_attributes_may_be_set_anew_between_steps(tmp_path):
    with (
        fl.open("attrs", "w", readers=0, directory=tmp_path) as writer,
        fl.open("attrs", directory=tmp_path) as reader,
    ):
        seen = []
        for cell in (np.zeros(3), np.zeros(3), np.ones(3)):
            writer.attrs["cell"] = cell
            with writer.step():
                pass
            reader.next()
            seen.append(reader.attrs["cell"])
        writer.attrs["cell"][:] = 2  # in place
        with writer.step():
            pass
        reader.next()
        assert [*seen, reader.attrs["cell"]] == [[0] * 3, [0] * 3, [1] * 3, [2] * 3]


def test_dataset_attributes_stay_until_given_anew(tmp_path):
    with (
        fl.open("attrs", "w", readers=0, directory=tmp_path) as writer,
        fl.open("attrs", directory=tmp_path) as reader,
    ):
        seen = []
        for attrs in ({"unitSI": 2.0}, None, {"unitSI": 3.0, "axis": "x"}, {}):
            with writer.step() as step:
                step.put("x", np.zeros(1), attrs=attrs)
            seen.append(reader.next()["x"].attrs)
    assert seen == [{"unitSI": 2.0}, {"unitSI": 2.0}, {"unitSI": 3.0, "axis": "x"}, {}]


BEYOND = 2**64 - 2  # netCDF's own fill value of uint64


@pytest.mark.parametrize("file", ["beyond.h5", "beyond.nc", "beyond.bp", "beyond.zarr"])
def test_integers_beyond_int64_through_files(tmp_path, file):
    attrs = {"hash": BEYOND, "hashes": [1, BEYOND]}
    path = str(tmp_path / file)
    with fl.open(path, "w") as series:
        series.attrs.update(attrs)
        with series.step() as step:
            step.put("x", np.array([1, BEYOND], "u8"), attrs={**attrs, "_FillValue": BEYOND})
    with fl.open(path) as series:
        step = series.next()
        assert {key: series.attrs[key] for key in attrs} == attrs
        assert step["x"].attrs == {**step["x"].attrs, **attrs, "_FillValue": BEYOND}
        assert step["x"].reduce("count") == 1


@pytest.mark.parametrize("format", ["NETCDF3_64BIT_DATA", "NETCDF4"])
def test_integers_beyond_int64_of_other_programs(tmp_path, format):
    netCDF4 = pytest.importorskip("netCDF4")
    path = str(tmp_path / "other.nc")
    with netCDF4.Dataset(path, "w", format=format) as file:
        file.hash = np.uint64(BEYOND)
        file.hashes = np.array([1, BEYOND], "u8")
        file.createDimension("x", 2)
        x = file.createVariable("x", "u8", ("x",), fill_value=np.uint64(BEYOND))
        x.set_auto_mask(False)
        x[:] = np.array([1, BEYOND], "u8")
    with fl.open(path) as file:
        assert file.attrs["hash"] == BEYOND
        assert file.attrs["hashes"] == [1, BEYOND]
        assert file["x"].attrs["_FillValue"] == BEYOND
        assert file["x"].reduce("count") == 1


def test_lists_of_one_in_an_openpmd_file(tmp_path):
    attrs = {
        "axisLabels": ["z"],
        "gridSpacing": [0.5],
        "gridGlobalOffset": [1.0],
        "position": [0.0],
        "own": [7],
        "word": ["a"],
        "single": 7,
    }
    path = str(tmp_path / "line.h5")
    with fl.open(path, "w") as series, series.step() as step:
        step.put("meshes/rho", np.ones(3), attrs=attrs)
    with fl.open(path) as series:
        read = series.next()["meshes/rho"].attrs
        assert {key: read[key] for key in attrs} == attrs
        assert read["unitSI"] == 1.0


def test_lists_of_one_text_for_formats_without_them(tmp_path):
    path = str(tmp_path / "run.h5")
    with fl.open(path, "w") as series, series.step(time=0.0) as step:
        step.put("rho", np.ones(3), attrs={"units": ["m"], "own": ["a"]})
    with fl.open(path) as file:
        found = file.next()["rho"].attrs
        assert (found["units"], found["own"]) == ("m", ["a"])  # CF has one unit
    for suffix in ("nc", "nc4"):
        out = str(tmp_path / f"out.{suffix}")
        fl.pipe(path, out)
        with fl.open(out) as file:
            assert (file["rho"].attrs["units"], file["rho"].attrs["own"]) == ("m", "a")


def test_elsewhere_in_hdf5_a_list_of_one_is_a_scalar(tmp_path):
    with h5py.File(tmp_path / "plain.h5", "w") as file:
        file["x"] = np.ones(3)
        file["x"].attrs["scale_factor"] = [2.0]
    with fl.open(str(tmp_path / "plain.h5")) as file:
        assert file["x"].attrs["scale_factor"] == 2.0
        assert np.asarray(file["x"].read()).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("name", ["live", "run.h5"])
def test_no_attributes_at_all_take_the_place_of_earlier_ones(tmp_path, name):
    said = [{"units": "K"}, None, {}, None]
    live = {"directory": tmp_path} if name == "live" else {}
    name = name if live else str(tmp_path / name)
    found = []

    def read():
        with fl.open(name, **live) as series:
            for _ in said:
                step = series.next()
                found.append([step[put].attrs.get("units") for put in ("put", "span")])

    with fl.open(name, "w", **live, **({"readers": 0} if live else {})) as writer:
        for attrs in said:
            with writer.step() as step:
                step.put("put", np.zeros(2), attrs=attrs)
                step.span("span", "f8", (2,), attrs=attrs)[...] = 0
        if live:
            read()
    if not live:
        read()
    assert found == [["K", "K"], ["K", "K"], [None, None], [None, None]]
