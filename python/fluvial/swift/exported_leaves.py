# SPDX-License-Identifier: Apache-2.0
"""Calls of C++ functions that shared libraries export for tasks.

They are submitted many at a time, and their inputs and results are never pickled: a call costs the
interpreter a few microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..flow.exported import ExportedTask, Value, pack_of, unpack_of
from .engine import Calls, Engine, OptionItems, options_of
from .failures import failed_task
from .frames import Frame, Get
from .kinds import VOID
from .script import Place
from .task_calls import Output, checked_ranks


@dataclass
class ExportedPlan:
    """What all executions of a call have in common."""

    place: Place
    name: str
    inputs: Sequence[Get]
    outputs: list[Output]
    annotations: dict[str, Get]
    task: ExportedTask

    def __post_init__(self) -> None:
        self._pack: Callable[[Sequence[object]], bytes] = pack_of(self.task.inputs)
        self._unpack: Callable[[bytes], tuple[Value, ...]] = unpack_of(self.task.outputs)
        self._plain = (("kind", self.name),)
        self._calls: Calls | None = None
        self._one = self.outputs[0] if len(self.outputs) == len(self.task.outputs) == 1 else None

    def submit(self, engine: Engine, frame: Frame) -> None:
        """Submit the task, when all inputs are there; else raise Blocked."""
        values = [get(frame) for get in self.inputs]
        if self.annotations:
            calls = engine.calls_of(self.task, self._options(engine, frame))
        else:
            calls = self._calls or self._plain_calls(engine)

        def settle(message: bytes, error: BaseException | None) -> None:
            if error is not None:
                ranks = options_of(calls.options).get("ranks", 1)
                raise failed_task(error, self.place, frame, self.name, values, ranks)
            results = self._unpack(message)
            if self._one is not None:
                engine.settle(self._one.locate(frame), results[0])
                return
            left = iter(results)
            for output in self.outputs:
                value = None if output.kind == VOID else next(left)
                engine.settle(output.locate(frame), value)

        engine.call_exported(frame, settle, calls, self._pack(values))

    def _plain_calls(self, engine: Engine) -> Calls:
        self._calls = engine.calls_of(self.task, self._plain)
        return self._calls

    def _options(self, engine: Engine, frame: Frame) -> OptionItems:
        notes = {name: get(frame) for name, get in self.annotations.items()}
        near = notes.get("location", notes.get("soft_location"))
        return (
            *self._plain,
            ("ranks", checked_ranks(engine, self.name, notes.get("par", 1))),
            ("priority", notes.get("prio", 0)),
            ("near", near),
            ("strict", "location" in notes),
        )
