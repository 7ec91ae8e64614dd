# SPDX-License-Identifier: Apache-2.0
"""Which tasks of a pool are cancelled when it is shut down."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Literal, TypeAlias

from ..base.arguments import to_choice
from .exported_calls import ExportedCalls
from .future import AnyFuture

CancelFutures: TypeAlias = bool | Literal["running"]
"""None of them, those that have not begun, or all."""
_CHOICES: tuple[CancelFutures, ...] = (False, True, "running")


def checked_cancellation(cancel_futures: CancelFutures) -> CancelFutures:
    """Return it; InvalidArgument when it is something else."""
    return to_choice(cancel_futures, "cancel_futures", _CHOICES)


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
            for future in futures:
                future.cancel()
            for future in futures if self._running else ():
                future.cancel(running=True)
            exported.cancel(self._running)
        finally:
            self._under_way.release()
