# SPDX-License-Identifier: Apache-2.0
"""What a script's failure says: where, by which calls, of which task."""

from __future__ import annotations

from collections.abc import Sequence

from .._core import Error
from .formats import shown_value
from .frames import CallSite, Frame, Step
from .script import Place
from .variables import Variable

_BLOCKED_SHOWN = 10
_VALUE_SHOWN = 80
_OUTPUT_SHOWN = 4000


class ScriptFailed(Error):  # noqa: N818
    """A script cannot go on."""


def failed_step(error: BaseException, place: Place, frame: Frame) -> ScriptFailed:
    """Return the failure of a step that the interpreter executes."""
    return ScriptFailed(_with_stack(place, str(error) or type(error).__name__, frame))


def failed_task(
    error: BaseException,
    place: Place,
    frame: Frame,
    name: str,
    inputs: Sequence[object],
    ranks: int,
) -> ScriptFailed:
    """Return the failure of a task, with its inputs, its ranks and its output."""
    values = ", ".join(_shortened(shown_value(value), _VALUE_SHOWN) for value in inputs)
    on = f"{ranks} ranks" if ranks != 1 else "1 rank"
    lines = [
        _with_stack(place, f"{name} failed: {type(error).__name__}: {error}", frame),
        f"task: {name}({values}) on {on}",
    ]
    cause = error.__cause__
    if cause is not None and type(error).__name__ != "CommandFailed":
        lines.append(f"output: {_shortened(str(cause).strip().strip(chr(34)), _OUTPUT_SHOWN)}")
    return ScriptFailed("\n".join(lines))


def never_set(blocked: Sequence[tuple[Step, Frame, Variable]]) -> ScriptFailed:
    """Return the failure of a script of which steps wait for what nothing will set."""
    lines = [f"the script cannot go on: {len(blocked)} statements wait for what nothing will set"]
    seen: set[tuple[Place, str]] = set()
    for step, frame, variable in blocked:
        line = f"waits for {variable.name or 'a value'!r}, which is never set"
        if (step.place, line) not in seen and len(seen) < _BLOCKED_SHOWN:
            seen.add((step.place, line))
            lines.append(_with_stack(step.place, line, frame))
    return ScriptFailed("\n".join(lines))


def _with_stack(place: Place, message: str, frame: Frame) -> str:
    return "\n".join([f"{place}: {message}", place.shown(), *CallSite.stack(frame)[:20]])


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"…{text[-most:]}"
