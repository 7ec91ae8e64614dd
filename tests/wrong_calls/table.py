# SPDX-License-Identifier: Apache-2.0
"""Every public call with arguments that are right, for tests that make them wrong."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import pathlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import fluvial as fl


class Call(NamedTuple):
    """A function and arguments for which it works."""

    name: str
    function: Callable[..., Any]
    right: dict[str, Any]

    def with_one_wrong(self, values: dict[str, Callable[[], Any]]) -> Iterator[tuple[str, dict]]:
        """Yield, with a label, the arguments with each replaced by each value in turn."""
        for parameter, (kind, value) in itertools.product(self.right, values.items()):
            yield f"{self.name}({parameter}={kind})", self.right | {parameter: value()}

    def with_two_swapped(self) -> Iterator[tuple[str, dict]]:
        """Yield, with a label, the arguments with two of them in each other's place."""
        for a, b in itertools.combinations(self.right, 2):
            swapped = self.right | {a: self.right[b], b: self.right[a]}
            yield f"{self.name}({a} and {b} swapped)", swapped


SCAN = {"comm": None, "local": True, "mode": "collective", "shuffle": "common", "threads": 1}
SCAN |= {"aggregators": 1, "buffer": "1 MiB", "read_ahead": 0, "memory": "1 MiB", "info": {}}


def operators() -> list[Call]:
    """Return what makes and uses operators."""
    ops = fl.ops
    edges = [0.0, 1.0, 2.0]
    declared = {"name": "f", "version": "1"}
    sq = {"stride": 1, "precision": "float64", "bytes_max": 1e6, "kernel": ""}
    camera = {"wavelength": 1.0, "distance": 9.0, "pixels": (3, 2), "pixel": 1.0, "beam_at": (0, 1)}
    camera |= {"beam": (0, 0, 1), "sides": ((0, 1, 0), (1, 0, 0)), "bytes_max": 1e6}
    factors = {"form_factors": {1: "Fe"}, "angstrom": 1.0}
    calls = [
        Call("ops.resolve", ops.resolve, {"spec": "mean", "skipna": False}),
        Call("ops.Histogram", ops.Histogram, {"edges": edges}),
        Call("ops.Histogram2D", ops.Histogram2D, {"edges_x": edges, "edges_y": edges}),
        Call("ops.TopK", ops.TopK, {"k": 2, "largest": True}),
        Call("ops.Variance", ops.Variance, {"ddof": 1}),
        Call("ops.Std", ops.Std, {"ddof": 1}),
        Call("ops.Norm", ops.Norm, {"p": 2}),
        Call(
            "ops.Apply",
            ops.Apply,
            dict(function=np.abs, op="max", inputs=1, dtype="f8", **declared),
        ),
        Call("ops.FromMPI", ops.FromMPI, dict(address=4096, dtype="f8", datatype=0, **declared)),
        Call("ops.StructureFactor", ops.StructureFactor, dict(box=(4, 4, 4), q_max=4.0, **sq)),
        Call(
            "ops.StructureFactor.detector",
            ops.StructureFactor.detector,
            dict(box=(4, 4, 4), q_max=(4, 4), axes=(0, 1), **sq),
        ),
        Call(
            "ops.StructureFactor.plane",
            ops.StructureFactor.plane,
            dict(a=(1, 0, 0), b=(0, 1, 0), counts=(2, 2), precision="float64", bytes_max=1e6),
        ),
        Call("ops.FormFactor.of", ops.FormFactor.of, {"element": "Fe"}),
        Call("ops.StructureFactor.camera", ops.StructureFactor.camera, camera | factors),
        Call("ops.StructureFactor.at", ops.StructureFactor.at, dict(q=[[1, 0, 0]], bytes_max=1e6)),
    ]
    takes_quantile = inspect.signature(ops.Quantile).parameters
    right = {"q": 0.5} | ({"accuracy": 0.01} if "accuracy" in takes_quantile else {})
    calls.append(Call("ops.Quantile", ops.Quantile, right))
    return calls + partials()


