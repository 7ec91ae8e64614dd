# SPDX-License-Identifier: Apache-2.0
"""Calls as a pool's core takes them: futures among the arguments are inputs, known by numbers."""

from __future__ import annotations

import concurrent.futures
import functools
from collections.abc import Callable
from typing import Any

from .. import _core
from ..base.messages import shown
from .functions import ShippedFunctions, name_of
from .future import AnyFuture, Future
from .keyed import KeyedTasks
from .options import checked_options
from .parts import OwnPart
from .payload import packed_call
from .task import Task
from .task_core import CoreCall, CoreInput, TaskCore, TaskState
from .tasks import packed_error


class CoreCalls:
    """Makes what the core of one pool takes of a task.

    Parameters
    ----------
    core
        What takes it.
    keyed
        Has the results of futures that the core does not know yet.
    submit_further
        Submits a task that stands among the arguments of another.
    """

    def __init__(
        self, core: TaskCore, keyed: KeyedTasks, submit_further: Callable[[Task], AnyFuture]
    ) -> None:
        self._core = core
        self._keyed = keyed
        self._shipped = ShippedFunctions()
        self._submit_further = submit_further

    def of(self, task: Task) -> CoreCall:
        """Return what the core takes of a task: parts, inputs, options."""
        wanted = checked_options(task.options, task.function)
        inputs: list[AnyFuture | OwnPart[Any]] = []
        call = self._shipped.bytes_of(task.function), task.arguments, task.keywords
        try:
            parts = packed_call(call, functools.partial(self._reference, inputs, {}, {}))
        except _core.Error:
            raise
        except Exception as error:  # pickle's, which names no task
            error.add_note(
                f"an argument of the task {name_of(task.function)!r} cannot be sent: got "
                f"{shown(call[1:])}; allowed: what pickle or, where it is installed, cloudpickle "
                "can write"
            )
            raise
        if isinstance(near := wanted["near"], concurrent.futures.Future):
            wanted = {**wanted, "near": self.state_of(self._own(near, "near"))}
        return parts, [self._input(one, wanted["ranks"]) for one in inputs], wanted

    def _input(self, given: AnyFuture | OwnPart[Any], ranks: list[int]) -> CoreInput:
        if not isinstance(given, OwnPart):
            return self.state_of(given)
        count = len(given.future.parts)
        if ranks != [count]:
            raise _core.InvalidArgument(
                "a task whose ranks each get a part is as wide as theirs: got "
                f"{ranks[0] if len(ranks) == 1 else f'{ranks[0]} to {ranks[-1]}'} ranks; allowed: "
                f"{count} ranks. Or give it future.parts"
            )
        return (self.state_of(given.future),)

    def state_of(self, future: AnyFuture) -> TaskState:
        """Return what the core knows a future's task by."""
        if future.task is None and (error := future.exception()) is not None:  # it was not sent
            future.task = self._core.failed(packed_error(error))
        elif future.task is None:
            future.task = self._core.known(self._keyed.result_of(future))
        return future.task

    def _reference(
        self,
        inputs: list[AnyFuture | OwnPart[Any]],
        numbers: dict[int, int],
        further: dict[int, AnyFuture],
        thing: object,
    ) -> int | None:
        if isinstance(thing, Task):
            if id(thing) not in further:
                further[id(thing)] = self._submit_further(thing)
            thing = further[id(thing)]
        given: AnyFuture | OwnPart[Any]
        if isinstance(thing, OwnPart):
            self._own(thing.future, "own_part")
            given = thing
        elif isinstance(thing, concurrent.futures.Future):
            given = self._own(thing, "an input of a task")
        else:
            return None
        number = numbers.setdefault(id(given), len(inputs))
        if number == len(inputs):
            inputs.append(given)
        return number

    def _own(self, thing: object, what: str) -> AnyFuture:
        if not isinstance(thing, Future) or thing.core is not self._core:
            raise _core.InvalidArgument(
                f"{what}: got {shown(thing)}; allowed: futures of the same pool. "
                "Pass its result() instead"
            )
        return thing
