# SPDX-License-Identifier: Apache-2.0
"""A topology that is found by measuring: how fast the hosts of a job reach each other.

Each host measures with each other one alone, in both directions: the latency, and the bandwidth of
long messages. Then each host in turn sends to all others at once, and receives from all of them.
What it reaches then says whether it has cables of its own to them, or one for all.
"""

from __future__ import annotations

import json
import math
import socket
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .._core import InvalidArgument
from ..base.arguments import to_float
from ..base.messages import shown
from ..mpi.communicator import Communicator, check_communicator
from ..mpi.together import Together
from .timed_transfers import Transfers

Progress = Callable[[int, int], None]
"""Is called with how many measurements are done, and how many there are."""

_Link = dict[str, str | float | bool]
"""A direction of a cable, as the JSON file of a topology says it."""

# A host that reaches so much of the sum of what it reaches alone has a cable to each other one:
# with one cable for all it would be half of it, or less.
_OWN_CABLES = 0.75
# A pair alone reaches so much of what its hosts reach with all: the switch holds no pair up.
_LIKE_A_SWITCH = 0.8
_SWITCH = "switch"


class Measured(NamedTuple):
    """What `measure` has found; the same on all ranks."""

    hosts: tuple[str, ...]
    """Names of the machines, by their first ranks."""
    host_of_rank: tuple[int, ...]
    bandwidth: np.ndarray
    """Bytes per second from host to host, alone; 0 from one to itself."""
    latency: np.ndarray
    """Seconds from host to host."""
    sending: np.ndarray
    """Bytes per second of each host to all others at once."""
    receiving: np.ndarray
    """Bytes per second of each host from all others at once."""

    @property
    def kind(self) -> str:
        """What the network looks like from outside.

        "mesh": hosts have a cable to each other one. "switch": they have one cable, into a switch
        that holds no pair up. "limits": neither; each pair of hosts has a bandwidth, and each host
        one for all that it sends and receives.
        """
        sums = self.bandwidth.sum(axis=1), self.bandwidth.sum(axis=0)
        if all(
            (reached >= _OWN_CABLES * alone).all()
            for reached, alone in zip((self.sending, self.receiving), sums, strict=True)
        ):
            return "mesh"
        most = np.minimum.outer(self.sending, self.receiving)
        apart = ~np.eye(len(self.hosts), dtype=bool)
        if (self.bandwidth[apart] >= _LIKE_A_SWITCH * most[apart]).all():
            return "switch"
        return "limits"

    def description(self) -> dict[str, list[str] | list[_Link]]:
        """Return what the JSON file of a topology says, as `topology` reads it."""
        ranks = [self.hosts[host] for host in self.host_of_rank]
        switches, links = {"mesh": _mesh, "switch": _switch, "limits": _limits}[self.kind](self)
        return {"hosts": list(self.hosts), "switches": switches, "links": links, "ranks": ranks}

    def to_json(self) -> str:
        """Return the JSON file's text, a link a line."""
        said = self.description()
        rest = {name: said[name] for name in ("hosts", "switches", "ranks")}
        members = [f"{json.dumps(name)}: {json.dumps(value)}" for name, value in rest.items()]
        links = ",\n    ".join(json.dumps(link) for link in said["links"])
        members.append(f'"links": [\n    {links}\n  ]' if links else '"links": []')
        return "{\n  " + ",\n  ".join(members) + "\n}\n"


