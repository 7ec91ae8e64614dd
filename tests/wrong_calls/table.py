# SPDX-License-Identifier: Apache-2.0
"""Every public call with arguments that are right, for tests that make them wrong."""

from __future__ import annotations

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


def reductions_of(name: str, dataset: Any, over: object) -> list[Call]:
    """Return the common reductions of something, named as NumPy's."""
    right: dict[str, Any] = {"over": over, "skipna": True}
    plain = ("sum", "prod", "count", "mean", "min", "max", "median")
    return [
        *(Call(f"{name}.{kind}", getattr(dataset, kind), right) for kind in plain),
        Call(f"{name}.std", dataset.std, right | {"ddof": 1}),
        Call(f"{name}.var", dataset.var, right | {"ddof": 1}),
        Call(f"{name}.quantile", dataset.quantile, right | {"q": 0.5}),
        Call(f"{name}.quantile", dataset.quantile, {"q": [0.1, 0.9], "over": over}),
    ]


def ways_to_name_axes(name: str, reduce: Callable[..., Any], more: dict[str, Any]) -> list[Call]:
    """Return a reduction by `axis`, as NumPy has it, and by `dim`, as xarray has it."""
    right = {"op": "mean", **more}
    return [Call(name, reduce, right | {"axis": 0}), Call(name, reduce, right | {"dim": 0})]


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
        *ways_to_name_axes("reduce", fl.reduce, {"arrays": data, "min_count": 1}),
        Call("DataArray.fluvial.reduce", labelled.fluvial.reduce, {"op": "mean", "dim": "lat"}),
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
    writer |= {"on_stalled_reader": "evict", "reserve": 1, "steps_to": "all"}
    elsewhere = {"network": "off", "ports": "20000-40000", "encrypt": True}
    reader = {"start": "oldest", "resume": None, "transport": "auto", "contact": None}
    reader |= {"interfaces": "auto", "fetch": "once", "full": "block"}
    (folder / "kept").mkdir()
    kept = {"spill": None, "retain": str(folder / "kept")}
    spilled = {"full": "spill", "spill": str(folder), "spill_bytes": "1 MiB"}
    with fl.open("ended", "w", readers=0, directory=folder, retain=folder / "kept") as series:
        series.step().__exit__(None, None, None)
    ended = {"name": "ended", "directory": str(folder), "retained": str(folder / "kept"), **times}
    common = {"name": "s", "comm": None, "directory": str(folder), **times}
    (folder / "t1.nc").write_bytes((folder / "t.nc").read_bytes())
    files = {"name": [str(folder / "t.nc")], "comm": None, "decode": True}
    alone = common | {"mode": "w", "readers": 0}
    return [
        Call("open a writer", open_one, common | {"mode": "w"} | writer),
        Call("open a writer for others", open_one, alone | elsewhere),
        Call("open a writer that keeps", open_one, alone | kept),
        Call("open a writer that spills", open_one, alone | spilled),
        Call("open with options", open_one, alone | {"options": {}}),
        Call("open a reader", open_reader, common | reader),
        Call("open what was retained", open_one, ended),
        Call("open a file", open_one, files),
        Call("open a file apart", open_one, files | {"isolated": False, "follow": False}),
        Call("open a file by its engine", open_one, files | {"engine": "netcdf", "start": "next"}),
        Call("open numbered files", open_one, {"name": str(folder / "t%T.nc"), "decode": True}),
        Call("open a raw file", open_one, files | {"name": [folder / "raw.bin"], "raw": [raw]}),
        Call("raw layout", open_raw, raw),
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
        Call("distribute.Distribution.metrics", made.metrics, {"layer": "host"}),
    ]
