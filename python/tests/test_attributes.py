# SPDX-License-Identifier: Apache-2.0
"""Attributes on their way through a stream: what goes in comes out, or is refused by name."""

import math

import numpy as np
import pytest
from fluvial.describe.attributes import plain

import fluvial as fl

VALUES = {
    "bool": True,
    "int": -5,
    "most": 2**63 - 1,
    "least": -(2**63),
    "float": 1e-10,
    "whole float": 1.0,
    "infinite": math.inf,
    "text": "Ångström\nand more",
    "empty text": "",
    "ints": [1, -2],
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
    }
    expected = {
        "scalar": 0.5,
        "flag": True,
        "array": [0, 1, 2],
        "matrix": [1.0, 0.0, 0.0, 1.0],
        "tuple": [1.0, 2.5],
        "strings": ["a", "b"],
    }
    assert all(got == expected for got in through_a_stream(tmp_path, attrs))


@pytest.mark.parametrize(
    "value",
    [
        None,
        2**63,
        -(2**63) - 1,
        1j,
        b"bytes",
        {"a": 1},
        [1, "a"],
        [[1], [2]],
        [None],
        np.uint64(2**63),
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
    assert seen == [{"unitSI": 2.0}, {"unitSI": 2.0}, *[{"unitSI": 3.0, "axis": "x"}] * 2]