def measure(
    comm: Communicator,
    *,
    seconds: float = 0.25,
    timeout: float = 60.0,
    progress: Progress | None = None,
) -> Measured:
    """Measure how fast the hosts of a job reach each other. Collective, blocking.

    The first rank of each host measures, the others wait. With h hosts it takes some
    5 h² `seconds`, in which nothing else should use the network. What is found is what messages of
    this MPI reach. Cables inside the network that several pairs of hosts share are not found: where
    it is known, a topology in words (``"torus:8x8x8"``) says more.

    Parameters
    ----------
    comm
        An mpi4py communicator with ranks on all hosts.
    seconds
        That one measurement of a bandwidth takes, about.
    timeout
        Seconds without any movement after which a rank gives up.
    progress
        Called on rank 0 with the measurements that are done, and how many there are.

    Raises
    ------
    InvalidArgument
        On all ranks: a number out of range on one, or ranks that differ in them.
    TimedOut
        A host has not answered for `timeout`.

    Examples
    --------
    >>> import fluvial as fl
    >>> from mpi4py import MPI
    >>> found = fl.route.measure(MPI.COMM_SELF)
    >>> len(found.hosts), found.host_of_rank, found.description()["links"]
    (1, (0,), [])
    """
    check_communicator(comm)
    ranks = Together(comm, math.inf, "measure a network", setting_up=True)
    seconds, timeout = ranks.alike(
        "the options of a measurement",
        lambda: (_limit(seconds, "seconds"), _limit(timeout, "timeout")),
        lambda limits: "seconds={:g}, timeout={:g}".format(*limits),
    )
    names = ranks.gather_everywhere(socket.gethostname())
    hosts = tuple(dict.fromkeys(names))
    host_of_rank = tuple(hosts.index(name) for name in names)
    own = comm.Dup()
    try:
        transfers = Transfers(
            own, [host_of_rank.index(host) for host in range(len(hosts))], seconds, timeout
        )
        found = _measure(transfers, progress if comm.Get_rank() == 0 else None)
        return Measured(hosts, host_of_rank, *ranks.run(lambda: found))
    finally:
        own.Free()


def _limit(value: object, name: str) -> float:
    number = to_float(value, name)
    if not 0 < number <= 3600:
        raise InvalidArgument(
            f"{name} is out of range: got {shown(value)}; allowed: above 0 to 3600"
        )
    return number


def _measure(transfers: Transfers, progress: Progress | None) -> list[np.ndarray]:
    """Return, on the rank of host 0, the four arrays of `Measured`."""
    hosts = transfers.hosts
    bandwidth, latency = np.zeros((hosts, hosts)), np.zeros((hosts, hosts))
    sending, receiving = np.zeros(hosts), np.zeros(hosts)
    pairs = [(a, b) for a in range(hosts) for b in range(hosts) if a != b]
    total, done = len(pairs) + 2 * hosts if pairs else 0, 0

    def count() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    for a, b in pairs:
        latency[a, b], bandwidth[a, b] = transfers.alone(a, b)
        count()
    for host in range(hosts if pairs else 0):
        others = [other for other in range(hosts) if other != host]
        sending[host] = transfers.at_once([(host, other) for other in others], bandwidth)
        count()
        receiving[host] = transfers.at_once([(other, host) for other in others], bandwidth)
        count()
    return [bandwidth, latency, sending, receiving]


_Parts = tuple[list[str], list[_Link]]


def _link(source: str, target: str, bandwidth: float, latency: float) -> _Link:
    """Return one direction; four digits are more than is measured."""
    return {
        "from": source,
        "to": target,
        "bandwidth": float(f"{bandwidth:.4g}"),
        "latency": float(f"{latency:.4g}"),
        "both": False,
    }


def _pairs(found: Measured) -> list[tuple[int, int]]:
    hosts = range(len(found.hosts))
    return [(a, b) for a in hosts for b in hosts if a != b]


def _mesh(found: Measured) -> _Parts:
    names = found.hosts
    return [], [
        _link(names[a], names[b], found.bandwidth[a, b], found.latency[a, b])
        for a, b in _pairs(found)
    ]


def _switch(found: Measured) -> _Parts:
    links = []
    for host, name in enumerate(found.hosts):
        others = [b for b in range(len(found.hosts)) if b != host]
        half = np.mean(found.latency[host, others]) / 2, np.mean(found.latency[others, host]) / 2
        links.append(_link(name, _SWITCH, found.sending[host], half[0]))
        links.append(_link(_SWITCH, name, found.receiving[host], half[1]))
    return [_SWITCH], links


def _limits(found: Measured) -> _Parts:
    switches, links = [], []
    for host, name in enumerate(found.hosts):
        switches += [f"{name} sends", f"{name} receives"]
        links.append(_link(name, f"{name} sends", found.sending[host], 0))
        links.append(_link(f"{name} receives", name, found.receiving[host], 0))
    for a, b in _pairs(found):
        ends = f"{found.hosts[a]} sends", f"{found.hosts[b]} receives"
        links.append(_link(*ends, found.bandwidth[a, b], found.latency[a, b]))
    return switches, links
