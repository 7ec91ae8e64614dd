# SPDX-License-Identifier: Apache-2.0
"""What the guards of all ranks report; `rank_guard` has the messages."""

from __future__ import annotations

import contextlib
import os
import secrets
import selectors
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from .rank_guard import MESSAGE_BYTES_MAX

_END, _SIGNAL = b"E", b"S"
_LAST_KIND = {b"3": b"1", b"4": b"2"}
_CREDENTIALS = struct.Struct("3i")  # process, user, group


@dataclass(frozen=True)
class RankEnded:
    """A rank's program has ended.

    The code is its exit code, or minus the signal that killed it; None when its guard was killed.
    """

    job: int
    rank: int
    code: int | None


@dataclass
class _Guard:
    connection: socket.socket
    job: int = -1
    rank: int = -1
    has_told: bool = False
    begun: dict[bytes, bytearray] = field(default_factory=dict)
    """What came of messages that are longer than one, by the kind of the last piece."""


class GuardReports:
    """The socket that guards report to; prints what their programs print."""

    def __init__(self, wake: int) -> None:
        """`wake` is a descriptor that ends a `wait`, too, when it is readable."""
        self.address = f"fluvial-run-{os.getpid()}-{secrets.token_hex(8)}"
        self._door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._door.bind(f"\0{self.address}")
        self._door.listen(socket.SOMAXCONN)
        self._door.setblocking(False)
        self._guards: dict[int, _Guard] = {}
        self._signals: dict[int, list[int]] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._door, selectors.EVENT_READ)
        self._selector.register(wake, selectors.EVENT_READ)

    def wait(self, seconds: float) -> Iterator[RankEnded]:
        """Wait for reports, print what is printed, and yield what has ended."""
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._door:
                with contextlib.suppress(BlockingIOError):
                    while True:
                        self._let_in(self._door.accept()[0])
            elif key.fd in self._guards:
                yield from self._read(self._guards[key.fd])

    def attend(self, descriptor: int) -> None:
        """Have it end a `wait`, too, when it is readable."""
        self._selector.register(descriptor, selectors.EVENT_READ)

    def forget(self, descriptor: int) -> None:
        """Undo `attend`."""
        self._selector.unregister(descriptor)

    @property
    def guards(self) -> int:
        """How many are connected."""
        return len(self._guards)

    def end(self, job: int) -> int:
        """Have the guards of a job kill what runs, and end; return how many were told."""
        return self._tell(job, _END)

    def signal(self, job: int, number: int) -> int:
        """Send a signal to the program of each rank, also of those to come; return how many got it.

        A guard that does not listen yet would die of it, and mpiexec would say so.
        """
        self._signals.setdefault(job, []).append(number)
        return self._tell(job, b"%s%d" % (_SIGNAL, number))

    def close(self) -> None:
        """Close all connections, which ends all guards."""
        for guard in list(self._guards.values()):
            self._let_go(guard)
        self._door.close()
        self._selector.close()

    def _tell(self, job: int, message: bytes) -> int:
        told = 0
        for guard in self._guards.values():
            if guard.job == job:
                with contextlib.suppress(OSError):
                    guard.connection.send(message)
                    told += 1
        return told

    def _let_in(self, connection: socket.socket) -> None:
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        _, user, _ = _CREDENTIALS.unpack(peer)
        if user != os.getuid():  # an abstract socket lets every user in
            connection.close()
            return
        connection.setblocking(False)
        self._guards[connection.fileno()] = _Guard(connection)
        self._selector.register(connection, selectors.EVENT_READ)

    def _let_go(self, guard: _Guard) -> None:
        self._selector.unregister(guard.connection)
        del self._guards[guard.connection.fileno()]
        guard.connection.close()

    def _read(self, guard: _Guard) -> Iterator[RankEnded]:
        try:
            message = guard.connection.recv(MESSAGE_BYTES_MAX + 1)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        kind, text = message[:1], message[1:]
        if kind in (b"1", b"2"):
            write_all(int(kind), bytes(guard.begun.pop(kind, b"")) + text)
        elif kind in _LAST_KIND:
            guard.begun.setdefault(_LAST_KIND[kind], bytearray()).extend(text)
        elif kind == b"H":
            self._greet(guard, *map(int, text.split()))
        elif kind == b"X":
            guard.has_told = True
            yield RankEnded(guard.job, guard.rank, int(text))
        else:
            self._let_go(guard)
            if not guard.has_told and guard.job >= 0:
                yield RankEnded(guard.job, guard.rank, None)

    def _greet(self, guard: _Guard, job: int, rank: int) -> None:
        guard.job, guard.rank = job, rank
        for number in self._signals.get(job, []):
            with contextlib.suppress(OSError):
                guard.connection.send(b"%s%d" % (_SIGNAL, number))


def write_all(descriptor: int, text: bytes) -> None:
    """Write all of it."""
    while text:
        text = text[os.write(descriptor, text) :]
