# SPDX-License-Identifier: Apache-2.0
"""Calls as a pool's core takes them: futures among the arguments are inputs, known by numbers."""

from __future__ import annotations

import concurrent.futures
import functools
from collections.abc import Callable

from .. import _core
from ..base.messages import shown
from .functions import ShippedFunctions
from .future import AnyFuture, Future
from .keyed import KeyedTasks
from .options import checked_options
from .payload import packed_call
from .task import Task
from .task_core import CoreCall, TaskCore, TaskState
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
        inputs: list[AnyFuture] = []
        call = self._shipped.bytes_of(task.function), task.arguments, task.keywords
        parts = packed_call(call, functools.partial(self._reference, inputs, {}, {}))
        if isinstance(near := wanted["near"], concurrent.futures.Future):
            wanted = {**wanted, "near": self.state_of(self._own(near, "near"))}
        return parts, [self.state_of(input) for input in inputs], wanted

    def state_of(self, future: AnyFuture) -> TaskState:
        """Return what the core knows a future's task by."""
        if future.task is None and (error := future.exception()) is not None:  # it was not sent
            future.task = self._core.failed(packed_error(error))
        elif future.task is None:
            future.task = self._core.known(self._keyed.result_of(future))
        return future.task

    def _reference(
        self,
        inputs: list[AnyFuture],
        numbers: dict[int, int],
        further: dict[int, AnyFuture],
        thing: object,
    ) -> int | None:
        if isinstance(thing, Task):
            if id(thing) not in further:
                further[id(thing)] = self._submit_further(thing)
            thing = further[id(thing)]
        if not isinstance(thing, concurrent.futures.Future):
            return None
        future = self._own(thing, "an input of a task")
        number = numbers.setdefault(id(future), len(inputs))
        if number == len(inputs):
            inputs.append(future)
        return number

    def _own(self, thing: object, what: str) -> AnyFuture:
        if not isinstance(thing, Future) or thing.core is not self._core:
            raise _core.InvalidArgument(
                f"{what}: got {shown(thing)}; allowed: futures of the same pool. "
                "Pass its result() instead"
            )
        return thing
