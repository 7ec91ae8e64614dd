# SPDX-License-Identifier: Apache-2.0
"""The sockets between a program and the first rank of the job that it has started for its pool.

Their names are abstract: nothing of them is left on a disk, however the program ends. Such a socket
lets every user in, so each side looks whose process the other is, before it reads what it says.
"""

from __future__ import annotations

import os
import secrets
import socket
import struct
from multiprocessing.connection import Connection

_CREDENTIALS = struct.Struct("3i")  # process, user, group


def listening() -> tuple[socket.socket, str]:
    """Return a socket that the first rank connects to, and its name."""
    name = f"fluvial-pool-{os.getpid()}-{secrets.token_hex(8)}"
    listener = socket.socket(socket.AF_UNIX)
    try:
        listener.bind(f"\0{name}")
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener, name


def accepted(listener: socket.socket) -> Connection | None:
    """Return a connection that has come; None for one of another user, which is closed.

    Raises
    ------
    TimeoutError
        When none comes in the socket's time.
    """
    return _of_this_user(listener.accept()[0])


def connected(name: str) -> Connection:
    """Connect to a socket of this name.

    Raises
    ------
    PermissionError
        The socket is another user's: the program has ended, and its name was taken.
    """
    end = socket.socket(socket.AF_UNIX)
    end.connect(f"\0{name}")
    connection = _of_this_user(end)
    if connection is None:
        raise PermissionError(f"the socket of a pool is another user's: got {name}")
    return connection


def _of_this_user(end: socket.socket) -> Connection | None:
    peer = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(peer)
    if user != os.getuid():
        end.close()
        return None
    end.settimeout(None)
    return Connection(end.detach())
