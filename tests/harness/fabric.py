# SPDX-License-Identifier: Apache-2.0
"""Cables between the hosts of a cluster in a box, as a topology says: MPI's messages go by them.

Each link is a cable of its own with the topology's bandwidth, so that only what goes by several
cables is faster than one. A message takes the route that the topology has for it: hosts on the way
pass it on in the kernel. Programs are started by way of the box's switch. Needs tc(8) beside ip.
"""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from harness.box import Box, NoBox
from harness.sentence import Link

if TYPE_CHECKING:
    import fluvial as fl

NETWORK = "10.78.0"
DEVICE = "fabric0"

# What a cable takes at once: what the kernel hands over at once (64 KiB), or it would be cut.
_BURST_BYTES = 65_536
# What waits in front of a cable. TCP's window is held back by this, not by losses.
_QUEUE_BYTES = 1 << 20


class Fabric:
    """The cables of a box whose hosts 1, 2, … are the hosts 0, 1, … of a topology."""

    def __init__(self, box: Box, topology: fl.route.Topology) -> None:
        if shutil.which("tc") is None:
            raise NoBox("there is no tc(8)")
        if topology.nodes != topology.hosts or topology.hosts != box.hosts:
            raise ValueError(f"{topology!r} is not one of {box.hosts} hosts without switches")
        self._box = box
        self.topology = topology
        try:
            self._build()
        except subprocess.CalledProcessError as error:
            raise NoBox(f"no cables between hosts here: {error.stderr.strip()}") from error
        box.use_network(NETWORK, DEVICE)

    def _build(self) -> None:
        cables = {(link.source, link.target) for link in self.topology.links}
        for host in range(self.topology.hosts):
            # One end of a cable to nowhere has the address, whatever cable a message comes by.
            self._ip(host, "link", "add", DEVICE, "type", "veth", "peer", "name", "nowhere")
            self._ip(host, "addr", "add", f"{address(host)}/24", "dev", DEVICE)
            for device in (DEVICE, "nowhere"):
                self._ip(host, "link", "set", device, "up")
            self._set(host, "net/ipv4/ip_forward", 1)
        for host, other in sorted(cables):
            if host < other:
                self._lay(host, other)
        for link in self.topology.links:
            self.set_bandwidth(link.source, link.target, link.bandwidth)
        for host in range(self.topology.hosts):
            self._route_from(host)

    def _lay(self, host: int, other: int) -> None:
        words = ("type", "veth", "peer", "name", _port(host), "netns", self._box.name(other + 1))
        self._ip(host, "link", "add", _port(other), *words)
        for here, there in ((host, other), (other, host)):
            self._ip(here, "link", "set", _port(there), "up")

    def _route_from(self, host: int) -> None:
        for target in range(self.topology.hosts):
            if target != host:
                towards = self.topology.route(host, target)[1]
                way = [] if towards == target else ["via", address(towards), "onlink"]
                words = ["dev", _port(towards), "src", address(host)]
                self._ip(host, "route", "add", f"{address(target)}/32", *way, *words)

    def set_bandwidth(self, host: int, other: int, bandwidth: float) -> None:
        """Give one direction of a cable so many bytes per second."""
        _shape(self._box.name(host + 1), _port(other), bandwidth)

    def cut(self, host: int, other: int) -> None:
        """Pull a cable out at one end."""
        self._ip(host, "link", "set", _port(other), "down")

    def carried(self, host: int, other: int) -> int:
        """Return the bytes that one direction of a cable has carried."""
        path = f"/sys/class/net/{_port(other)}/statistics/tx_bytes"
        words = ["ip", "netns", "exec", self._box.name(host + 1), "cat", path]
        return int(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    def _ip(self, host: int, *words: str) -> None:
        self._box.ip("-n", self._box.name(host + 1), *words)

    def _set(self, host: int, name: str, value: int) -> None:
        words = ["sh", "-c", f"echo {value} > /proc/sys/{name}"]
        words = ["ip", "netns", "exec", self._box.name(host + 1), *words]
        subprocess.run(words, capture_output=True, text=True, check=True)


def address(host: int) -> str:
    """Return the address at which MPI reaches a host of the topology."""
    return f"{NETWORK}.{host + 1}"


def shape_port(box: Box, number: int, bandwidth: float, device: str = "eth0") -> None:
    """Give both directions of a host's cable into the box's switch so many bytes per second."""
    if shutil.which("tc") is None:
        raise NoBox("there is no tc(8)")
    try:
        for namespace, end in box.ends_of_cable(number, device):
            _shape(namespace, end, bandwidth)
    except subprocess.CalledProcessError as error:
        raise NoBox(f"no shaped cables here: {error.stderr.strip()}") from error


def shape_all(box: Box, link: Link) -> None:
    """Give the cables of all hosts of a box what a scenario says of its links."""
    for number in range(1, box.hosts + 1):
        shape_port(box, number, link.bandwidth)
        if link.delay_s:
            _delay(box, number, link.delay_s)


def _delay(box: Box, number: int, seconds: float) -> None:
    # Where the packet leaves its host: once on its way.
    words = ["tc", "-n", box.name(number), "qdisc", "add", "dev", "eth0", "parent", "1:1"]
    words += ["netem", "delay", f"{seconds * 1e6:.0f}us", "limit", "100000"]
    try:
        subprocess.run(words, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise NoBox(f"this kernel delays no packets (netem): {error.stderr.strip()}") from error


def _shape(namespace: str, device: str, bandwidth: float) -> None:
    # Linux counts 14 bytes of each packet more than TCP does, and 52 of headers.
    words = ["tc", "-n", namespace, "qdisc", "replace", "dev", device]
    words += [
        "root",
        "handle",
        "1:",
        "tbf",
        "rate",
        f"{bandwidth * 8:.0f}bit",
        "burst",
        str(_BURST_BYTES),
    ]
    words += ["limit", str(_QUEUE_BYTES)]
    subprocess.run(words, capture_output=True, text=True, check=True)


def _port(host: int) -> str:
    return f"to{host}"
