# SPDX-License-Identifier: Apache-2.0
"""Calls of pools, tasks and commands, with right arguments."""

from __future__ import annotations

import contextlib
import pathlib
from typing import Any

from wrong_calls.table import Call

import fluvial as fl


def pools(folder: pathlib.Path) -> list[Call]:
    """Return what makes pools, and submits to them."""
    return [*making(folder), *submitting(), *commands(folder), *measuring()]


def making(folder: pathlib.Path) -> list[Call]:
    """Return what makes a pool of this process alone."""

    def make(**arguments: Any) -> None:
        with fl.Pool(**arguments) as pool:
            pool.submit(abs, -1).result()

    right: dict[str, Any] = {
        **{"comm": None, "initializer": max, "initargs": (1, 2), "stall_timeout": 30.0},
        **{
            "stuck_after": 30.0,
            "lead_works": False,
            "servers": 1,
            "audit": False,
            "progress": False,
        },
    }
    timeline = str(folder / "timeline.json")
    return [
        Call("Pool", make, right),
        Call("Pool", make, {"trace": timeline}),
        Call("Pool", make, {"journal": str(folder / "journal")}),
        Call("Pool", make, {"max_workers": None}),
    ]


def submitting() -> list[Call]:
    """Return what submits tasks."""
    options: dict[str, Any] = {
        **{"ranks": 1, "priority": 1.0, "near": 0, "on_host": False, "strict": False},
        **{"cost": 0.1, "timeout": 60.0, "retries": 1, "kind": "k", "key": None, "fresh": True},
    }

    def submit(**arguments: Any) -> None:
        with fl.Pool() as pool:
            pool.with_options(**arguments).submit(abs, -1).result(timeout=30)

    def one_of_several(**arguments: Any) -> None:
        with fl.Pool() as pool, contextlib.suppress(TimeoutError):  # raised by a short limit
            list(pool.map(arguments.pop("fn"), [-1, 2], **arguments))

    def function(fn: Any) -> None:
        with fl.Pool() as pool:
            pool.submit(fn, -1).result(timeout=30)

    def task(**arguments: Any) -> None:
        fl.task(arguments.pop("function"), -1).with_options(**arguments)

    return [
        Call("Pool.with_options", submit, options),
        Call("Pool.with_options", fl.task(abs, -1).with_options, options),
        Call("Pool.submit", function, {"fn": abs}),
        Call("Pool.map", one_of_several, {"fn": abs, "chunksize": 1, "timeout": 30.0}),
        Call("Pool.map", one_of_several, {"fn": abs, "buffersize": 2, "unordered": False}),
        Call("task", task, {"function": abs, "ranks": range(1, 4)}),
        Call("parallel", fl.parallel, {"function": lambda comm: comm}),
    ]


def commands(folder: pathlib.Path) -> list[Call]:
    """Return what runs a program."""
    right: dict[str, Any] = {
        **{"args": ["true"], "input": "text", "stdout": str(folder / "out"), "cwd": str(folder)},
        **{"env": {"A": "b"}, "timeout": 30.0, "files": {"a": "text"}, "outputs": ["a"]},
    }
    return [Call("command", fl.command, right)]


def measuring() -> list[Call]:
    """Return what measures a network, of this process alone."""
    from mpi4py import MPI

    right = {"comm": MPI.COMM_SELF, "seconds": 0.01, "timeout": 10.0, "progress": None}
    return [Call("route.measure", fl.route.measure, right)]
