# SPDX-License-Identifier: Apache-2.0
"""Messages between hosts, and the time that they take."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._core import TimedOut, serve
from ..mpi.communicator import Communicator

if TYPE_CHECKING:
    from mpi4py import MPI

_UNIT_BYTES = 1 << 20
_IN_FLIGHT = 4
_FIRST_BYTES = 1 << 14
_LAST_BYTES = 1 << 32
_ROUND_TRIPS = 30
_TRIES = 3
# A look at MPI takes some microseconds: so many in vain, and a rank sleeps between them.
_LOOKS = 300
_NAP_S = 5e-5
_SIGN, _DATA, _SIZE, _RATE = range(4)


class Transfers:
    """Of one communicator, in which one rank of each host takes part, and the others wait.

    All ranks call the same methods in the same order, one measurement after the other.
    """

    def __init__(
        self, comm: Communicator, ranks: Sequence[int], seconds: float, timeout: float
    ) -> None:
        self._comm = comm
        self._rank_of = list(ranks)
        rank = comm.Get_rank()
        self._host = self._rank_of.index(rank) if rank in self._rank_of else None
        self._seconds = seconds
        self._timeout = timeout
        self.hosts = len(self._rank_of)

    def alone(self, source: int, target: int) -> tuple[float, float]:
        """Return seconds of latency and bytes per second from host to host, on host 0's rank."""
        found = np.zeros(2)
        if self._host == source:
            found[0] = self._ping(target)
            found[1] = self._bandwidth_to(target, found[0])
        elif self._host == target:
            self._pong(source)
            while size := self._take(source, _SIZE, np.zeros(1, np.int64)):
                self._receive([(source, size)])
        return tuple(map(float, self._told(source, found)))  # type: ignore[return-value]

    def at_once(self, pairs: Sequence[tuple[int, int]], bandwidth: np.ndarray) -> float:
        """Return the bytes per second of all pairs together, on host 0's rank.

        All pairs have one host in common. Each carries as much as it does alone in the time of a
        measurement, so that they end together if none is in the others' way. `bandwidth` counts on
        host 0.
        """
        # Everybody needs the same sizes.
        alone = np.array([bandwidth[pair] for pair in pairs], np.float64)
        self._finish(self._comm.Ibcast(alone))
        sizes = [max(_FIRST_BYTES, int(rate * self._seconds)) for rate in alone]
        found = np.zeros(1)
        parts = [(a, b, size) for (a, b), size in zip(pairs, sizes, strict=True)]
        hub = pairs[0][0] if len({a for a, _ in pairs}) == 1 else pairs[0][1]
        for _ in range(_TRIES):
            took = self._carry(parts)
            if self._host == hub:
                found[0] = max(found[0], sum(sizes) / took)
        return float(self._told(hub, found)[0])

    def _carry(self, parts: list[tuple[int, int, int]]) -> float:
        """Do this host's share of (from, to, bytes), and return the seconds that it took."""
        began = time.perf_counter()
        outgoing = [(b, size) for a, b, size in parts if a == self._host]
        incoming = [(a, size) for a, b, size in parts if b == self._host]
        if outgoing:
            self._send(outgoing)
        if incoming:
            self._receive(incoming)
        return time.perf_counter() - began

    def _bandwidth_to(self, target: int, latency: float) -> float:
        """Send more and more, until that takes long enough; the best of several times."""

        def send(size: int) -> float:
            self._give(target, _SIZE, np.array([size], np.int64))
            return self._send([(target, size)])

        size = _FIRST_BYTES
        while (took := send(size)) < self._seconds / 2 and size < _LAST_BYTES:
            size = min(_LAST_BYTES, int(size * min(8.0, 1.2 * self._seconds / took)) + 1)
        took = min(took, *(send(size) for _ in range(_TRIES - 1)))
        self._give(target, _SIZE, np.zeros(1, np.int64))
        return size / max(took - 2 * latency, 1e-9)

    def _send(self, parts: list[tuple[int, int]]) -> float:
        """Send so much to each host, and return how long it took until all had it."""
        for target, _ in parts:
            self._take(target, _SIGN, np.zeros(1, np.int64))  # its receives are posted
        began = time.perf_counter()
        streams = [self._stream(self._comm.Isend, target, size) for target, size in parts]
        self._run(streams)
        for target, _ in parts:
            self._take(target, _SIGN, np.zeros(1, np.int64))
        return time.perf_counter() - began

    def _receive(self, parts: list[tuple[int, int]]) -> None:
        """Receive so much from each host."""
        streams = [self._stream(self._comm.Irecv, source, size) for source, size in parts]
        for source, _ in parts:
            self._give(source, _SIGN, np.zeros(1, np.int64))
        self._run(streams)
        for source, _ in parts:
            self._give(source, _SIGN, np.zeros(1, np.int64))

    def _stream(self, post: Callable[..., MPI.Request], host: int, size: int) -> _Stream:
        return _Stream(post, self._rank_of[host], size)

    def _run(self, streams: list[_Stream]) -> None:
        # Each stream has its turn, whatever the others did.
        self._wait(lambda: any([stream.step() for stream in streams]), streams)

    def _ping(self, target: int) -> float:
        one, best = np.zeros(1, np.int64), float("inf")
        for _ in range(_ROUND_TRIPS):
            began = time.perf_counter()
            self._give(target, _SIGN, one)
            self._take(target, _SIGN, one)
            best = min(best, time.perf_counter() - began)
        return best / 2

    def _pong(self, source: int) -> None:
        one = np.zeros(1, np.int64)
        for _ in range(_ROUND_TRIPS):
            self._take(source, _SIGN, one)
            self._give(source, _SIGN, one)

    def _give(self, host: int, tag: int, what: np.ndarray) -> None:
        self._finish(self._comm.Isend(what, self._rank_of[host], tag))

    def _take(self, host: int, tag: int, where: np.ndarray) -> int:
        self._finish(self._comm.Irecv(where, self._rank_of[host], tag))
        return int(where[0])

    def _told(self, host: int, found: np.ndarray) -> np.ndarray:
        """Return what `host` has found, on host 0's rank; all ranks are done then."""
        # Transfers of others fit in here: of one host with all the rest, several times.
        limit = self._timeout + (20 + 3 * _TRIES * self.hosts) * self._seconds
        if host != 0 and self._host == host:
            self._finish(self._comm.Isend(found, self._rank_of[0], _RATE))
        elif host != 0 and self._host == 0:
            self._finish(self._comm.Irecv(found, self._rank_of[host], _RATE), limit)
        self._finish(self._comm.Ibarrier(), limit)
        return found

    def _finish(self, request: MPI.Request, timeout: float | None = None) -> None:
        self._wait(request.Test, None, timeout)

    def _wait(
        self,
        look: Callable[[], bool],
        streams: list[_Stream] | None,
        timeout: float | None = None,
    ) -> None:
        """Wait for a look that is True; or for all streams, where that is a movement."""
        limit = self._timeout if timeout is None else timeout
        looks, moved = 0, time.perf_counter()
        while True:
            seen = look()
            if seen if streams is None else all(stream.done for stream in streams):
                return
            if seen:
                looks, moved = 0, time.perf_counter()
                continue
            looks += 1
            if looks > _LOOKS:
                serve(_NAP_S)
                if time.perf_counter() - moved > limit:
                    raise TimedOut(
                        f"a host has not answered: got nothing for {limit:g} s. A rank may "
                        "have died, or two hosts cannot reach each other; or give it more time"
                    )


class _Stream:
    """Bytes for one rank, or from it, by messages of which several are under way."""

    def __init__(self, post: Callable[..., MPI.Request], rank: int, size: int) -> None:
        self._post, self._rank, self._left = post, rank, size
        slots = min(_IN_FLIGHT, -(-size // _UNIT_BYTES))
        self._memory = np.zeros((slots, min(size, _UNIT_BYTES)), np.uint8)
        self._under_way: list[MPI.Request | None] = [None] * slots
        self._turn = 0
        self.step()

    @property
    def done(self) -> bool:
        return self._left == 0 and not any(self._under_way)

    def step(self) -> bool:
        """Return whether a message is complete or another one has been posted."""
        moved = False
        for _ in self._under_way:
            request = self._under_way[self._turn]
            if request is not None and not request.Test():
                break  # messages end in their order
            moved = moved or request is not None or self._left > 0
            self._under_way[self._turn] = None
            if self._left > 0:
                size = min(self._left, _UNIT_BYTES)
                self._left -= size
                part = self._memory[self._turn][:size]
                self._under_way[self._turn] = self._post(part, self._rank, _DATA)
            self._turn = (self._turn + 1) % len(self._under_way)
        return moved
