# SPDX-License-Identifier: Apache-2.0
"""Calls of steps that are written and read, with right arguments."""

from __future__ import annotations

import itertools
import pathlib
from typing import Any

import numpy as np
import xarray as xr
from wrong_calls.table import Call, reductions_of, ways_to_name_axes

import fluvial as fl


def of_steps(step: Any) -> list[Call]:
    """Return the calls of a step that is read."""
    dataset, times = step["x"], step["times"]
    reduction = {"over": 0, "selection": np.s_[0:2], "skipna": False, "local": True}
    reduction |= {"weights": np.ones((2, 3)), "where": np.ones((2, 3), bool)}

    def start(**arguments: Any) -> None:
        dataset.start(**arguments).wait()

    chosen = dataset.where("x > 0")
    by_name = {"over": "y", "selection": np.s_[0:2], "skipna": True, "where": "x > 1"}
    by_name |= {"weights": {"y": [1.0, 2.0]}, "min_count": 1, "local": True}
    weights = {"y": [1.0, 2.0, 3.0, 4.0]}
    return [
        Call("ReadSeries.host_of", step.series.host_of, {"rank": 0}),
        Call("ReadStep.host_of", step.host_of, {"rank": 0}),
        Call("ReadStep[]", step.__getitem__, {"name": "x"}),
        Call("ReadStep.get", step.get, {"key": "x", "default": None}),
        Call("ReadStep.__contains__", step.__contains__, {"name": "x"}),
        Call("ReadStep.reduce", step.reduce, {"op": "mean", "inputs": "x", **reduction}),
        Call("Dataset.reduce", dataset.reduce, {"op": "mean", **reduction}),
        *ways_to_name_axes("ReadStep.reduce", step.reduce, {"inputs": "x", "min_count": 1}),
        *ways_to_name_axes("Dataset.reduce", dataset.reduce, {"min_count": 1}),
        Call("ReadStep.read", step.read, {"names": [dataset.name], "selection": np.s_[0:2, 1]}),
        Call("Dataset.read", dataset.read, {"selection": np.s_[0:2, 1]}),
        Call("Dataset.stored", dataset.stored, {"selection": np.s_[0:2, 1]}),
        Call("Dataset[]", dataset.__getitem__, {"selection": np.s_[0]}),
        Call("Dataset.__array__", dataset.__array__, {"dtype": "f4", "copy": None}),
        Call("Dataset.slab", dataset.slab, {"rank": 0, "size": 2}),
        Call("Dataset.axes", dataset.axes, {"over": 0}),
        Call("Dataset.mine", dataset.mine, {"strategy": "blocks", "own": None}),
        Call("ReadStep.mine", step.mine, {"strategy": "blocks", "names": ["x"], "own": None}),
        Call("Dataset.isel", dataset.isel, {"indexers": {"y": 0}}),
        Call("Dataset.isel", lambda y: dataset.isel(y=y), {"y": 0}),
        Call("Dataset.sel", dataset.sel, {"indexers": {}, "method": None, "tolerance": None}),
        Call("Dataset.sel", lambda y: dataset.sel(y=y), {"y": slice(0, 2)}),
        Call("Dataset.where", dataset.where, {"condition": "x > 0"}),
        Call("Dataset.weighted", dataset.weighted, {"weights": weights}),
        Call("StepDataset.reduce", chosen.reduce, {"op": "mean", **by_name}),
        *ways_to_name_axes("StepDataset.reduce", chosen.reduce, {"keep_attrs": True}),
        Call(
            "Dataset.start",
            lambda **wrong: dataset.start(**wrong).wait(),
            {"op": "mean", "over": 0},
        ),
        Call("Dataset.groupby", times.groupby, {"key": "time.month"}),
        Call("Dataset.resample", lambda time: times.resample(time=time), {"time": "MS"}),
        *reductions_of("Dataset", dataset, 0),
    ]


def of_series(folder: pathlib.Path) -> list[Call]:
    """Return what begins a step."""
    numbers = itertools.count()

    def begin(**arguments: Any) -> None:
        name = f"begun{next(numbers)}"
        with (
            fl.open(name, "w", readers=0, directory=folder) as series,
            series.step(**arguments) as step,
        ):
            step.put("x", np.arange(3.0))

    step = {"time": 0.5, "dt": 0.1, "attrs": {"a": 1}}
    more = {"iteration": 3, "groups": {"meshes": {"a": 1}}}
    return [Call("WriteSeries.step", begin, step), Call("WriteSeries.step", begin, more)]


def of_writers(step: Any) -> list[Call]:
    """Return the calls of a step that is written; it stays open."""
    names = (f"x{number}" for number in itertools.count())
    data = np.arange(4.0)
    chunk = {"offset": (0,), "shape": (8,), "attrs": {"units": "m"}}

    def put(**arguments: Any) -> None:
        step.put(**({"name": next(names)} | arguments))

    def put_together(**arguments: Any) -> None:
        step.put({next(names): arguments.pop("array"), next(names): data}, **arguments)

    def span(**arguments: Any) -> None:
        step.span(**({"name": next(names)} | arguments))

    labelled = xr.DataArray(data, dims="lat", attrs={"units": "K"})
    return [
        Call("WriteStep.put", put, {"array": data, **chunk}),
        Call("WriteStep.put", put, {"name": "y", "array": data}),
        Call("WriteStep.put of a mapping", put_together, {"array": data, **chunk}),
        Call("WriteStep.put of a DataArray", put, {"array": labelled, "attrs": {}}),
        Call("WriteStep.span", span, {"dtype": "f8", "count": (4,), **chunk}),
        Call("WriteStep.span", span, {"name": "z", "dtype": "f8", "count": (4,)}),
    ]
