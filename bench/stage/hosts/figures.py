# SPDX-License-Identifier: Apache-2.0
"""The figures of the contest between hosts, and what they are expected to reach."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from bench.record import Metric, Record, Sample, best_of, compare
from bench.table import number, size_label

SOCKET, QUEUED, IPERF = "raw TCP", "raw TCP, queue's arrays", "iperf3"
TCP, TCP_PUT, LIBFABRIC = "Fluvial TCP", "Fluvial TCP, put", "Fluvial libfabric"
PYTHON, SST_ON, SST_OFF = "Fluvial (Python)", "SST preload on", "SST preload off"
SST = "SST"

THROUGHPUT = Metric("throughput", "GB/s", True)
RATE = Metric("rate", "steps/s", True)
LATENCY = Metric("latency", "us", False)
LATENCY_P99 = Metric("latency p99", "us", False)
STEP = Metric("step of datasets", "us", False)
METRICS = (THROUGHPUT, RATE, LATENCY, LATENCY_P99, STEP)

CASES = {
    TCP: "hosts: span, TCP",
    TCP_PUT: "hosts: put, TCP",
    LIBFABRIC: "hosts: span, libfabric",
    PYTHON: "hosts: put, TCP, Python",
}
PEERS = {
    TCP: (SOCKET, QUEUED, IPERF),
    TCP_PUT: (SOCKET, QUEUED, IPERF),
    LIBFABRIC: (SOCKET, QUEUED, IPERF),
    PYTHON: (SST, SST_ON, SST_OFF),
}


@dataclass
class Figures:
    """Values by contestant, metric and bytes of a step; and notes on what could not be had."""

    notes: list[str] = field(default_factory=list)
    values: dict[tuple[str, str, int], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, who: str, metric: Metric, bytes_: int, value: float) -> None:
        """Add what one run gave."""
        self.values[who, metric.name, bytes_].append(value)

    def sample(self, who: str, metric: Metric, bytes_: int) -> Sample | None:
        """Return a contestant's values; those of ``"SST"`` are its better setting's."""
        if who == SST:
            found = {name: self.sample(name, metric, bytes_) for name in (SST_ON, SST_OFF)}
            best = best_of(metric, {name: one for name, one in found.items() if one is not None})
            return None if best is None else best[1]
        values = self.values.get((who, metric.name, bytes_))
        return Sample.of(values) if values else None

    def sizes(self, metric: Metric) -> list[int]:
        """Return the sizes at which it was measured."""
        return sorted({bytes_ for _, name, bytes_ in self.values if name == metric.name})

    def ratio(self, who: str, metric: Metric, bytes_: int, peer: str) -> float | None:
        """How many times better a contestant's median is than a peer's."""
        ours, theirs = (self.sample(name, metric, bytes_) for name in (who, peer))
        return ours and theirs and metric.ratio(ours.median, theirs.median)


def records(figures: Figures) -> list[Record]:
    """Return a record for each case of Fluvial, size, metric and peer."""
    found = []
    for who, case in CASES.items():
        for metric in METRICS:
            for bytes_ in figures.sizes(metric):
                ours = figures.sample(who, metric, bytes_)
                if ours is None:
                    continue
                params = {"bytes": bytes_, "ranks": [1, 1], "mpi": "none", "hosts": 2}
                params["language"] = "Python" if who == PYTHON else "C++"
                if metric is STEP:
                    params["datasets"] = bytes_ // 8
                for peer in PEERS[who]:
                    theirs = figures.sample(peer, metric, bytes_)
                    found.append(compare("stage", case, params, metric, ours, peer, theirs))
    return found


@dataclass(frozen=True)
class _Share:
    """A share of the raw connection's throughput from a size on."""

    who: str
    bytes: int
    ratio: float


_SHARES = (
    _Share(TCP, 2**16, 0.95),
    _Share(TCP, 2**20, 0.95),
    _Share(TCP, 2**24, 0.95),
    _Share(TCP, 2**28, 0.95),
    _Share(LIBFABRIC, 2**16, 0.6),
    _Share(LIBFABRIC, 2**20, 0.8),
    _Share(LIBFABRIC, 2**24, 0.65),
    _Share(LIBFABRIC, 2**28, 0.8),
)
_LATENCY_US = 12.0
_STEPS_PER_S = 50_000.0
_TIMES_SST = 5.0


def verdicts(figures: Figures) -> list[tuple[bool, str]]:
    """Say for each expectation that was measured whether it holds."""
    found = []
    for share in _SHARES:
        ratio = figures.ratio(share.who, THROUGHPUT, share.bytes, SOCKET)
        if ratio is not None:
            sentence = f"{share.who}: {ratio:.2f} of raw TCP at {size_label(share.bytes)}"
            queued = figures.ratio(share.who, THROUGHPUT, share.bytes, QUEUED)
            if queued is not None:
                sentence += f", {queued:.2f} of raw TCP from as many arrays as a queue has"
            found.append((ratio >= share.ratio, f"{sentence} (expected: {share.ratio:g})"))
    latency, rate = figures.sample(TCP, LATENCY, 8), figures.sample(TCP, RATE, 8192)
    if latency is not None:
        sentence = f"{TCP}: one way takes {number(latency.median)} us at 8 B"
        raw = figures.sample(SOCKET, LATENCY, 8)
        sentence += "" if raw is None else f", and by {SOCKET} {number(raw.median)} us"
        found.append((latency.median <= _LATENCY_US, f"{sentence} (expected: {_LATENCY_US:g})"))
    if rate is not None:
        sentence = f"{TCP}: {number(rate.median)} steps a second at 8 KiB"
        found.append((rate.median >= _STEPS_PER_S, f"{sentence} (expected: {_STEPS_PER_S:,.0f})"))
    for bytes_ in figures.sizes(STEP):
        ratio = figures.ratio(PYTHON, STEP, bytes_, SST)
        if ratio is not None:
            sentence = f"{PYTHON}: {ratio:.1f} times faster than SST's better setting with steps"
            sentence += f" of {bytes_ // 8:,} datasets (expected: {_TIMES_SST:g})"
            found.append((ratio >= _TIMES_SST, sentence))
    return found
