# SPDX-License-Identifier: Apache-2.0
"""Calls of leaf and app functions as tasks of a pool."""

from __future__ import annotations

import os
import sys
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from . import syntax
from .app_command import run_command
from .builtin import Builtin
from .definitions import library_of
from .engine import Done, Engine, idle
from .failures import failed_task
from .formats import shown_value
from .frames import Frame, Get, Locate
from .kinds import FILE, VOID, Kind
from .leaf_functions import call_python, call_python_together
from .operators import fits_in_64_bits
from .script import Place
from .shared_library import call_library, call_library_together
from .variables import ArrayValue

Prepared: TypeAlias = tuple[Callable[..., object], tuple[object, ...]]
"""A function that workers import, and its arguments."""
Maker: TypeAlias = Callable[[list[object], list[str]], Prepared]
"""Makes that of the values of the inputs and the paths of output files."""


@dataclass
class Output:
    """An output of a call, and where it goes."""

    name: str
    kind: Kind
    locate: Locate


@dataclass
class TaskPlan:
    """What all executions of a call have in common."""

    place: Place
    name: str
    inputs: Sequence[Get]
    outputs: list[Output]
    make: Maker
    annotations: dict[str, Get]

    def submit(self, engine: Engine, frame: Frame) -> None:
        """Submit the task, when all inputs are there; else raise Blocked."""
        values = [get(frame) for get in self.inputs]
        notes = {name: get(frame) for name, get in self.annotations.items()}
        paths = [self._path(engine, frame, o) for o in self.outputs if o.kind == FILE]
        ranks = checked_ranks(engine, self.name, notes.get("par", 1))
        function, arguments = self.make(values, paths)
        near = notes.get("location", notes.get("soft_location"))
        settled = Settled(self, engine, frame, values, paths, ranks)
        engine.submit(
            frame,
            settled,
            function,
            *arguments,
            ranks=ranks,
            priority=notes.get("prio", 0),
            near=near,
            strict="location" in notes,
            kind=self.name,
        )

    def _path(self, engine: Engine, frame: Frame, output: Output) -> str:
        variable = output.locate(frame)
        if variable.path is not None:
            path: str = variable.path.get()
            return path
        return engine.new_path(output.name)


def checked_ranks(engine: Engine, name: str, wanted: int) -> int:
    """Return how many ranks a task gets that asks for so many."""
    if 1 <= wanted <= engine.workers:
        return wanted
    if wanted < 1 or not engine.narrow:
        raise ValueError(
            f"@par={wanted} of {name}: allowed: 1 to {engine.workers}, the ranks that run "
            "tasks; with `fluvial run --narrow` a task for more gets all of them"
        )
    if name not in engine.narrowed:
        engine.narrowed.add(name)
        print(
            f"fluvial: @par={wanted} of {name} is more than there are: such tasks get "
            f"{engine.workers}, all ranks that run tasks",
            file=sys.stderr,
        )
    return engine.workers


class Settled:
    """Sets the outputs of a task that is done."""

    __slots__ = ("_engine", "_frame", "_paths", "_ranks", "plan", "values")

    def __init__(
        self,
        plan: TaskPlan,
        engine: Engine,
        frame: Frame,
        values: list[object],
        paths: list[str],
        ranks: int,
    ) -> None:
        self.plan = plan
        self._engine = engine
        self._frame = frame
        self.values = values
        self._paths = paths
        self._ranks = ranks

    def __call__(self, future: Done) -> None:
        """Take what the task has returned; raise ScriptFailed for what it has raised."""
        error = future.exception()
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt  # every rank gets it: the script does not fail here
        if error is not None:
            raise self._failed(error)
        plan = self.plan
        try:
            results = _results(plan, future.result(), list(self._paths))
        except (TypeError, ValueError) as wrong:
            raise self._failed(wrong) from None
        for output, value in zip(plan.outputs, results, strict=True):
            self._engine.settle(output.locate(self._frame), value)

    def _failed(self, error: BaseException) -> Exception:
        plan = self.plan
        return failed_task(error, plan.place, self._frame, plan.name, self.values, self._ranks)


def _results(plan: TaskPlan, result: object, paths: list[str]) -> list[object]:
    """Return the values of all outputs, by what a task returned for those that are no files."""
    wanted = [output for output in plan.outputs if output.kind not in (FILE, VOID)]
    given = [] if not wanted else [result] if len(wanted) == 1 else result
    if not isinstance(given, list | tuple) or len(given) != len(wanted):
        names = ", ".join(output.name for output in wanted)
        raise TypeError(f"it returned {shown_value(result)!r}: allowed: a tuple of ({names})")
    values = iter(given)
    return [
        paths.pop(0)
        if output.kind == FILE
        else None
        if output.kind == VOID
        else as_kind(next(values), output.kind, output.name)
        for output in plan.outputs
    ]


