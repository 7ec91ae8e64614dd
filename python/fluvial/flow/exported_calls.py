# SPDX-License-Identifier: Apache-2.0
"""Tasks of exported C++ functions, submitted many at a time; they have no futures."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

from .exported import ExportedTask
from .future import error_of
from .options import TaskOptions

Told = Callable[[list[tuple[Any, Any, BaseException | None]]], object]
"""Is given (the caller's token, the message of the result, None), or (token, None, the exception),
of some tasks that are done; in the thread that serves the pool."""


class ExportedCalls:
    """Those of one pool."""

    def __init__(self, core: Any) -> None:
        self._core = core
        self._lock = threading.Lock()
        self._waiting: dict[int, tuple[Any, Any, Told]] = {}
        self.possible = hasattr(core, "submit_exported")
        """A job that was started for a serial program has none."""

    def submit(
        self,
        task: ExportedTask,
        calls: list[bytes],
        tokens: Sequence[Any],
        options: TaskOptions,
        told: Told,
    ) -> None:
        """Submit a task for each message of inputs."""
        wanted = options.for_core(task.name)
        with self._lock:  # until all are known: the first may be done already
            states = self._core.submit_exported(task.path, task.name, calls, wanted)
            for state, token in zip(states, tokens, strict=True):
                self._waiting[state.number] = state, token, told

    def take(self, outcomes: list[Any]) -> list[Any]:
        """Say what came of tasks of this kind; return the outcomes of others."""
        with self._lock:
            if not self._waiting:
                return outcomes
            others: list[Any] = []
            by_receiver: dict[Told, list[tuple[Any, Any, BaseException | None]]] = {}
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

    def cancel(self) -> None:
        """Keep those from beginning that have not."""
        with self._lock:
            states = [state for state, _, _ in self._waiting.values()]
        for state in states:
            self._core.cancel(state)

    def fail(self, error: BaseException) -> None:
        """Say that the pool has broken off."""
        with self._lock:
            left, self._waiting = list(self._waiting.values()), {}
        for _, token, told in left:
            told([(token, None, error)])
