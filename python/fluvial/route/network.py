# SPDX-License-Identifier: Apache-2.0
"""Networks, and the way that they take from one host to another."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import NamedTuple

from .. import _core
from .._core import InvalidArgument, NoSuchFile
from ..base.arguments import said_by, to_index, to_path, to_text, wrong_type
from ..base.messages import shown
from ..mpi.communicator import Communicator, handle_of

Host = int | str
"""Its number, from 0, or its name."""
Hosts = Host | Iterable[Host]
"""One or several."""

_FILE_BYTES_MAX = 2**28


class Link(NamedTuple):
    """One direction of a cable."""

    source: int
    """Number of the node where it begins: hosts come first, then switches."""
    target: int
    """Number of the node where it ends."""
    bandwidth: float
    """Bytes per second."""
    latency: float
    """Seconds."""


class Topology:
    """A network of hosts, switches and links, and its routing policy; what `topology` returns."""

    def __init__(self, core: _core.Topology) -> None:
        self._core = core

    @property
    def hosts(self) -> int:
        """How many hosts there are; they have the numbers 0 to `hosts` − 1."""
        return self._core.hosts()

    @property
    def nodes(self) -> int:
        """How many hosts and switches there are."""
        return self._core.nodes()

    @property
    def routing(self) -> str:
        """The policy: "dimension-ordered", "shortest", "up-down", "minimal" or "table"."""
        return self._core.routing()

    @property
    def links(self) -> list[Link]:
        """All links; a cable that carries data both ways is two of them."""
        return [Link(*link) for link in self._core.links()]

    @property
    def host_of_rank(self) -> tuple[int, ...]:
        """The host of each rank; one rank a host where a file does not say."""
        return tuple(self._core.host_of_rank())

    def placed(self, comm: Communicator | None) -> Topology:
        """Return the same network with each rank on the host where it runs. Collective.

        Hosts of a topology from a file are compared with the names of the machines; where one of
        two names has a domain and the other has none, without it.

        Raises
        ------
        InvalidArgument
            The hosts of the topology have no names.
        UnknownName
            On all ranks: a rank runs on a host that the topology does not have.

        Examples
        --------
        >>> import fluvial as fl, json, pathlib, socket, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "net.json")
        ...     _ = path.write_text(json.dumps({"hosts": ["far", socket.gethostname()]}))
        ...     fl.route.topology(path).placed(None).host_of_rank
        (1,)
        """
        return Topology(_core.place_ranks(handle_of(comm), self._core))

    def name(self, node: int) -> str:
        """Return what a node is called: its number where no file names it."""
        number = to_index(node, "node")
        if not 0 <= number < self.nodes:
            raise _core.OutOfBounds(
                f"no such node in {self}: got {shown(number)}; allowed: 0 to {self.nodes - 1}"
            )
        return self._core.name_of(number)

    def host(self, name: Host) -> int:
        """Return the number of a host.

        Raises
        ------
        UnknownName
            No host is called so.
        OutOfBounds
            There are not so many hosts.

        Examples
        --------
        >>> import fluvial as fl
        >>> fl.route.topology("torus:4x4").host("7")
        7
        """
        if isinstance(name, str):
            return self._core.host_named(to_text(name, "a host"))
        number = to_index(name, "a host", "its number, an int, or its name, a str")
        if not 0 <= number < self.hosts:
            raise _core.OutOfBounds(
                f"no such host in {self}: got {shown(number)}; allowed: 0 to {self.hosts - 1}"
            )
        return number

    def route(self, source: Host, target: Host) -> tuple[int, ...]:
        """Return the nodes that a message passes, both ends included.

        Raises
        ------
        InvalidArgument
            No such hosts, or no way between them.

        Examples
        --------
        >>> import fluvial as fl
        >>> fl.route.topology("torus:4x5").route(0, 18)
        (0, 15, 19, 18)
        """
        return tuple(self._core.route(self.host(source), self.host(target)))

    def disjoint_paths_max(self, sources: Hosts, sinks: Hosts) -> int:
        """Return how many ways there are from any source to any sink without a common link.

        It is a maximum flow, whatever the routing policy: no plan has more disjoint paths.

        Examples
        --------
        >>> import fluvial as fl
        >>> torus = fl.route.topology("torus:8x8x8")
        >>> torus.disjoint_paths_max(0, 100), torus.disjoint_paths_max([0, 1, 2], 100)
        (6, 6)
        """
        return self._core.disjoint_ways(self._hosts(sources), self._hosts(sinks))

    def bandwidth_max(self, sources: Hosts, sinks: Hosts) -> float:
        """Return bytes per second that all links together carry from the sources to the sinks."""
        return self._core.max_bandwidth(self._hosts(sources), self._hosts(sinks))

    def _hosts(self, given: Hosts) -> list[int]:
        if isinstance(given, str) or not isinstance(given, Iterable):
            return [self.host(given)]
        return [self.host(one) for one in given]

    def __str__(self) -> str:
        return self._core.describe()

    def __repr__(self) -> str:
        return f"<fluvial.route.Topology {self}: {self.hosts} hosts, {self.routing} routing>"


def topology(text: str | os.PathLike[str] | Topology) -> Topology:
    """Return a network from its description in words, or from a file. Local.

    Parameters
    ----------
    text
        A kind, a shape and options, such as ``"torus:8x8x8"``, ``"mesh:6x6,bandwidth=1.2e10"``
        (bytes per second), ``"bgq:4x4x4x4x2,zone=3"``, ``"fattree:4x8,up=1x2"`` or
        ``"dragonfly:9x4x2"``; or the path of a file: JSON with hosts, switches, links, ranks and
        routes, or Slurm's ``topology.conf``. The guide *Routes* has all of them.

    Raises
    ------
    InvalidArgument
        Text or file cannot be read as a topology; the message names the place.
    NoSuchFile
        There is no such file.

    Examples
    --------
    >>> import fluvial as fl
    >>> fl.route.topology("bgq:4x4x4x4x2")
    <fluvial.route.Topology bgq:4x4x4x4x2: 512 hosts, dimension-ordered routing>
    """
    if isinstance(text, Topology):
        return text
    if not isinstance(text, str | os.PathLike):
        raise wrong_type("topology", text, "a text such as 'torus:8x8x8', or the path of a file")
    path = to_path(text, "topology")
    kind = path.partition(":")[0]
    if isinstance(text, str) and ":" in path and (kind in names() or not os.path.exists(path)):
        return Topology(_core.make_topology(path))
    return Topology(_from_file(path))


def names() -> dict[str, str]:
    """Return the kinds of topologies, and what each is in a few words.

    Examples
    --------
    >>> import fluvial as fl
    >>> fl.route.names()["torus"]
    'a grid whose ends are linked: torus:8x8x8'
    """
    return dict(_core.topology_names())


def _from_file(path: str) -> _core.Topology:
    """Read JSON, which begins with a brace, or else Slurm's topology.conf."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read(_FILE_BYTES_MAX + 1)
    except FileNotFoundError:
        kinds = ", ".join(f"{name}:…" for name in names())
        raise NoSuchFile(
            f"no such topology: got {shown(path)}; allowed: the path of a file, or {kinds}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"the topology cannot be read: got {shown(path)} ({said_by(error)}); allowed: a file "
            "of text that may be read"
        ) from None
    if len(text) > _FILE_BYTES_MAX:
        raise InvalidArgument(
            f"the file of a topology is too long: got {shown(path)}; allowed: {_FILE_BYTES_MAX} "
            "characters"
        )
    if not text.strip():
        raise InvalidArgument(
            f"the file of a topology is empty: got {shown(path)}; allowed: JSON, or Slurm's "
            "topology.conf"
        )
    made = _core.topology_from_json if text.lstrip()[:1] in "{[" else _core.topology_from_slurm
    try:
        return made(text, os.path.basename(path))
    except InvalidArgument as error:
        raise type(error)(f"{shown(path)}: {error}") from None