def partials() -> list[Call]:
    """Return operators used by hand."""
    data = np.arange(6.0)
    calls = []
    for op in (fl.ops.Mean(), fl.ops.Histogram([0.0, 1.0, 2.0]), fl.ops.Quantile(0.5)):
        kind = type(op).__name__
        identity = {"shape": (6,), "dtypes": ["float64"], "over": [0], "offset": (0,)}
        whole = {"arrays": [data], "offset": (0,), "weights": np.ones(6), "mask": data > 1}

        def made(op: Any = op, length: int = 6) -> Any:
            partial = op.identity((length,), ["float64"])
            op.absorb(partial, [np.arange(float(length))])
            return partial

        def absorb(op: Any = op, make: Any = made, **arguments: Any) -> None:
            op.absorb(**({"partial": make()} | arguments))

        def merge(op: Any = op, make: Any = made, **arguments: Any) -> None:
            op.merge(**({"a": make(), "b": make()} | arguments))

        def decode(make: Any = made, **arguments: Any) -> None:
            make().decode(**arguments)

        calls += [
            Call(f"{kind}.identity", op.identity, identity),
            Call(f"{kind}.absorb", absorb, whole),
            Call(f"{kind}.absorb", absorb, {"partial": made()} | whole),
            Call(f"{kind}.merge", merge, {"a": made(), "b": made()}),
            Call(f"{kind}.finish", op.finish, {"partial": made()}),
            Call(f"{kind}.decode", decode, {"encoded": made().encode()}),
        ]
    return calls


def reductions() -> list[Call]:
    """Return reductions of what is in memory."""
    data = np.arange(12.0).reshape(3, 4)
    labelled = xr.DataArray(data, dims=("time", "lat"), coords={"lat": [1.0, 2.0, 3.0, 4.0]})
    ones = {"weights": np.ones((3, 4)), "mask": np.ones((3, 4), bool), "skipna": False}
    right = {"op": "mean", "arrays": data, "over": 0, "comm": None, **ones}
    pattern = fl.reduce(
        fl.ops.StructureFactor(box=(4, 4, 4), q_max=4), list(np.arange(9.0).reshape(3, 3))
    )
    return [
        Call("reduce", fl.reduce, right),
        Call("reduce of a DataArray", fl.reduce, right | {"arrays": labelled, "over": "time"}),
        Call("reduce of a list", fl.reduce, right | {"op": ["min", "max"], "arrays": [data, data]}),
        Call("DataArray.fluvial.reduce", labelled.fluvial.reduce, {"op": "mean", "dim": "lat"}),
        Call(
            "Dataset.fluvial.reduce",
            xr.Dataset({"t": labelled}).fluvial.reduce,
            {"op": "mean", "dim": "lat"},
        ),
        Call("ScatteringPattern.radial", pattern.radial, {"bins": 3, "dq": None}),
        Call("ScatteringPattern.peak", pattern.peak, {"hkl": (1, 0, 0), "cells": 1}),
    ]


