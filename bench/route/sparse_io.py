# SPDX-License-Identifier: Apache-2.0
"""Sparse I/O on a simulated Blue Gene/Q: Figures 12 and 14 of Bui et al. 2016.

Each 64 hosts have a bridge to an I/O host. Ours: each I/O host takes as much as the others, by the
paths of a plan. Beside it in the same simulation: each host to the I/O host of its bridge, and
collective I/O in two phases that nothing but the network holds up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bench.plotter import Layout, Line, Panel
from bench.record import Metric, Record, Sample, compare
from bench.route.sparse_patterns import PATTERNS, SHAPES, Bytes

if TYPE_CHECKING:
    from harness.simulated import Flow

    import fluvial as fl

HOSTS_PER_IO = 64
IO_BANDWIDTH = 4e9
"""Of each, in bytes per second: twice that of the paper's machine, whose torus would hardly be the
limit with so few hosts."""
_HOSTS_PER_AGGREGATOR = 16
_PATHS_PER_FLOW = 3  # fill all I/O hosts, too; the simulation takes less time than with more
_SIMULATED_MAX = 2048
_NEARLY_FULL = 1.1  # times as fast as direct, at most
_SOURCES_MAX = 512  # hosts that have something to write
_OVERLAPPED_MAX = 512
_LARGE_WINDOW = 128 << 10  # on more hosts
_RATE = Metric("simulated throughput", "GB/s", higher_is_better=True)
_OURS = "balanced, planned"
_BALANCED = "balanced, direct routes"
_DIRECT = "direct"
_TWO_PHASE = "two phases"
_OVERLAPPED = "two phases, overlapped"
_LIMIT = "all I/O hosts full"
_COLOURS = {
    _OURS: "#1b6ca8",
    _BALANCED: "#66a182",
    _DIRECT: "#d1495b",
    _TWO_PHASE: "#edae49",
    _OVERLAPPED: "#2e4057",
    _LIMIT: "#8d96a3",
}
Show = Callable[[str], None]
Triple = tuple[int, int, int]


@dataclass
class Contest:
    """One pattern on so many hosts."""

    hosts: int
    bytes: Bytes
    network: fl.route.Topology
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, hosts: int, pattern: str) -> Contest:
        """Make it."""
        import fluvial as fl

        shape = "x".join(map(str, SHAPES[hosts]))
        text = f"bgq:{shape},io={HOSTS_PER_IO},io-bandwidth={IO_BANDWIDTH:g}"
        return cls(hosts, PATTERNS[pattern](hosts), fl.route.topology(text))

    @property
    def total(self) -> int:
        """Bytes."""
        return sum(self.bytes.values())

    @property
    def limit_s(self) -> float:
        """Seconds in which I/O hosts that are never idle take all."""
        return self.total / (len(self.io_hosts) * IO_BANDWIDTH)

    @property
    def io_hosts(self) -> range:
        """They come behind the hosts that compute."""
        return range(self.hosts, self.network.hosts)

    def can_be_simulated(self) -> bool:
        """Return whether it takes minutes and not hours."""
        return self.hosts <= _SIMULATED_MAX and len(self.bytes) <= _SOURCES_MAX

    def own_io(self, host: int) -> int:
        """Return the I/O host of the bridge of a host."""
        return self.hosts + host // HOSTS_PER_IO

    def direct(self) -> list[Triple]:
        """Each host to the I/O host of its bridge."""
        return [(host, self.own_io(host), size) for host, size in self.bytes.items()]

    def to_aggregators(self) -> list[Triple]:
        """Return the first phase: each aggregator gets an equal part of the file."""
        return self._balanced(range(0, self.hosts, _HOSTS_PER_AGGREGATOR))

    def to_io_hosts(self) -> list[Triple]:
        """Each I/O host takes as much as the others."""
        return self._balanced(self.io_hosts)

    def _balanced(self, sinks: range) -> list[Triple]:
        import fluvial as fl

        flows = fl.route.balance_sinks(self.network, self.bytes, sinks)
        return [(source, sink, int(size)) for source, sink, size in flows]


def chosen(quick: bool) -> tuple[list[int], list[str]]:
    """Return on how many hosts, and which patterns are simulated beside the other figures."""
    return ([128], ["contiguous 10 %"]) if quick else ([128, 512], [*PATTERNS])


def records(hosts: Iterable[int], patterns: Iterable[str], show: Show) -> list[Record]:
    """Return the records of all patterns on each number of hosts."""
    patterns = list(patterns)
    out: list[Record] = []
    for count in hosts:
        for pattern in patterns:
            contest = Contest.of(count, pattern)
            by = "simulation" if contest.can_be_simulated() else "model"
            show(f"{pattern}, {count} hosts, {contest.total / 1e6:.0f} MB, by {by}:")
            (_simulate if by == "simulation" else _predict)(contest, show)
            most = contest.seconds[_DIRECT] / contest.limit_s
            if most < _NEARLY_FULL:
                show(f"    direct writes nearly fill the I/O hosts: {most:.2f} times is the most")
            out += _compared(contest, pattern, by)
    return out


def _simulate(contest: Contest, show: Show) -> None:
    from harness.simulated import PAMI, Machine, planned

    import fluvial as fl

    machine = Machine(str(contest.network), PAMI, limit_s=4 * 3600)
    ways: list[str] = []

    def messages(way: str, flows: Sequence[Triple]) -> None:
        machine.add_messages(_messages(flows))
        ways.append(way)

    messages(_DIRECT, contest.direct())
    messages(_TWO_PHASE, [flow for flow in contest.to_aggregators() if flow[0] != flow[1]])
    messages(_BALANCED, contest.to_io_hosts())
    plan = fl.route.plan(contest.network, contest.to_io_hosts(), paths_per_flow=_PATHS_PER_FLOW)
    machine.add(planned(plan, "pami", 0 if contest.hosts <= _OVERLAPPED_MAX else _LARGE_WINDOW))
    ways.append(_OURS)
    if contest.hosts <= _OVERLAPPED_MAX:
        machine.add(_overlapped(contest))
        ways.append(_OVERLAPPED)

    def ended(number: int, seconds: float) -> None:
        _note(contest, ways[number], seconds, show)

    machine.seconds(ended)


def _predict(contest: Contest, show: Show) -> None:
    """By the load of the busiest link alone."""
    import fluvial as fl

    def load(flows: Sequence[Triple], planner: str) -> float:
        plan = fl.route.plan(contest.network, flows, planner, paths_per_flow=_PATHS_PER_FLOW)
        return plan.seconds

    _note(contest, _DIRECT, load(contest.direct(), "direct"), show)
    _note(contest, _TWO_PHASE, load(contest.to_aggregators(), "direct"), show)
    _note(contest, _BALANCED, load(contest.to_io_hosts(), "direct"), show)
    _note(contest, _OURS, load(contest.to_io_hosts(), "best"), show)


def _note(contest: Contest, way: str, seconds: float, show: Show) -> None:
    """Keep what a way took; the second phase fills all I/O hosts, which is the best it could do."""
    contest.seconds[way] = seconds + (contest.limit_s if way == _TWO_PHASE else 0)
    rate = contest.total / contest.seconds[way] / 1e9
    share = contest.limit_s / contest.seconds[way]
    show(f"    {way}: {rate:.1f} GB/s, {share:.0%} of the limit")


def _messages(flows: Sequence[Triple]) -> list[Flow]:
    from harness.simulated import Flow

    return [Flow(*flow) for flow in flows]


def _overlapped(contest: Contest) -> list[Flow]:
    """Return windows that aggregators pass on while the next ones come: no collective I/O does."""
    from harness.simulated import Flow

    window = 64 << 10
    out = []
    for host, aggregator, size in contest.to_aggregators():
        sink = contest.own_io(aggregator)
        stops = (host, sink) if host == aggregator else (host, aggregator, sink)
        out.append(Flow(host, sink, size, window, (stops,)))
    return out


def _compared(contest: Contest, pattern: str, by: str) -> list[Record]:
    rates = {way: contest.total / seconds / 1e9 for way, seconds in contest.seconds.items()}
    rates[_LIMIT] = contest.total / contest.limit_s / 1e9
    params = {"hosts": contest.hosts, "bytes": contest.total, "pattern": pattern, "by": by}
    return [
        compare(
            "route",
            f"sparse I/O, {pattern}",
            params,
            _RATE,
            Sample.of([rates[_OURS]]),
            peer,
            Sample.of([rate]),
        )
        for peer, rate in rates.items()
        if peer != _OURS
    ]


def layout(drawn: Sequence[Record]) -> Layout:
    """One panel a pattern: throughput over the number of hosts."""
    bandwidth = f"{HOSTS_PER_IO} hosts share an I/O host of {IO_BANDWIDTH / 1e9:g} GB/s"
    machine = f"SimGrid's SMPI, 1.8 GB/s a link; {bandwidth}"
    if any(record.params["by"] == "model" for record in drawn):
        machine += "; 8,192 hosts, and 2,048 of which all write: predicted by the load of links"
    panels = []
    for pattern in dict.fromkeys(record.params["pattern"] for record in drawn):
        case = f"sparse I/O, {pattern}"
        peers = dict.fromkeys(record.peer for record in drawn if record.case == case)
        lines = [
            Line(peer, _COLOURS[peer], peer=peer, where={"pattern": pattern}, style="--")
            for peer in peers
        ]
        lines.append(Line(_OURS, _COLOURS[_OURS], case=case))
        panels.append(
            Panel(
                pattern,
                (_RATE.name,),
                "GB/s",
                tuple(lines),
                x="hosts",
                x_label="hosts",
                x_tick=lambda hosts: f"{hosts:.0f}",
                tick=lambda rate: f"{rate:g}",
            )
        )
    return Layout("Sparse I/O on a simulated Blue Gene/Q", machine, tuple(panels))
