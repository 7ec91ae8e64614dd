# SPDX-License-Identifier: Apache-2.0
"""Calls of files that are written and read, with right arguments."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
from wrong_calls.table import SCAN, Call, reductions_of, ways_to_name_axes

import fluvial as fl


def of_files(file: Any) -> list[Call]:
    """Return the calls of a file and of its datasets."""
    dataset = file["t"]
    reduction = {"over": "time", "skipna": True, "min_count": 1, "weights": "cos(lat)"}
    reduction |= {"where": "value > 0", **SCAN}
    whole = {"op": "mean", **reduction}
    some = {"sel": {"lat": slice(0, 40)}, "isel": {"lon": slice(0, 2)}}
    selections = {"sel": {"lat": slice(0, 40)}, "isel": {"time": 0}}
    grouped = dataset.groupby("time.month")
    return [
        Call("File[]", file.__getitem__, {"name": "t"}),
        Call("File.get", file.get, {"key": "t", "default": None}),
        Call("File.reduce", file.reduce, {"op": "mean", "inputs": "t", **selections, **SCAN}),
        Call(
            "FileStep.mine", file.steps[0].mine, {"strategy": "blocks", "names": ["t"], "own": None}
        ),
        Call("FileDataset.mine", dataset.mine, {"strategy": "blocks", "own": None}),
        Call("FileSteps[]", file.steps.__getitem__, {"at": 0}),
        Call("FileStep[]", file.steps[0].__getitem__, {"name": "t"}),
        Call("FileStep.reduce", file.steps[0].reduce, {"op": "mean", "inputs": "t", "over": "lat"}),
        Call("File.reduce", file.reduce, {"op": "mean", "inputs": ["t"], **reduction}),
        Call("FileDataset.reduce", dataset.reduce, {"op": "mean", "selection": ..., **reduction}),
        Call("FileDataset.isel", lambda time: dataset.isel(time=time), {"time": 0}),
        Call("FileDataset.isel", dataset.isel, {"indexers": {"time": 0}}),
        Call("FileDataset.sel", lambda lat: dataset.sel(lat=lat), {"lat": 0.0}),
        Call(
            "FileDataset.sel",
            dataset.sel,
            {"indexers": {"lat": 1.0}, "method": "nearest", "tolerance": 5.0},
        ),
        Call("FileDataset.where", dataset.where, {"condition": "t > 0"}),
        Call("FileDataset.weighted", dataset.weighted, {"weights": {"lat": [1.0, 2.0, 3.0]}}),
        Call("FileDataset.weighted", lambda w: dataset.weighted({"lat": w}), {"w": [1, 2, 3]}),
        Call("FileDataset.groupby", dataset.groupby, {"key": "time.month"}),
        Call("FileDataset.resample", lambda time: dataset.resample(time=time), {"time": "MS"}),
        Call("FileDataset.slab", dataset.slab, {"rank": 0, "size": 2}),
        Call("FileDataset.stored", dataset.stored, {"selection": np.s_[0]}),
        Call("FileDataset.isel of a list", dataset.isel, {"time": [0, 1]}),
        Call("FileDataset.sel of a slice", dataset.sel, {"lat": slice(0, 10)}),
        Call("FileStep.read", file.steps[0].read, {"names": ["t"], "selection": np.s_[0]}),
        *ways_to_name_axes("File.reduce", file.reduce, {"inputs": "t", "selection": np.s_[0:1]}),
        *ways_to_name_axes("FileDataset.reduce", dataset.reduce, {"keep_attrs": True}),
        Call("File.start", start_of(file), {"inputs": "t", **whole, **some}),
        *ways_to_name_axes("File.start", start_of(file), {"inputs": "t", "selection": np.s_[0:1]}),
        Call("FileDataset.start", start_of(dataset), {"selection": ..., **whole}),
        *ways_to_name_axes("FileDataset.start", start_of(dataset), {"min_count": 1}),
        Call("GroupedDataset.start", start_of(grouped), {"op": "mean", "over": "time"}),
        Call("GroupedDataset.reduce", grouped.reduce, {"op": "mean", "keep_attrs": True}),
        *reductions_of("FileDataset", dataset, "time"),
        Call("FileDataset.sum", dataset.sum, {"dim": "time", "keep_attrs": True}),
        Call("FileDataset.sum", dataset.sum, {"axis": 0}),
        Call("FileDataset.read", dataset.read, {"selection": np.s_[0]}),
        Call("FileDataset[]", dataset.__getitem__, {"selection": np.s_[0]}),
        Call("FileDataset.__array__", dataset.__array__, {"dtype": "f4", "copy": None}),
        Call("GroupedDataset.reduce", grouped.reduce, {"op": "mean", "over": "time", **SCAN}),
    ]


def start_of(thing: Any) -> Callable[..., Any]:
    """Return a call that starts a reduction of something, and waits for it."""
    return lambda **arguments: thing.start(**arguments).wait()


def of_file_writers(folder: pathlib.Path) -> list[Call]:
    """Return the calls that write files."""
    data = np.arange(4.0)
    numbers = itertools.count()

    def put(**arguments: Any) -> None:
        with (
            fl.open(str(folder / f"written{next(numbers)}.h5"), "w") as series,
            series.step() as step,
        ):
            step.put(**({"name": "meshes/E/x"} | arguments))

    def span(**arguments: Any) -> None:
        with fl.open(str(folder / "spans.h5"), "w") as series, series.step() as step:
            step.span(**({"name": "x"} | arguments))

    def begin(**arguments: Any) -> None:
        with fl.open(str(folder / "steps.h5"), "w") as series, series.step(**arguments):
            pass

    def put_record(**arguments: Any) -> None:
        with (
            fl.open(str(folder / f"written{next(numbers)}.nc"), "w") as series,
            series.step(time=0.5) as step,
        ):
            step.put(**({"name": "x"} | arguments))

    def write(suffix: str) -> Callable[..., None]:
        def written(**options: Any) -> None:
            path = str(folder / f"with_options{next(numbers)}.{suffix}")
            with fl.open(path, "w", **options) as series, series.step() as step:
                step.put("x", data)

        return written

    whole = {"offset": (0,), "shape": (4,), "attrs": {"gridSpacing": [1.0], "unitSI": 2.0}}
    return [
        Call("open HDF5 to write", write("h5"), {"compression": "gzip:1", "aggregators": 1}),
        Call("open HDF5 to write", write("h5"), {"file_per": "job"}),
        Call("open Zarr to write", write("zarr"), {"zarr_format": 3, "compression": "zstd"}),
        Call("FileWriteStep.put into netCDF", put_record, {"array": data, **whole}),
        Call("FileWriteStep.put", put, {"array": data, **whole}),
        Call("FileWriteStep.put", put, {"name": "y", "array": data}),
        Call("FileWriteStep.span", span, {"dtype": "f8", "count": (4,), **whole}),
        Call("FileWriteStep.span", span, {"name": "y", "dtype": "f8", "count": (4,)}),
        Call("FileWriteSeries.step", begin, {"time": 0.5, "dt": 0.1, "attrs": {"a": 1}}),
        Call(
            "FileWriteSeries.step",
            begin,
            {"iteration": 10, "groups": {"meshes": {"solver": "Yee"}}},
        ),
    ]
