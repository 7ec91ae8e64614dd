# SPDX-License-Identifier: Apache-2.0
"""Tasks of exported C++ functions, submitted many at a time; they have no futures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from .exported import ExportedTask
from .future import error_of
from .options import TaskOptions
from .task_core import ExportingCore, Report, TaskCore, TaskState

Token = TypeVar("Token")
"""By which the caller knows a call."""
Done: TypeAlias = tuple[Token, bytes | bytearray | None, BaseException | None]
"""The caller's token, the message of the result and None; or the token, None and the exception."""
Told: TypeAlias = Callable[[list[Done[Token]]], object]
"""Is given what came of some tasks that are done; in the thread that serves the pool."""


class ExportedCalls:
    """Those of one pool."""

    def __init__(self, core: TaskCore) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[TaskState, Any, Told[Any]]] = {}
        self.possible = hasattr(core, "submit_exported")
        """A job that was started for a serial program has none."""

    def submit(
        self,
        task: ExportedTask,
        calls: list[bytes],
        tokens: Sequence[Token],
        options: TaskOptions,
        told: Told[Token],
    ) -> None:
        """Submit a task for each message of inputs."""
        wanted = options.for_core(task.name)
        with self._lock:  # until all are known: the first may be done already
            core = cast("ExportingCore", self._core)  # where it is `possible`
            states = core.submit_exported(task.path, task.name, calls, wanted)
            for state, token in zip(states, tokens, strict=True):
                self._waiting[state.number] = state, token, told

    def take(self, outcomes: list[Report]) -> list[Report]:
        """Say what came of tasks of this kind; return the outcomes of others."""
        with self._lock:
            if not self._waiting:
                return outcomes
            others: list[Report] = []
            by_receiver: dict[Told[Any], list[Done[Any]]] = {}
            for outcome in outcomes:
                number, result, failure, _ = outcome
                known = self._waiting.pop(number, None)
                if known is None:
                    others.append(outcome)
                else:
                    error = None if failure is None else error_of(*failure)
                    by_receiver.setdefault(known[2], []).append((known[1], result, error))
        for told, done in by_receiver.items():
            told(done)
        return others

    @property
    def left(self) -> bool:
        """Whether some are not done."""
        return bool(self._waiting)

    def cancel(self, running: bool = False) -> None:
        """Keep those from beginning that have not; with `running` cancel also the others."""
        with self._lock:
            states = [state for state, _, _ in self._waiting.values()]
        for state in states:
            self._core.cancel(state)
        for state in states if running else ():
            self._core.cancel(state, True)

    def fail(self, error: BaseException) -> None:
        """Say that the pool has broken off."""
        with self._lock:
            left, self._waiting = list(self._waiting.values()), {}
        for _, token, told in left:
            told([(token, None, error)])
