# SPDX-License-Identifier: Apache-2.0
"""Work that the ranks of a communicator do together: errors of one are errors on all."""

from __future__ import annotations

import itertools
import math
import os
import pickle
import time
from array import array
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..base.messages import shown_difference
from .communicator import Communicator

if TYPE_CHECKING:
    from mpi4py import MPI

Found = TypeVar("Found")
_LOOK_EVERY_S = 0.02
_AWAKE_S = 1e-3
"""A rank that sleeps comes back later by a hundred microseconds, more than most calls take."""

_given_up: list[MPI.Request | _Message] = []
"""Calls that are not over: MPI may still write into their memory."""


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
    watch
        Tells of ranks that have died or are stopped, while this one waits for them.
    setting_up
        A call of MPI that blocks may follow, so a rank that waits here serves nothing: those that
        are in that call already would not do their part of it.
    """

    def __init__(
        self,
        comm: Communicator | None,
        timeout: float = math.inf,
        what: str = "a call of all ranks",
        watch: _core.WatchedTask | None = None,
        setting_up: bool = False,
    ) -> None:
        self._comm = comm
        self._timeout = timeout
        self._what = what
        self._watch = watch
        self._setting_up = setting_up

    def gather(self, mine: Found) -> list[Found]:
        """Return what each rank has, on the first; nothing on the others."""
        if self._comm is None:
            return [mine]
        self._come()
        said = pickle.dumps(mine, pickle.HIGHEST_PROTOCOL)
        if self._comm.rank > 0:
            self._wait(self._comm.Igather(array("q", [len(said)]), None))
            self._wait(self._comm.Igatherv(said, None))
            return []
        sizes = array("q", bytes(8 * self._comm.size))
        self._wait(self._comm.Igather(array("q", [len(said)]), sizes))
        of_all = bytearray(sum(sizes))
        self._wait(self._comm.Igatherv(said, [of_all, sizes.tolist(), _bytes()]))
        return _each(of_all, sizes)

    def gather_everywhere(self, mine: Found) -> list[Found]:
        """Return what each rank has, on all."""
        if self._comm is None:
            return [mine]
        self._come()
        return self.all_have(mine)

    def exchange(
        self, sent: np.ndarray, counts_to: Sequence[int], counts_from: Sequence[int]
    ) -> np.ndarray:
        """Return the elements that each rank has sent this one, in the order of the ranks.

        `sent` has those for each rank, likewise; `counts_to` and `counts_from` say how many.
        """
        if self._comm is None:
            return sent
        from mpi4py import MPI

        self._come()
        came = np.empty(sum(counts_from), sent.dtype)
        element = MPI.BYTE.Create_contiguous(sent.dtype.itemsize).Commit()
        try:
            call = self._comm.Ialltoallv(
                [sent, list(counts_to), element], [came, list(counts_from), element]
            )
            self._wait(call)
        finally:
            element.Free()  # which waits for the call
        return came

    @property
    def rank_and_size(self) -> tuple[int, int]:
        """Return which rank this is, and of how many."""
        return (0, 1) if self._comm is None else (self._comm.rank, self._comm.size)

    def some(self, comm: Communicator | None, what: str) -> Together:
        """Return some of these ranks, set up, which look after all of them. Local."""
        return Together(comm, self._timeout, what, self._watch)

    def set_up(self) -> Together:
        """Return the same ranks, which serve while they wait from now on. Local."""
        return self.some(self._comm, self._what)

    def all_have(self, mine: Found) -> list[Found]:
        """Return what each rank has, on all, without waiting for each to come first."""
        assert self._comm is not None
        said = pickle.dumps(mine, pickle.HIGHEST_PROTOCOL)
        sizes = array("q", bytes(8 * self._comm.size))
        self._wait(self._comm.Iallgather(array("q", [len(said)]), sizes))
        of_all = bytearray(sum(sizes))
        self._wait(self._comm.Iallgatherv(said, [of_all, sizes.tolist(), _bytes()]))
        return _each(of_all, sizes)

    def of_first(self, mine: Found) -> Found:
        """Return what the first rank has."""
        assert self._comm is not None
        said = bytearray(
            pickle.dumps(mine, pickle.HIGHEST_PROTOCOL) if self._comm.rank == 0 else b""
        )
        size = array("q", [len(said)])
        self._wait(self._comm.Ibcast(size))
        said = said or bytearray(size[0])
        self._wait(self._comm.Ibcast(said))
        return mine if self._comm.rank == 0 else pickle.loads(said)

    def _come(self) -> None:
        """Wait until all ranks are here; TimedOut when one does not come."""
        assert self._comm is not None
        self._wait(self._comm.Ibarrier(), self._timeout)

    def send(self, what: object, rank: int, tag: int) -> None:
        """Send one rank an object, as mpi4py pickles it."""
        assert self._comm is not None
        self._wait(self._comm.isend(what, rank, tag))

    def receive(self, rank: int, tag: int) -> object:
        """Return the object that one rank has sent."""
        assert self._comm is not None
        looks = _Message(self._comm, rank, tag)
        self._wait(looks)
        return looks.found

    def _wait(self, call: MPI.Request | _Message, timeout: float = math.inf) -> None:
        """Wait for a call of all ranks; serve and look after them meanwhile."""
        begin, nap = time.monotonic(), 0.0
        look_at = begin + _LOOK_EVERY_S
        try:
            while not call.Test():
                now = time.monotonic()
                if now - begin > timeout:
                    raise _core.TimedOut(
                        f"a rank did not come to {self._what} in time: got "
                        f"{timeout:g} s of waiting; allowed: less. Look at the other ranks, "
                        "or raise step_timeout"
                    )
                if self._watch is not None and now > look_at:
                    self._watch.look()
                    look_at = now + _LOOK_EVERY_S
                _core.serve(nap, self._setting_up)
                if now - begin < _AWAKE_S:
                    os.sched_yield()  # others may have no core of their own
                else:
                    nap = min(nap + 1e-5, 1e-3)
        except BaseException:
            _given_up.append(call)
            raise

    def run(self, work: Callable[[], Found], everywhere: bool = False) -> Found:
        """Work on the first rank, or on all; what one raises is raised on all.

        Returns what the first one does; with `everywhere`, each what it does itself.
        """
        if self._comm is not None:
            self._come()
        result = cast(Found, None)  # of `work`, or None where another rank works
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
            errors = self.all_have(_told(error))
        else:
            found, one = self.of_first((result, _told(error)))
            result = found
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
        of_all = self.all_have((words, _told(error)))
        if error is not None:
            raise error
        for rank, (_, failed) in enumerate(of_all):
            if failed is not None:
                raise _raised(failed, rank)
        for rank, (theirs, _) in enumerate(of_all):
            if theirs != of_all[0][0]:
                got, allowed = shown_difference(theirs, of_all[0][0])
                raise InvalidArgument(
                    f"the ranks differ in {what}: got {got} on rank {rank}; allowed: {allowed} as "
                    "on rank 0. Give every rank the same"
                )
        assert found is not None
        return found


class _Message:
    """An object that a rank sends: waited for like a call of MPI."""

    def __init__(self, comm: Communicator, source: int, tag: int) -> None:
        self._comm, self._from = comm, (source, tag)
        self._call: MPI.Request | None = None
        self.found: object = None

    def Test(self) -> bool:  # noqa: N802
        """Tell whether it is here, as a request of mpi4py."""
        if self._call is None:
            if (message := self._comm.improbe(*self._from)) is None:
                return False
            self._call = message.irecv()
        done, self.found = self._call.test()
        return done


def _each(of_all: bytearray, sizes: Sequence[int]) -> list[Found]:
    """Return what each rank has said, of all that was said in a row."""
    ends = itertools.accumulate(sizes)
    with memoryview(of_all) as said:
        return [pickle.loads(said[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def _bytes() -> MPI.Datatype:
    from mpi4py import MPI

    return MPI.BYTE


def _told(error: Exception | None) -> tuple[str, str] | None:
    return None if error is None else (type(error).__name__, str(error))


def _raised(told: tuple[str, str], rank: int) -> Exception:
    kind, message = told
    made = getattr(_core, kind, _core.Error)
    return made(f"{message} (rank {rank})")
