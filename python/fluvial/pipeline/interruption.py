# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C that ends a pipe between two steps, or gives a step up, and never cuts one in two."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Self


class Interruption:
    """A context in which SIGINT raises KeyboardInterrupt, but not inside `held_back`.

    It only acts where SIGINT does what Python has it do: in the main thread, without a handler of
    the program's own. A second SIGINT inside `held_back` raises at once.
    """

    def __init__(self) -> None:
        self._holding = False
        self._came = False
        self._acts = False

    def __enter__(self) -> Self:
        self._acts = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if self._acts:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._acts:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    @contextlib.contextmanager
    def held_back(self) -> Iterator[None]:
        """Let the block end before a SIGINT raises."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._came:
            raise KeyboardInterrupt

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self._holding and not self._came:
            self._came = True
            return
        raise KeyboardInterrupt
