# SPDX-License-Identifier: Apache-2.0
"""Cancelling many tasks of a pool, as when it is shut down."""

from __future__ import annotations

import concurrent.futures
import threading
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from ..base.arguments import to_choice
from .exported_calls import ExportedCalls
from .future import AnyFuture
from .started_job import StartedJob
from .task_core import TaskCore, TaskState

CancelFutures: TypeAlias = bool | Literal["running"]
"""None of them, those that have not begun, or all."""
_CHOICES: tuple[CancelFutures, ...] = (False, True, "running")


def checked_cancellation(cancel_futures: CancelFutures) -> CancelFutures:
    """Return it; InvalidArgument when it is something else."""
    return to_choice(cancel_futures, "cancel_futures", _CHOICES)


def cancel_together(futures: Iterable[AnyFuture], *, running: bool = False) -> None:
    """Cancel those futures of one pool that are not done, as `Future.cancel` does each of them.

    A job that was started for a serial program is asked for many tasks at once.
    """
    asked = [
        (future, state) for future in futures if (state := future.begin_cancelling()) is not None
    ]
    if not asked:
        return
    replies = _cancelled(asked[0][0].core, [state for _, state in asked], running)
    cancelled = [future for (future, _), reply in zip(asked, replies, strict=True) if reply]
    for future in cancelled:
        future.become_cancelled()
    # For the thread that the core has told, too; of those that are done no lock is taken.
    concurrent.futures.wait([future for future in cancelled if not future.done()])


def _cancelled(core: TaskCore, tasks: list[TaskState], running: bool) -> list[bool]:
    if isinstance(core, StartedJob):
        return core.cancel_together(tasks, running)
    return [core.cancel(task, running) for task in tasks]


class Cancellation:
    """What has been asked for of one pool; later words may only ask for more."""

    def __init__(self) -> None:
        self._waiting = self._running = False
        self._under_way = threading.RLock()  # re-entered by what is called when a future is done

    def ask(self, cancel_futures: CancelFutures) -> None:
        """Ask for it."""
        self._waiting = self._waiting or bool(cancel_futures)
        self._running = self._running or cancel_futures == "running"

    def apply(
        self, futures: Sequence[AnyFuture], exported: ExportedCalls, wait: bool = False
    ) -> None:
        """Cancel those of them that are not done; with `wait` also where another thread does so.

        Tasks that run come last, or their ranks would begin with others that are to be cancelled.
        """
        if not self._waiting or not self._under_way.acquire(blocking=wait):
            return
        try:
            cancel_together(futures)
            if self._running:
                cancel_together(futures, running=True)
            exported.cancel(self._running)
        finally:
            self._under_way.release()