def opening(folder: pathlib.Path) -> list[Call]:
    """Return what opens series and files."""
    times = {"rendezvous_timeout": 0.01, "step_timeout": 0.01, "stall_timeout": 1.0}
    numbers = itertools.count()

    def open_one(**arguments: Any) -> None:
        if isinstance(arguments["name"], str) and arguments["name"] == "s":
            arguments["name"] = f"s{next(numbers)}"
        opened = fl.open(**arguments)
        opened.close()

    def open_reader(**arguments: Any) -> None:
        """Of a stream that is there, whatever else is wrong."""
        with fl.open("live", "w", readers=0, directory=folder):
            opened = fl.open(**arguments | ({"name": "live"} if arguments["name"] == "s" else {}))
            opened.close()

    raw = {"dtype": "f8", "shape": (3,), "name": "x", "dims": ["n"], "offset": 0, "attrs": {}}
    (folder / "raw.bin").write_bytes(np.arange(3.0).tobytes())

    def open_raw(**layout: Any) -> None:
        fl.open(folder / "raw.bin", raw=layout).close()

    writer = {"queue_steps": 2, "queue_bytes": "1 MiB", "full": "block", "readers": 0}
    writer |= {"on_stalled_reader": "evict"}
    elsewhere = {"network": "off", "ports": "20000-40000", "encrypt": True}
    reader = {"start": "oldest", "resume": None, "transport": "auto", "contact": None}
    (folder / "kept").mkdir()
    kept = {"spill": None, "spill_bytes": "1 MiB", "retain": str(folder / "kept")}
    common = {"name": "s", "comm": None, "directory": str(folder), **times}
    (folder / "t1.nc").write_bytes((folder / "t.nc").read_bytes())
    files = {"name": [str(folder / "t.nc")], "comm": None, "decode": True}
    alone = common | {"mode": "w", "readers": 0}
    return [
        Call("open a writer", open_one, common | {"mode": "w"} | writer),
        Call("open a writer for others", open_one, alone | elsewhere),
        Call("open a writer that keeps", open_one, alone | kept),
        Call("open with options", open_one, alone | {"options": {}}),
        Call("open a reader", open_reader, common | reader),
        Call("open a file", open_one, files),
        Call("open a file by its engine", open_one, files | {"engine": "netcdf", "start": "next"}),
        Call("open numbered files", open_one, {"name": str(folder / "t%T.nc"), "decode": True}),
        Call("open a raw file", open_one, files | {"name": [folder / "raw.bin"], "raw": [raw]}),
        Call("raw layout", open_raw, raw),
    ]


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

    whole = {"offset": (0,), "shape": (4,), "attrs": {"gridSpacing": [1.0], "unitSI": 2.0}}
    return [
        Call("FileWriteStep.put into netCDF", put_record, {"array": data, **whole}),
        Call("FileWriteStep.put", put, {"array": data, **whole}),
        Call("FileWriteStep.put", put, {"name": "y", "array": data}),
        Call("FileWriteStep.span", span, {"dtype": "f8", "count": (4,), **whole}),
        Call("FileWriteSeries.step", begin, {"time": 0.5, "dt": 0.1, "attrs": {"a": 1}}),
        Call(
            "FileWriteSeries.step",
            begin,
            {"iteration": 10, "groups": {"meshes": {"solver": "Yee"}}},
        ),
    ]


def distribution() -> list[Call]:
    """Return what assigns chunks to readers."""
    chunks = [((0,), (4,), 0, "node1"), ((4,), (4,), 1, {"host": "node2", "socket": 0})]
    made = fl.distribute.assign(chunks, 2)
    own = {"mine": lambda chunks, readers: [(0, chunk) for chunk in chunks]}
    right = {"chunks": chunks, "readers": 2, "strategy": "mine", "own": own, "itemsize": 8}
    return [
        Call("distribute.assign", fl.distribute.assign, right),
        Call("distribute.assign", fl.distribute.assign, {"chunks": chunks, "readers": ["a", "b"]}),
        Call("distribute.describe", fl.distribute.describe, {"strategy": "mine", "own": own}),
        Call("Distribution.metrics", made.metrics, {"layer": "host"}),
    ]


def of_steps(step: Any) -> list[Call]:
    """Return the calls of a step that is read."""
    dataset = step["x"]
    reduction = {"over": 0, "selection": np.s_[0:2], "skipna": False, "local": True}
    reduction |= {"weights": np.ones((2, 3)), "where": np.ones((2, 3), bool)}
    return [
        Call("ReadStep[]", step.__getitem__, {"name": "x"}),
        Call("ReadStep.get", step.get, {"key": "x", "default": None}),
        Call("ReadStep.__contains__", step.__contains__, {"name": "x"}),
        Call("ReadStep.reduce", step.reduce, {"op": "mean", "inputs": "x", **reduction}),
        Call("Dataset.reduce", dataset.reduce, {"op": "mean", **reduction}),
        Call("ReadStep.read", step.read, {"names": [dataset.name], "selection": np.s_[0:2, 1]}),
        Call("Dataset.read", dataset.read, {"selection": np.s_[0:2, 1]}),
        Call("Dataset.stored", dataset.stored, {"selection": np.s_[0:2, 1]}),
        Call("Dataset[]", dataset.__getitem__, {"selection": np.s_[0]}),
        Call("Dataset.__array__", dataset.__array__, {"dtype": "f4", "copy": None}),
        Call("Dataset.slab", dataset.slab, {"rank": 0, "size": 2}),
        Call("Dataset.axes", dataset.axes, {"over": 0}),
        Call("Dataset.mine", dataset.mine, {"strategy": "blocks", "own": None}),
        Call("ReadStep.mine", step.mine, {"strategy": "blocks", "names": ["x"], "own": None}),
    ]


