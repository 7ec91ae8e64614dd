# SPDX-License-Identifier: Apache-2.0
"""What conditions and functions of Apply return is looked at, and what is wrong is told by name."""

import numpy as np
import pytest
import xarray as xr
from harness.ends import both_ends

import fluvial as fl

VALUES = np.arange(12.0).reshape(3, 4)


def forgets(values):
    values > 1  # noqa: B015


def first_rows(values):
    return (values > 1)[:2]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("functions")
    xr.Dataset({"v": (("y", "x"), VALUES)}).to_netcdf(folder / "v.nc")
    with both_ends(folder) as (writer, reader), fl.open(str(folder / "v.nc")) as file:
        with writer.step() as step:
            step.put("v", VALUES)
        live = reader.next()
        yield {"file": file["v"], "live": live["v"]}


@pytest.mark.parametrize("way", ["file", "live"])
def test_a_condition_returns_an_array_of_bool_of_the_same_shape(datasets, way):
    dataset = datasets[way]
    cases = [
        (forgets, "'forgets' does not return bool: got None; .* no `return`"),
        (lambda v: "no", "'.*<lambda>' does not return bool: got 'no'; .*`values > 0`"),
        (lambda v: v, r"not return bool: got an array of float64, shape \(3, 4\)"),
        (lambda v: [[True], [True, False]], "does not return bool"),
        (first_rows, r"another shape: got an array of bool, shape \(2, 4\); .*\(3, 4\)"),
        (lambda v: (v > 1)[:1], r"another shape: got an array of bool, shape \(1, 4\)"),
    ]
    for function, message in cases:
        with pytest.raises(fl.InvalidArgument, match="the condition .*" + message):
            dataset.where(function).reduce("count")
    assert dataset.where(lambda v: v > 1).reduce("count") == 10
    assert dataset.where(lambda v: True).reduce("count") == 12
    assert dataset.where(lambda v: (v > 1).tolist()).reduce("count") == 10
    with pytest.raises(ZeroDivisionError):
        dataset.where(lambda v: 1 // 0).reduce("count")


@pytest.mark.parametrize("dtype", [None, "f8"])
@pytest.mark.parametrize("way", ["array", "file", "live"])
def test_a_function_of_apply_returns_numbers_of_the_same_shape(datasets, way, dtype):
    def reduce(function):
        op = fl.ops.Apply(function, "sum", dtype=dtype)
        return fl.reduce(op, VALUES) if way == "array" else datasets[way].reduce(op)

    for function, message in [
        (forgets, "'forgets' does not return numbers: got None; .* no `return`"),
        (lambda v: "no", "'.*<lambda>' does not return numbers: got 'no'"),
        (lambda v: [None] * len(v), "does not return numbers: got "),
        (lambda v: v.ravel()[:1] if v.size > 1 else v, r"another shape: got an array of float64"),
    ]:
        with pytest.raises(fl.InvalidArgument, match="the function of Apply .*" + message):
            reduce(function)
    assert float(reduce(lambda v: v * 2)) == 132
    assert float(reduce(lambda v: 1.0)) == 12
    with pytest.raises(ZeroDivisionError):
        reduce(lambda v: 1 // 0)
