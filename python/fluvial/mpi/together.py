# SPDX-License-Identifier: Apache-2.0
"""Work that the ranks of a communicator do together: errors of one are errors on all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .. import _core
from .communicator import Communicator


class Together:
    """The ranks that do something together; all calls are collective.

    Parameters
    ----------
    comm
        None: this process alone.
    timeout
        Seconds that a rank waits for the others.
    what
        Completes "a rank did not come to …".
    """

    def __init__(self, comm: Communicator | None, timeout: float, what: str) -> None:
        self._comm = comm
        self._timeout = timeout
        self._what = what

    def gather(self, mine: Any) -> list[Any]:
        """Return what each rank has, on the first; nothing on the others."""
        if self._comm is None:
            return [mine]
        self._come()
        return self._comm.gather(mine) or []

    def _come(self) -> None:
        """Wait until all ranks are here; TimedOut when one does not come."""
        assert self._comm is not None
        here = self._comm.Ibarrier()
        begin, nap = time.monotonic(), 0.0
        while not here.Test():
            if time.monotonic() - begin > self._timeout:
                raise _core.TimedOut(
                    f"a rank did not come to {self._what} in time: got "
                    f"{self._timeout:g} s of waiting; allowed: less. Look at the other ranks, "
                    "or raise step_timeout"
                )
            time.sleep(nap)
            nap = min(nap + 1e-5, 1e-3)

    def run(self, work: Callable[[], Any], everywhere: bool = False) -> Any:
        """Work on the first rank, or on all; what one raises is raised on all.

        Returns what the first one does; with `everywhere`, each what it does itself.
        """
        if self._comm is not None:
            self._come()
        result, error = None, None
        first = self._comm is None or self._comm.rank == 0
        if first or everywhere:
            try:
                result = work()
            except Exception as raised:
                error = raised
        if self._comm is None:
            if error is not None:
                raise error
            return result
        if everywhere:
            errors = self._comm.allgather(_told(error))
        else:
            result, one = self._comm.bcast((result, _told(error)))
            errors = [one]
        for rank, told in enumerate(errors):
            if told is not None:
                if error is not None:
                    raise error
                raise _raised(told, rank)
        return result


def _told(error: Exception | None) -> tuple[str, str] | None:
    return None if error is None else (type(error).__name__, str(error))


def _raised(told: tuple[str, str], rank: int) -> Exception:
    kind, message = told
    made = getattr(_core, kind, _core.Error)
    return made(f"{message} (rank {rank})")
