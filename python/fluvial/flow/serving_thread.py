# SPDX-License-Identifier: Apache-2.0
"""The thread of the rank that leads which serves its pool."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .. import _core


class _Here(threading.local):
    served: object = None


_here = _Here()


def serves_here(core: object) -> bool:
    """Tell whether this thread is the one without which nothing comes from this pool."""
    return _here.served is core


class ServingThread:
    """Calls `serve`, which serves the pool of `core`, once; begins at once."""

    def __init__(self, serve: Callable[[], None], core: object) -> None:
        self._serve = serve
        self._core = core
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
        _here.served = self._core
        try:
            self._serve()
        finally:
            self._over.set()
