# SPDX-License-Identifier: Apache-2.0
"""A cluster in a box: hosts that are namespaces of this machine, on a network of their own.

Each host has its own network, name, shared memory, process ids and System V objects, so that no
library takes two of them for one machine. They share the file system. Needs root, and ip(8).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any, Self

from fluvial.launch import Launcher

NETWORK = "10.77.0"
_NUMBERS = itertools.count()

# Runs a command on a host. Open MPI names its folders by host and process id, and each command on a
# host has the ids of a machine of its own: so it gets a folder for these.
_ON_HOST = """#!/bin/sh
host=$1; shift
TMPDIR=$(mktemp -d {folder}/t-XXXXXX) || exit 1
export TMPDIR
exec ip netns exec "$host" unshare --uts --ipc --mount --pid --fork --kill-child --mount-proc \\
    sh -c 'hostname "$0" && mount -t tmpfs tmpfs /dev/shm && exec "$@"' "$host" "$@"
"""
# In the place of ssh: its last arguments are a host and a command for a shell.
_REMOTE_SHELL = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1; shift
exec {on_host} "{prefix}${{host##*.}}" sh -c "$*"
"""


class NoBox(Exception):  # noqa: N818
    """There is no cluster in a box here, and why."""


class Box:
    """Hosts numbered from 1, each with one interface, on a switch; as a context manager."""

    def __init__(self, hosts: int) -> None:
        if os.geteuid() != 0:
            raise NoBox("only root can make hosts of namespaces")
        for program in ("ip", "unshare"):
            if shutil.which(program) is None:
                raise NoBox(f"there is no {program}(8)")
        self.hosts = hosts
        self.prefix = f"flv{os.getpid() % 100_000}{chr(97 + next(_NUMBERS) % 26)}"
        self._switch = f"{self.prefix}s"
        self._network, self._device = NETWORK, ""
        self._undo = contextlib.ExitStack()
        self._scripts = pathlib.Path(
            self._undo.enter_context(
                tempfile.TemporaryDirectory(prefix="fluvial-box-", ignore_cleanup_errors=True)
            )
        )
        try:
            self._build()
        except subprocess.CalledProcessError as error:
            self.close()
            raise NoBox(f"no network namespaces here: {error.stderr.strip()}") from error

    def _build(self) -> None:
        for name in (self._switch, *map(self.name, range(1, self.hosts + 1))):
            self.ip("netns", "add", name)
            words = ["ip", "netns", "del", name]
            self._undo.callback(subprocess.run, words, capture_output=True, check=False)
        self.ip("-n", self._switch, "link", "add", "br0", "type", "bridge")
        self.ip("-n", self._switch, "link", "set", "br0", "up")
        for number in range(1, self.hosts + 1):
            name, port = self.name(number), self._port(number)
            words = ("type", "veth", "peer", "name", "eth0", "netns", name)
            self.ip("link", "add", port, "netns", self._switch, *words)
            self.ip("-n", self._switch, "link", "set", port, "master", "br0", "up")
            self.ip("-n", name, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                self.ip("-n", name, "link", "set", device, "up")
        on_host, shell = self._scripts / "on_host", self._scripts / "remote_shell"
        on_host.write_text(_ON_HOST.format(folder=self._scripts))
        shell.write_text(_REMOTE_SHELL.format(on_host=on_host, prefix=self.prefix))
        for script in (on_host, shell):
            script.chmod(0o755)

    @staticmethod
    def ip(*words: str) -> str:
        """Run ip(8)."""
        return subprocess.run(["ip", *words], capture_output=True, text=True, check=True).stdout

    def name(self, number: int) -> str:
        """Return the name of a host."""
        return f"{self.prefix}{number}"

    @staticmethod
    def address(number: int) -> str:
        """Return the address of a host."""
        return f"{NETWORK}.{number}"

    @staticmethod
    def _port(number: int, device: str = "eth0") -> str:
        return f"p{number}" if device == "eth0" else f"p{number}{device}"

    def use_network(self, network: str, device: str) -> None:
        """Have MPI's messages go by `device` of each host, whose addresses are in `network`."""
        self._network, self._device = network, device

    def on(self, number: int, words: Sequence[str]) -> list[str]:
        """Return the command that runs `words` on a host."""
        return [str(self._scripts / "on_host"), self.name(number), *words]

    def command(
        self, launcher: Launcher, hosts: Sequence[int], ranks: int, argv: Sequence[str]
    ) -> list[str]:
        """Return the command that runs `argv` on `ranks` ranks, spread equally over `hosts`."""
        if len(hosts) == 1:
            return self.on(hosts[0], launcher.command(ranks, argv))
        each = -(-ranks // len(hosts))
        places = ",".join(f"{self.address(host)}:{each}" for host in hosts)
        shell = str(self._scripts / "remote_shell")
        if launcher.mpi == "openmpi":
            options = ["--mca", "plm_rsh_agent", shell, "--bind-to", "none", "--oversubscribe"]
            options += ["--mca", "btl", "tcp,vader,self", "--mca", "pml", "ob1"]
            options += ["--mca", "oob_tcp_if_include", f"{NETWORK}.0/24"]
            options += ["--mca", "btl_tcp_if_include", f"{self._network}.0/24", "--host", places]
        else:
            first = self.address(hosts[0])
            options = ["-launcher", "ssh", "-launcher-exec", shell, "-localhost", first]
            options += ["-hosts", places]
            if self._device:
                # Not by UCX: it wants all routes to begin at the device with the address.
                for name, value in (
                    ("MPIR_CVAR_CH4_NETMOD", "ofi"),
                    ("FI_PROVIDER", "tcp"),
                    ("FI_TCP_IFACE", self._device),
                ):
                    options += ["-genv", name, value]
        words = [launcher.mpiexec, *options, "-n", str(ranks), *argv]
        return self.on(hosts[0], words)

    def ends_of_cable(self, number: int, device: str = "eth0") -> list[tuple[str, str]]:
        """Return namespace and device of both ends of a host's cable into the switch."""
        return [(self.name(number), device), (self._switch, self._port(number, device))]

    def unplug(self, number: int, device: str = "eth0") -> None:
        """Pull a cable of a host out of the switch."""
        self.ip("-n", self._switch, "link", "set", self._port(number, device), "down")

    def plug_in(self, number: int, device: str = "eth0") -> None:
        """Put it back."""
        self.ip("-n", self._switch, "link", "set", self._port(number, device), "up")

    def add_switch(self, switch: str) -> None:
        """Add a switch, which no cable joins to the first one, "br0"."""
        self.ip("-n", self._switch, "link", "add", switch, "type", "bridge")
        self.ip("-n", self._switch, "link", "set", switch, "up")

    def add_interface(self, number: int, device: str, address: str, switch: str = "br0") -> None:
        """Give a host another interface, with a cable of its own into a switch."""
        name, port = self.name(number), self._port(number, device)
        words = ("type", "veth", "peer", "name", device, "netns", name)
        self.ip("link", "add", port, "netns", self._switch, *words)
        self.ip("-n", self._switch, "link", "set", port, "master", switch, "up")
        self.ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
        self.ip("-n", name, "link", "set", device, "up")

    def sent_bytes(self, number: int, device: str = "eth0") -> int:
        """Return what a host has sent over an interface."""
        path = f"/sys/class/net/{device}/statistics/tx_bytes"
        words = ["ip", "netns", "exec", self.name(number), "cat", path]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    def close(self) -> None:
        """Leave nothing behind."""
        self._undo.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
