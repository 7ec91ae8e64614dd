# SPDX-License-Identifier: Apache-2.0
"""The thread of the rank that leads which serves its pool."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .. import _core


class ServingThread:
    """Calls `serve`, once; begins at once."""

    def __init__(self, serve: Callable[[], None]) -> None:
        self._serve = serve
        self._over = _core.ServingEvent()
        self._thread = threading.Thread(target=self._run, name="fluvial-pool")
        self._thread.start()

    @property
    def is_current(self) -> bool:
        """Whether the caller is in this thread."""
        return self._thread is threading.current_thread()

    def wait(self) -> None:
        """Block until it has ended, and serve the streams of the caller's thread meanwhile.

        Ctrl-C breaks that off, and it can be waited for again.

        Python 3.11's join() takes a thread for ended once Ctrl-C has broken it off (a side effect
        of its remedy for bpo-45274), and the interpreter would end under it.
        """
        self._over.wait()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            self._over.set()