_ALLOWED: dict[str, tuple[tuple[type, ...], type]] = {
    "int": ((int,), int),
    "float": ((int, float), float),
    "string": ((str,), str),
    "boolean": ((bool, int), bool),
    "blob": ((bytes, bytearray), bytes),
    "file": ((str,), str),  # in an array: the path of one that is there
}


def as_kind(value: object, kind: Kind, name: str) -> object:
    """Return what a task returned as a value of the declared type.

    Raises
    ------
    TypeError
        When it cannot be one.
    """
    if kind.keys:
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, list | tuple | dict):
            raise _wrong(value, kind, name)
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return ArrayValue.of({k: as_kind(v, kind.element, name) for k, v in pairs}, name)
    types, convert = _ALLOWED[kind.scalar]
    if type(value) is convert:
        return _in_64_bits(value, kind, name)
    if hasattr(value, "tobytes") and convert is bytes:
        return value.tobytes()
    if hasattr(value, "item") and getattr(value, "size", 0) == 1:
        value = value.item()  # of NumPy
    if not isinstance(value, types):
        raise _wrong(value, kind, name)
    try:
        converted = convert(value)
    except OverflowError:
        raise _wrong(value, kind, name) from None
    return _in_64_bits(converted, kind, name)


def _in_64_bits(value: object, kind: Kind, name: str) -> object:
    if type(value) is int and not fits_in_64_bits(value):
        raise TypeError(
            f"output {name!r} is too large for {kind}: it returned {value!r:.60}; allowed: -2**63 "
            "to 2**63 - 1"
        )
    return value


def _wrong(value: object, kind: Kind, name: str) -> TypeError:
    return TypeError(f"output {name!r} is no {kind}: it returned {value!r:.60}; allowed: {kind}")


def builtin_call(called: Builtin) -> Maker:
    """Return what calls a function of the library on a worker."""
    return lambda values, paths: (called.function, (*paths, *values))


def leaf_call(leaf: syntax.Definition) -> Maker:
    """Return what calls a leaf function."""
    if not isinstance(leaf, syntax.Leaf):
        raise AssertionError("bug in Fluvial: a call of what is no leaf")
    folder = os.path.dirname(leaf.place.script.name)
    library = library_of(leaf.package, folder)
    inputs = [str(parameter.kind) for parameter in leaf.inputs]
    outputs = [str(p.kind) for p in leaf.outputs if p.kind != VOID]
    if library is not None:
        function = call_library_together if leaf.parallel else call_library
        return lambda values, paths: (function, (library, leaf.function, inputs, outputs, values))
    called = call_python_together if leaf.parallel else call_python
    names = [p.name for p in leaf.inputs], [p.name for p in leaf.outputs if p.kind != VOID]
    what = (os.path.abspath(folder or os.curdir), leaf.package, leaf.version)
    return lambda values, paths: (
        called,
        (*what, leaf.function, leaf.template, names, [_as_python(v) for v in values], paths),
    )


def _as_python(value: object) -> object:
    """Return an array as a list, where its keys count from 0."""
    if isinstance(value, dict):
        in_order = list(value) == list(range(len(value)))
        elements = {key: _as_python(element) for key, element in value.items()}
        return list(elements.values()) if in_order else elements
    return value


@dataclass
class AppPlan:
    """A command, ready to be put together in a frame of its inputs and outputs."""

    app: syntax.App
    words: list[Get]
    streams: dict[str, Get]
    names: list[str]
    root: Callable[[], Frame | None]


def app_call(plan: AppPlan) -> Maker:
    """Return what runs a command: outputs are written beside their places, and moved there."""
    app = plan.app
    files = [parameter for parameter in app.outputs if parameter.kind == FILE]

    def make(values: list[object], paths: list[str]) -> Prepared:
        frame = Frame(plan.names, plan.root(), idle(), None)
        for variable, value in zip(frame.values, values, strict=False):
            variable.value = ArrayValue.of(value) if isinstance(value, dict) else value
        staged = [_staged(path) for path in paths]
        by_name = dict(zip([parameter.name for parameter in files], staged, strict=True))
        for variable, parameter in zip(frame.values[len(values) :], app.outputs, strict=True):
            variable.value = by_name.get(parameter.name)
        words = [word for get in plan.words for word in _flat(get(frame))]
        streams = {name: get(frame) for name, get in plan.streams.items()}
        inputs = [
            path
            for value, parameter in zip(values, app.inputs, strict=True)
            if parameter.kind.scalar == "file"
            for path in _flat(value)
        ]
        return run_command, (words, streams, inputs, dict(zip(staged, paths, strict=True)))

    return make


def _staged(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".staged-{uuid.uuid4().hex[:12]}", name)


def _flat(value: object) -> list[str]:
    if isinstance(value, ArrayValue):
        value = {key: element.get() for key, element in value.in_order()}
    if isinstance(value, dict):
        return [word for element in value.values() for word in _flat(element)]
    return [shown_value(value)]