def of_files(file: Any) -> list[Call]:
    """Return the calls of a file and of its datasets."""
    dataset = file["t"]
    reduction = {"over": "time", "skipna": True, "min_count": 1, "weights": "cos(lat)"}
    reduction |= {"where": "value > 0", **SCAN}
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
        Call("FileDataset.read", dataset.read, {"selection": np.s_[0]}),
        Call("FileDataset[]", dataset.__getitem__, {"selection": np.s_[0]}),
        Call("FileDataset.__array__", dataset.__array__, {"dtype": "f4", "copy": None}),
        Call("GroupedDataset.reduce", grouped.reduce, {"op": "mean", "over": "time", **SCAN}),
    ]


def of_channels() -> list[Call]:
    """Return the calls of channels and streams in a program of one rank."""

    def channel(**arguments: Any) -> None:
        fl.Channel(**arguments).close()

    @contextlib.contextmanager
    def one() -> Iterator[fl.Channel]:
        made = fl.Channel(None, producer=True, consumer=True, timeout=10)
        try:
            yield made
        finally:
            with contextlib.suppress(fl.Error):
                made.close()

    def stream(**arguments: Any) -> None:
        with one() as made:
            made.stream(**arguments)

    def threshold(**arguments: Any) -> None:
        with one() as made:
            made.threshold(**arguments)

    def contribute(value: Any) -> None:
        with one() as made:
            made.threshold(1.0).contribute(value)

    def call(method: str, bytes_max: int | None = None) -> Callable[..., None]:
        def called(**arguments: Any) -> None:
            with one() as made:
                opened = made.stream(op=None if bytes_max else "mean", bytes_max=bytes_max)
                getattr(opened, method)(**arguments)

        return called

    def reserve_and_commit(count: Any) -> None:
        with one() as made:
            opened = made.stream(op="mean")
            opened.reserve(1)[:] = 0
            try:
                opened.commit(count)
            except Exception:
                opened.commit(0)
                raise

    element = {"name": "s", "dtype": "f8", "shape": (2,), "op": "mean", "over": None}
    element |= {"buffer_bytes": 0, "association": "nearest", "key": None, "latency": 1e-3}
    options = {"producer": True, "consumer": True, "shared_memory": True}
    options |= {"timeout": 10.0, "trace_file": ""}
    return [
        Call("Channel", channel, {"comm": None, **options}),
        Call("Channel.stream", stream, element | {"result_on_producers": True}),
        Call("Channel.stream", stream, {"name": "s", "bytes_max": 8, "op": None}),
        Call("Channel.threshold", threshold, {"limit": 1.0, "rounds_ahead": 4}),
        Call("Channel.threshold", threshold, {"judge": lambda *_: True, "merge": max}),
        Call("Threshold.contribute", contribute, {"value": 2.0}),
        Call("Stream.send", call("send"), {"data": 1.0}),
        Call("Stream.send", call("send", 8), {"data": b"x"}),
        Call("Stream.isend", call("isend", 8), {"data": b"x"}),
        Call("Stream.reserve", call("reserve"), {"count": 1}),
        Call("Stream.commit", reserve_and_commit, {"count": 1}),
        Call("Stream.operate_some", call("operate_some"), {"bytes_max": 8}),
    ]
