# SPDX-License-Identifier: Apache-2.0
"""Which flow takes which paths, and what it gains."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_choice, to_float, to_int, to_text, wrong_type
from ..base.messages import shown
from .network import Topology, topology

PLANNERS = ["best", "direct", "disjoint", "min-max"]


class Path(NamedTuple):
    """One way of a flow's data through the network."""

    stops: tuple[int, ...]
    """Numbers of the hosts that data is sent to: the first, the proxies, the last."""
    nodes: tuple[int, ...]
    """All hosts and switches on the way."""
    share: float
    """Of the flow's bytes, 0 to 1."""

    @property
    def proxies(self) -> tuple[int, ...]:
        """The hosts that pass the data on."""
        return self.stops[1:-1]


class Prediction(NamedTuple):
    """How long one transfer takes, by the model."""

    bytes: float
    paths: int
    """How many of the plan's paths are used: those with the fewest proxies."""
    window: float
    """Bytes that are sent along a path at a time; all of them where they go direct."""
    direct: bool
    """Whether the data goes the network's own way, without proxies and windows."""
    seconds: float
    direct_seconds: float
    """The same without a plan."""

    @property
    def speed_up(self) -> float:
        """How many times as fast as direct."""
        return self.direct_seconds / self.seconds if self.seconds > 0 else 1.0


class Plan:
    """Paths of flows that move at the same time; what `plan` returns."""

    def __init__(
        self, network: Topology, flows: list[tuple[int, int, float]], core: _core.Plan
    ) -> None:
        self._core = core
        self.topology = network
        self.flows = flows
        """(source, target, bytes) of each."""
        self.paths = [[Path(*path) for path in core.paths(i)] for i in range(len(flows))]
        """Of each flow; none from a host to itself."""

    @property
    def planner(self) -> str:
        """What made it: "direct", "disjoint" or "min-max"."""
        return self._core.planner()

    @property
    def seconds(self) -> float:
        """In which the busiest link carries what the plan gives it."""
        return self._core.load_s()

    @property
    def direct_seconds(self) -> float:
        """In which the busiest link carries what direct routes give it."""
        return self._core.direct_load_s()

    @property
    def speed_up(self) -> float:
        """How many times as fast as direct routes large messages are: by "best", at least 1."""
        return self.direct_seconds / self.seconds if self.seconds > 0 else 1.0

    def predict(
        self, bytes: float, flow: int = 0, *, paths: int | None = None, costs: str = "mpi"
    ) -> Prediction:
        """Predict how long a message takes, and choose how many paths and which window. Local.

        Messages of 8 KiB or less go direct, and so do those that would gain less than a
        twentieth.

        Parameters
        ----------
        bytes
            Of the message; the plan's other flows grow alike.
        flow
            Position in `flows`.
        paths
            So many paths, whether they pay or not; chosen unless given.
        costs
            What the software takes: "mpi", as simulated for MPI's point-to-point messages,
            "pami", for a library with less overhead, or "tcp", for MPI over Ethernet.

        Raises
        ------
        InvalidArgument
            A number out of range, unknown costs.

        Examples
        --------
        >>> import fluvial as fl
        >>> plan = fl.route.plan("bgq:4x4x4x4x2", [(0, 426)])
        >>> plan.predict(8192).direct
        True
        >>> found = plan.predict(2**24)
        >>> found.paths, found.window, round(found.speed_up, 1)
        (9, 65536.0, 7.4)
        """
        number = to_position(flow, "flow", self)
        size = to_float(bytes, "bytes")
        if not 0 <= size < float("inf"):
            raise InvalidArgument(f"bytes is out of range: got {bytes!r}; allowed: 0 or more")
        most = max(1, len(self.paths[number]))
        chosen = 0 if paths is None else to_int(paths, "paths", 1, most)
        return Prediction(*self._core.predict(number, size, chosen, to_text(costs, "costs")))

    def changed(self, flows: Iterable[Sequence]) -> Plan:
        """Return the plan for other flows; those that stay keep their paths if none share links.

        By the planner and with the limits that this one was asked for. With "best", all are planned
        anew where direct routes would be as good as the paths that are kept.

        Examples
        --------
        >>> import fluvial as fl
        >>> plan = fl.route.plan("torus:6x6", [(0, 7), (14, 21)])
        >>> plan.changed([(14, 21), (3, 9)]).paths[0] == plan.paths[1]
        True
        """
        given = to_flows(self.topology, flows)
        return Plan(self.topology, given, self._core.changed(given))

    def __repr__(self) -> str:
        count = sum(map(len, self.paths))
        return (
            f"<fluvial.route.Plan of {len(self.flows)} flows by {count} paths ({self.planner}), "
            f"{self.speed_up:.3g} times as fast as direct>"
        )


