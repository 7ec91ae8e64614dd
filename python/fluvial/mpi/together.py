# SPDX-License-Identifier: Apache-2.0
"""Work that the ranks of a communicator do together: errors of one are errors on all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from .. import _core
from .._core import InvalidArgument
from ..base.messages import shown_text
from .communicator import Communicator

Found = TypeVar("Found")


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

    def gather(self, mine: Found) -> list[Found]:
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

    def run(self, work: Callable[[], Found], everywhere: bool = False) -> Found:
        """Work on the first rank, or on all; what one raises is raised on all.

        Returns what the first one does; with `everywhere`, each what it does itself.
        """
        if self._comm is not None:
            self._come()
        result: Any = None  # of `work`, or None where another rank works
        error = None
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

    def alike(self, what: str, find: Callable[[], Found], told: Callable[[Found], str]) -> Found:
        """Return what each rank finds, in whose words all must agree.

        Raises
        ------
        InvalidArgument
            The ranks differ; on all of them. So is what `find` raises on any.
        """
        if self._comm is None:
            return find()
        self._come()
        found, error, words = None, None, ""
        try:
            found = find()
            words = told(found)
        except Exception as raised:
            error = raised
        of_all = self._comm.allgather((words, _told(error)))
        if error is not None:
            raise error
        for rank, (_, failed) in enumerate(of_all):
            if failed is not None:
                raise _raised(failed, rank)
        for rank, (theirs, _) in enumerate(of_all):
            if theirs != of_all[0][0]:
                raise InvalidArgument(
                    f"the ranks differ in {what}: got {shown_text(theirs)} on rank {rank}; "
                    f"allowed: {shown_text(of_all[0][0])} as on rank 0. Give every rank the same"
                )
        assert found is not None
        return found


def _told(error: Exception | None) -> tuple[str, str] | None:
    return None if error is None else (type(error).__name__, str(error))


def _raised(told: tuple[str, str], rank: int) -> Exception:
    kind, message = told
    made = getattr(_core, kind, _core.Error)
    return made(f"{message} (rank {rank})")
