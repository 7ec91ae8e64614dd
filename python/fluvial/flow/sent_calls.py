# SPDX-License-Identifier: Apache-2.0
"""Tasks as a program sends them to the first rank of the job that it has started for its pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from .payload import Part
from .task_core import CoreInput, CoreOptions


class SentOptions(CoreOptions, total=False):
    """Options as they travel."""

    near_task: int | None
    """The number of the task that is their place."""
    part_numbers: list[int]
    """Of a task whose ranks keep what they return: the numbers of the parts."""


SentInput: TypeAlias = int | tuple[int]
"""The number of a task that is an input; in a tuple each rank gets its own part of that."""


SentCall: TypeAlias = tuple[int, bytes, list[SentInput], SentOptions]
"""The number of a task, its message, the numbers of its inputs, its options."""


class StartedTask:
    """A task, as the core's `TaskState`."""

    def __init__(
        self,
        number: int,
        ask: Callable[[str, int], object],
        forget: Callable[[int], None],
        parts: Sequence[StartedTask] = (),
    ) -> None:
        self.number = number
        self.parts = parts
        self._ask = ask
        self._forget = forget

    @property
    def running(self) -> bool:
        """Whether its ranks have it."""
        return bool(self._ask("running", self.number))

    def __del__(self) -> None:
        self._forget(self.number)


def sent_call(
    task: StartedTask, parts: list[Part], inputs: list[CoreInput], options: CoreOptions
) -> SentCall:
    """Return what is sent of a task: numbers in place of other tasks."""
    numbers: list[SentInput] = [
        (one[0].number,) if isinstance(one, tuple) else one.number for one in inputs
    ]
    near = options["near"]
    place = near.number if isinstance(near, StartedTask) else None
    sent: SentOptions = {
        **options,
        "near": near if place is None else None,
        "near_task": place,
        "part_numbers": [part.number for part in task.parts],
    }
    return task.number, b"".join(parts), numbers, sent
