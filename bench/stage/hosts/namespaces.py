# SPDX-License-Identifier: Apache-2.0
"""Two hosts that are network namespaces, with one cable between them that nothing slows down."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Self

NETWORK = "10.79.0"
DEVICE = "eth0"
_NAMESPACES = Path("/run/netns")


class NoHostsError(RuntimeError):
    """There can be no hosts here, and why."""


class Hosts:
    """The writer's host and the reader's; as a context manager, which leaves nothing behind."""

    def __init__(self) -> None:
        if os.geteuid() != 0:
            raise NoHostsError("two hosts are network namespaces, which only root can make")
        if shutil.which("ip") is None or shutil.which("unshare") is None:
            raise NoHostsError("there is no ip(8) or no unshare(1): apt-get install iproute2")
        self._names = [f"bench{os.getpid()}{side}" for side in ("w", "r")]
        self._undo = contextlib.ExitStack()
        try:
            self._build()
        except subprocess.CalledProcessError as error:
            self.close()
            raise NoHostsError(f"no network namespaces here: {error.stderr.strip()}") from error

    def _build(self) -> None:
        for name in self._names:
            _ip("netns", "add", name)
            self._undo.callback(
                subprocess.run, ["ip", "netns", "del", name], capture_output=True, check=False
            )
        writer, reader = self._names
        cable = ("type", "veth", "peer", "name", DEVICE, "netns", reader)
        _ip("link", "add", DEVICE, "netns", writer, *cable)
        for name, address in zip(self._names, self.addresses, strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", DEVICE)
            # Some systems' choice of congestion control takes a third of the bandwidth here.
            route = ("dev", DEVICE, "src", address, "congctl", "cubic")
            for device in (DEVICE, "lo"):
                _ip("-n", name, "link", "set", device, "up")
            _ip("-n", name, "route", "replace", f"{NETWORK}.0/24", *route)

    addresses = (f"{NETWORK}.1", f"{NETWORK}.2")

    @property
    def files(self) -> tuple[str, str]:
        """The files of both namespaces, which a process can enter."""
        writer, reader = (str(_NAMESPACES / name) for name in self._names)
        return writer, reader

    def on(self, side: int) -> list[str]:
        """Return the words before a command that runs it on a host; the process stays the same."""
        name = self._names[side]
        words = ["ip", "netns", "exec", name, "unshare", "--uts", "--ipc", "sh", "-c"]
        return [*words, 'hostname "$0" && exec "$@"', name]

    def close(self) -> None:
        """Leave nothing behind."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, text=True, check=True)
