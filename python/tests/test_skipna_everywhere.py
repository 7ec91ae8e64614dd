# SPDX-License-Identifier: Apache-2.0
"""The same numbers have the same result without skipna, however they are stored."""

import h5py
import numpy as np
import pytest
import xarray as xr
from harness.ends import both_ends

import fluvial as fl

VALUES = np.array([[1, np.nan, 3, 7], [4, 5, 2, 6]], "f4")
OPERATORS = [
    *("sum", "mean", "min", "max", "count", "std", "variance", "product", "norm", "median"),
    *(
        "quantile(0.5)",
        "quantile(0.5, exact)",
        "argmin",
        "argmax",
    ),
    *(fl.ops.TopK(2), fl.ops.TopK(2, largest=False), fl.ops.Histogram([0, 3, 6])),
    *(fl.ops.Apply(np.square, "sum"), fl.ops.Apply(np.square, "count")),
]
MADE = [
    *(fl.ops.Sum(skipna=False), fl.ops.Count(skipna=False), fl.ops.TopK(2, skipna=False)),
    *(fl.ops.ArgMax(skipna=False), fl.ops.Apply(np.square, fl.ops.Mean(skipna=False))),
]


def values_of(found):
    """Return the values of a result, whatever type has it: an array, a number, Located, Counts."""
    for name in ("counts", "values", "value"):
        if not isinstance(found, np.ndarray) and hasattr(found, name):
            found = getattr(found, name)
            break
    return np.asarray(found, "f8")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The same numbers in every way, by name: what to reduce."""
    folder = tmp_path_factory.mktemp("stored")
    nan, packed = str(folder / "nan.nc"), str(folder / "packed.h5")
    whole = xr.Dataset({"v": (("y", "x"), VALUES)})
    whole.to_netcdf(nan)
    whole.to_netcdf(folder / "plain.nc", encoding={"v": {"_FillValue": None}})
    with h5py.File(packed, "w") as file:
        file["v"] = np.where(np.isnan(VALUES), -9, VALUES).astype("i2")
        file["v"].attrs["_FillValue"] = np.int16(-9)
    with (
        both_ends(folder) as (writer, reader),
        fl.open(nan) as filled,
        fl.open(str(folder / "plain.nc")) as plain,
        fl.open(packed) as integers,
        xr.open_dataset(nan) as lazy,
    ):
        with writer.step() as step:
            step.put("v", VALUES)
            step.put("f", np.nan_to_num(VALUES, nan=-9), attrs={"_FillValue": np.float32(-9)})
            step.put("p", np.where(np.isnan(VALUES), 0, VALUES))
        live = reader.next()
        yield {
            "live": live["v"],
            "live filled": live["f"],
            "live where": live["p"].where("p > 0"),
            "filled": filled["v"],
            "plain": plain["v"],
            "integers": integers["v"],
            "lazy accessor": lazy["v"].fluvial,
            "loaded accessor": lazy["v"].load().fluvial,
        }


@pytest.mark.parametrize("over", [None, 1])
@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: getattr(op, "name", str(op)))
def test_without_skipna_what_is_missing_is_nan(stored, op, over):
    wanted = values_of(fl.reduce(op, VALUES, over=over, skipna=False))
    for way, dataset in stored.items():
        along = {} if over is None else {"over": dataset_axis(dataset)}
        found = values_of(dataset.reduce(op, skipna=False, **along))
        compare(found, wanted, way)


@pytest.mark.parametrize("op", MADE, ids=lambda op: op.name)
def test_so_it_is_for_operators_that_were_made_without_it(stored, op):
    wanted = values_of(fl.reduce(op, VALUES))
    for way, dataset in stored.items():
        compare(values_of(dataset.reduce(op)), wanted, way)


def test_a_count_is_of_what_is_there(stored):
    for skipna in (None, True, False):
        assert fl.reduce("count", VALUES, skipna=skipna) == 7
        assert fl.reduce(fl.ops.Count(), VALUES, skipna=skipna) == 7
        for way, dataset in stored.items():
            assert int(dataset.reduce("count", skipna=skipna)) == 7, way
    assert fl.reduce(fl.ops.Count(skipna=False), VALUES) == 8


def dataset_axis(dataset):
    dims = getattr(dataset, "dims", None) or ("y", "x")
    return dims[1]


def compare(found, wanted, way):
    np.testing.assert_allclose(found, wanted, rtol=1e-6, err_msg=way)
