# SPDX-License-Identifier: Apache-2.0
"""What exists while a script runs: variables of a call, or of one iteration of a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .script import Place
from .variables import ArrayValue, Variable


class Activity:
    """Counts what an iteration still has to do, with all that it has begun."""

    __slots__ = ("_done", "_pending")

    def __init__(self, done: Callable[[], None]) -> None:
        self._pending = 0
        self._done = done

    def hold(self) -> None:
        """Note something to do."""
        self._pending += 1

    def release(self) -> None:
        """Note that it is done; after the last the iteration is."""
        self._pending -= 1
        if self._pending == 0:
            self._done()


class Frame:
    """The variables of a call or an iteration, and those around them."""

    __slots__ = ("__weakref__", "activity", "call", "parent", "values")

    def __init__(
        self, names: list[str], parent: Frame | None, activity: Activity, call: CallSite | None
    ) -> None:
        self.values = [Variable(name) for name in names]
        self.parent = parent
        self.activity = activity
        self.call = call


class CallSite:
    """Where a composite function was called."""

    __slots__ = ("frame", "function", "place")

    def __init__(self, function: str, place: Place, frame: Frame) -> None:
        self.function = function
        self.place = place
        self.frame = frame

    @staticmethod
    def stack(frame: Frame) -> list[str]:
        """Return a line for each call around a frame, the innermost first."""
        lines: list[str] = []
        call = frame.call
        while call is not None:
            place = call.place
            lines.append(f"in {call.function}, called at {place.script.name}:{place.line}")
            call = call.frame.call
        return lines


Get = Callable[[Frame], Any]
Locate = Callable[[Frame], Variable]


@dataclass(slots=True)
class Step:
    """A statement, made ready to execute.

    `action` does it, or raises Blocked before it has any effect; then it is tried again when the
    variable is set. Arrays to which it may add elements stay open until it is done.
    """

    place: Place
    action: Callable[[Frame], None]
    writes: tuple[Locate, ...] = ()


@dataclass(slots=True)
class StepBlock:
    """Steps that execute at the same time."""

    steps: list[Step] = field(default_factory=list)
    opened: list[Locate] = field(default_factory=list)
    """Arrays that are written in parts, made when the block begins."""
    mapped: list[tuple[Locate, Locate]] = field(default_factory=list)
    """Files, and where their paths will be."""
    writers: list[tuple[Locate, int]] = field(default_factory=list)
    """Arrays, and how many steps of the block may add elements to each."""


def array_at(locate: Locate, frame: Frame) -> ArrayValue:
    """Return the array of a variable that is written in parts."""
    array: ArrayValue = locate(frame).value
    return array