def plan(
    network: str | os.PathLike[str] | Topology,
    flows: Iterable[Sequence],
    planner: str = "best",
    *,
    proxies_per_path: int = 2,
    paths_per_flow: int = 16,
    paths_per_proxy: int = 8,
) -> Plan:
    """Plan the paths of flows that move at the same time. Local, the same on every rank.

    64 flows on 512 hosts take some 0.2 s, on 2,048 hosts some 1 s, of one core of an Intel Xeon.

    Parameters
    ----------
    network
        A topology, or the text or path that `topology` takes.
    flows
        (source, target) or (source, target, bytes) of each: hosts by number or name.
    planner
        "disjoint": paths of which no two share a link, Bui et al. 2016, section 4.3; a flow for
        which others have left no such path goes direct, over links that may be theirs. "min-max":
        paths that share links so that the busiest is least busy. "direct": the network's own
        routes. "best": the one of the three with the lowest load, which may well be direct.
    proxies_per_path
        0 to 2.
    paths_per_flow
        1 to 1024.
    paths_per_proxy
        That one host passes on for all flows together, 0 or more.

    Raises
    ------
    InvalidArgument
        Hosts that do not exist or are not linked, numbers out of range, an unknown planner.

    Examples
    --------
    >>> import fluvial as fl
    >>> flows = [(host, host + 256) for host in range(16)]
    >>> plan = fl.route.plan("dragonfly:9x8x4", flows)
    >>> plan.planner, plan.speed_up > 2.8
    ('min-max', True)
    """
    where = topology(network)
    given = to_flows(where, flows)
    limits = (
        to_int(proxies_per_path, "proxies_per_path", 0, 2),
        to_int(paths_per_flow, "paths_per_flow", 1, 1024),
        to_int(paths_per_proxy, "paths_per_proxy", 0, 2**20),
    )
    by = to_choice(planner, "planner", PLANNERS)
    return Plan(where, given, _core.plan_routes(where._core, given, by, *limits))


def to_position(flow: object, what: str, of: Plan) -> int:
    """Return the position of a flow in a plan."""
    if not of.flows:
        raise InvalidArgument(
            f"{what} is out of range: got {shown(flow)}; allowed: none, for the plan has no flows"
        )
    return to_int(flow, what, 0, len(of.flows) - 1)


def to_flows(network: Topology, flows: Iterable[Sequence]) -> list[tuple[int, int, float]]:
    """Return flows as the core takes them."""
    allowed = "a list of (source, target) or (source, target, bytes)"
    if isinstance(flows, str | bytes) or not isinstance(flows, Iterable):
        raise wrong_type("flows", flows, allowed)
    out = []
    for flow in flows:
        if isinstance(flow, str | bytes) or not isinstance(flow, Sequence):
            raise wrong_type("a flow", flow, allowed)
        if not 2 <= len(flow) <= 3:
            raise InvalidArgument(
                f"a flow has {len(flow)} entries: got {flow!r}; allowed: {allowed}"
            )
        size = to_float(flow[2], "the bytes of a flow") if len(flow) == 3 else 1.0
        out.append((network.host(flow[0]), network.host(flow[1]), size))
    return out
