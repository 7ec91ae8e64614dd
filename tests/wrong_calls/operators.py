# SPDX-License-Identifier: Apache-2.0
"""Calls of operators, with right arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
from wrong_calls.table import Call

import fluvial as fl


def operators() -> list[Call]:
    """Return what makes and uses operators."""
    ops = fl.ops
    edges = [0.0, 1.0, 2.0]
    declared = {"name": "f", "version": "1"}
    sq = {"stride": 1, "precision": "float64", "bytes_max": 1e6, "kernel": ""}
    camera = {"wavelength": 1.0, "distance": 9.0, "pixels": (3, 2), "pixel": 1.0, "beam_at": (0, 1)}
    camera |= {"beam": (0, 0, 1), "sides": ((0, 1, 0), (1, 0, 0)), "bytes_max": 1e6}
    factors = {"form_factors": {1: "Fe"}, "angstrom": 1.0, "kernel": ""}
    calls = [
        Call("ops.resolve", ops.resolve, {"spec": "mean", "skipna": False}),
        Call("ops.Histogram", ops.Histogram, {"edges": edges}),
        Call("ops.Histogram", ops.Histogram, {"bins": 5, "range": (0.0, 1.0), "skipna": False}),
        Call(
            "ops.Histogram2D", ops.Histogram2D, {"edges_x": edges, "edges_y": edges, "skipna": True}
        ),
        Call("ops.TopK", ops.TopK, {"k": 2, "largest": True, "skipna": True}),
        Call("ops.Variance", ops.Variance, {"ddof": 1, "skipna": True}),
        Call("ops.Std", ops.Std, {"ddof": 1, "skipna": True}),
        Call("ops.Norm", ops.Norm, {"p": 2, "skipna": True}),
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
        Call("ops.StructureFactor", ops.StructureFactor, dict(box=(4, 4, 4), q_max=4.0, **factors)),
        Call(
            "ops.StructureFactor.detector",
            ops.StructureFactor.detector,
            dict(box=(4, 4, 4), q_max=(4, 4), **factors),
        ),
        Call(
            "ops.StructureFactor.plane",
            ops.StructureFactor.plane,
            dict(a=(1, 0, 0), b=(0, 1, 0), counts=(2, 2), **factors),
        ),
        Call("ops.StructureFactor.at", ops.StructureFactor.at, dict(q=[[1, 0, 0]], **factors)),
        Call("ops.FormFactor.of", ops.FormFactor.of, {"element": "Fe"}),
        Call("ops.StructureFactor.camera", ops.StructureFactor.camera, camera | factors),
        Call("ops.StructureFactor.at", ops.StructureFactor.at, dict(q=[[1, 0, 0]], bytes_max=1e6)),
    ]
    quantile: dict[str, Any] = {"q": 0.5, "accuracy": 0.01, "exact": False, "skipna": True}
    estimate = {"accuracy": 0.01, "exact": True, "skipna": True}
    calls += [
        *(
            Call(f"ops.{kind.__name__}", kind, {"skipna": True})
            for kind in (ops.Sum, ops.Mean, ops.Min, ops.Max, ops.Product, ops.Count)
        ),
        Call("ops.ArgMin", ops.ArgMin, {"skipna": True}),
        Call("ops.ArgMax", ops.ArgMax, {"skipna": True}),
        Call("ops.Quantile", ops.Quantile, quantile),
        Call("ops.Median", ops.Median, estimate),
        Call("ops.FormFactor", ops.FormFactor, {"a": (1.0,), "b": (2.0,), "c": 0.5}),
        Call("ops.wrap", ops.wrap, {"op": "mean", "arrays": {"value": np.array(1.0)}}),
        Call("ops.wrap", ops.wrap, {"op": ops.Sum(), "arrays": {"value": np.ones(3)}}),
        *(
            Call(f"ops.{type(op).__name__}.with_skipna", op.with_skipna, {"skipna": False})
            for op in (ops.Mean(), ops.Count(), ops.Apply(np.abs, "max"))
        ),
    ]
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
            Call(f"ops.{kind}.identity", op.identity, identity),
            Call(f"ops.{kind}.absorb", absorb, whole),
            Call(f"ops.{kind}.absorb", absorb, {"partial": made()} | whole),
            Call(f"ops.{kind}.merge", merge, {"a": made(), "b": made()}),
            Call(f"ops.{kind}.finish", op.finish, {"partial": made()}),
            Call(f"Partial of {kind}.decode", decode, {"encoded": made().encode()}),
        ]
    return calls
