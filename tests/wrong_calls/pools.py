# SPDX-License-Identifier: Apache-2.0
"""Calls of pools, tasks and commands, with right arguments."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Callable
from typing import Any

from fluvial.flow.options import TaskOptions, changed_options
from wrong_calls.table import Call

import fluvial as fl


def pools(folder: pathlib.Path) -> list[Call]:
    """Return what makes pools, and submits to them."""
    calls = [*making(folder), *submitting(), *several_at_once(), *waiting(folder)]
    return [*calls, *commands(folder), *measuring()]


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
        Call("Pool", make, {"max_workers": None, "resources": {"gpu": 1}}),
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
        Call("Task.with_options", fl.task(abs, -1).with_options, options),
        Call("Pool.submit", function, {"fn": abs}),
        Call("Pool.map", one_of_several, {"fn": abs, "chunksize": 1, "timeout": 30.0}),
        Call("Pool.map", one_of_several, {"fn": abs, "buffersize": 2, "unordered": False}),
        Call("task", task, {"function": abs, "ranks": range(1, 4)}),
        Call("parallel", fl.parallel, {"function": lambda comm: comm}),
    ]


def several_at_once() -> list[Call]:
    """Return what submits tasks by other ways than `Pool.submit`."""
    options = changed_options(TaskOptions(), {"kind": "k"})

    def starmap(**arguments: Any) -> None:
        with fl.Pool() as pool, contextlib.suppress(TimeoutError):  # raised by a short limit
            list(pool.starmap(**arguments))

    def together(task: Any) -> None:
        with fl.Pool() as pool:
            pool.together(task).result(timeout=30)

    def submit(method: str) -> Callable[..., None]:
        def called(**arguments: Any) -> None:
            with fl.Pool() as pool:
                getattr(pool, method)(**arguments).result(timeout=30)

        return called

    one = {"options": options, "function": abs, "arguments": (-1,), "keywords": {}}
    one |= {"further": False}
    tasks = {"options": options, "tasks": (fl.task(abs, -1),)}
    many = {"fn": max, "iterable": [(1, 2)], "timeout": 30.0, "chunksize": 1}
    return [
        Call("Pool.starmap", starmap, many | {"buffersize": None, "unordered": False}),
        Call("Pool.together", together, {"task": fl.task(abs, -1)}),
        Call("Pool.submit_with", submit("submit_with"), one),
        Call("Pool.submit_together", submit("submit_together"), tasks),
    ]


def waiting(folder: pathlib.Path) -> list[Call]:
    """Return the calls of futures, of timelines, and of pools that end."""

    def shutdown(**arguments: Any) -> None:
        with fl.Pool() as pool:
            pool.shutdown(**arguments)

    def of_future(method: str) -> Callable[..., None]:
        def called(**arguments: Any) -> None:
            with fl.Pool() as pool, contextlib.suppress(TimeoutError):  # raised by a short limit
                getattr(pool.submit(abs, -1), method)(**arguments)

        return called

    def own_part(future: Any = None) -> None:
        with fl.Pool() as pool:
            kept = pool.with_options(keep="parts").submit(abs, -1)
            assert pool.submit(abs, fl.own_part(future or kept)).result(timeout=30) == 1

    with fl.Pool(trace=True) as pool:
        pool.submit(abs, -1).result()
    timeline = pool.timeline()
    saved = str(folder / "saved.json")
    timeline.save(saved)
    return [
        Call("Pool.shutdown", shutdown, {"wait": True, "cancel_futures": False}),
        Call("Future.result", of_future("result"), {"timeout": 30.0}),
        Call("Future.exception", of_future("exception"), {"timeout": 30.0}),
        Call("Future.cancel", of_future("cancel"), {"running": False}),
        Call("Timeline.save", timeline.save, {"path": saved}),
        Call("Timeline.read", type(timeline).read, {"path": saved}),
        Call("Timeline.busy", timeline.busy, {"at": [0.0, 1.0]}),
        Call("Timeline.seconds_by_kind", timeline.seconds_by_kind, {"rank": 0}),
        Call("own_part", own_part, {"future": None}),
    ]


def commands(folder: pathlib.Path) -> list[Call]:
    """Return what runs a program."""
    right: dict[str, Any] = {
        **{"args": ["true"], "input": "text", "stdout": str(folder / "out"), "cwd": str(folder)},
        **{"env": {"A": "b"}, "timeout": 30.0, "files": {"a": "text"}, "outputs": ["a"]},
    }
    more = {"stderr": str(folder / "err"), "check": True, "text": True}
    return [Call("command", fl.command, right), Call("command", fl.command, right | more)]


def measuring() -> list[Call]:
    """Return what measures a network, of this process alone."""
    from mpi4py import MPI

    right = {"comm": MPI.COMM_SELF, "seconds": 0.01, "timeout": 10.0, "progress": None}
    return [Call("route.measure", fl.route.measure, right)]
