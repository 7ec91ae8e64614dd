# SPDX-License-Identifier: Apache-2.0
"""The figures of a stage contest: collected from the runs, shown as tables, turned into records."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.record import Metric, Record, Sample, best_of, compare
from bench.stage.pair import MEMCPY, Run
from bench.table import machine_line, quantity, size_label, spread

PUT = "Fluvial put, view"
SPAN = "Fluvial span, view"
SST = "SST"
SST_ON = "SST preload on"
SST_OFF = "SST preload off"
LIMITS = "limits"
SUM = "sum only"
_SHORT = {PUT: "put", SPAN: "span", SST_ON: "SST on", SST_OFF: "SST off", SUM: "sum"}

THROUGHPUT = Metric("throughput", "GB/s", True)
RATE = Metric("rate", "steps/s", True)
LATENCY = Metric("latency", "us", False)
LATENCY_P99 = Metric("latency p99", "us", False)
MEMORY_WRITER = Metric("memory of writer", "MiB", False)
MEMORY_READER = Metric("memory of reader", "MiB", False)
METRICS = (THROUGHPUT, RATE, LATENCY, LATENCY_P99, MEMORY_WRITER, MEMORY_READER)

CASES = {PUT: "put, view-read", SPAN: "span, view-read"}


@dataclass(frozen=True)
class Expectation:
    """A ratio to SST's better figure that a case is expected to reach for a range of sizes."""

    case: str
    metric: Metric
    bytes_min: int
    bytes_max: int
    ratio: float


EXPECTATIONS = (
    Expectation(PUT, THROUGHPUT, 2**20, 2**62, 5.0),
    Expectation(SPAN, THROUGHPUT, 2**20, 2**62, 8.0),
    Expectation(PUT, RATE, 2**13, 2**13, 5.0),
    Expectation(SPAN, RATE, 2**13, 2**13, 5.0),
)


@dataclass
class Figures:
    """Everything measured, by contestant, size and metric; and notes on what could not be."""

    sizes: list[int]
    queue_steps: int
    notes: list[str] = field(default_factory=list)
    _values: dict[tuple[str, int, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add_run(self, name: str, run: Run) -> None:
        """Add a timed run."""
        latencies = sorted(run.latencies_s)
        middle = latencies[len(latencies) // 2]
        tail = latencies[min(len(latencies) - 1, int(0.99 * len(latencies)))]
        self._add(name, run.bytes, THROUGHPUT, run.bytes_per_s / 1e9)
        self._add(name, run.bytes, RATE, run.steps_per_s)
        self._add(name, run.bytes, LATENCY, middle * 1e6)
        self._add(name, run.bytes, LATENCY_P99, tail * 1e6)

    def add_memory(self, name: str, run: Run) -> None:
        """Add the memory of a run during which it was sampled."""
        self._add(name, run.bytes, MEMORY_WRITER, run.memory_writer / 2**20)
        self._add(name, run.bytes, MEMORY_READER, run.memory_reader / 2**20)

    def add_limit(self, bytes_: int, rates: dict[str, float]) -> None:
        """Add bytes per second of a plain memcpy and of the reader's sum alone."""
        self._add(MEMCPY, bytes_, THROUGHPUT, rates["memcpy"] / 1e9)
        self._add(SUM, bytes_, THROUGHPUT, rates["sum"] / 1e9)

    def sample(self, name: str, bytes_: int, metric: Metric) -> Sample | None:
        """Return a contestant's sample; that of ``"SST"`` is the better of its two settings."""
        if name == SST:
            settings = {
                setting: sample
                for setting in (SST_ON, SST_OFF)
                if (sample := self.sample(setting, bytes_, metric)) is not None
            }
            best = best_of(metric, settings)
            return None if best is None else best[1]
        values = self._values.get((name, bytes_, metric.name))
        return Sample.of(values) if values else None

    def _add(self, name: str, bytes_: int, metric: Metric, value: float) -> None:
        self._values[name, bytes_, metric.name].append(value)


def records(figures: Figures) -> list[Record]:
    """Return a record for each case of Fluvial, size, metric and peer."""
    found = []
    for name, case in CASES.items():
        for bytes_ in figures.sizes:
            params = {
                "bytes": bytes_,
                "ranks": [1, 1],
                "mpi": "none",
                "queue_steps": figures.queue_steps,
            }
            for metric in METRICS:
                ours = figures.sample(name, bytes_, metric)
                if ours is None:
                    continue
                peers = [SST, SST_ON, SST_OFF]
                peers += [MEMCPY, SUM] if metric == THROUGHPUT else []
                for peer in peers:
                    theirs = figures.sample(peer, bytes_, metric)
                    found.append(compare("stage", case, params, metric, ours, peer, theirs))
    return found


def verdicts(figures: Figures) -> list[tuple[bool, str]]:
    """Say for each expectation that was measured whether it holds, and the worst ratio."""
    found = []
    for expected in EXPECTATIONS:
        ratios = {}
        for bytes_ in figures.sizes:
            if expected.bytes_min <= bytes_ <= expected.bytes_max:
                ours = figures.sample(expected.case, bytes_, expected.metric)
                theirs = figures.sample(SST, bytes_, expected.metric)
                if ours is not None and theirs is not None:
                    ratios[bytes_] = expected.metric.ratio(ours.median, theirs.median)
        if ratios:
            worst = min(ratios, key=lambda bytes_: ratios[bytes_])
            holds = ratios[worst] >= expected.ratio
            at = "at" if expected.bytes_min == expected.bytes_max else "least at"
            sentence = (
                f"{expected.case}: {ratios[worst]:.1f} times SST's better "
                f"{expected.metric.name} {at} {size_label(worst)} (expected: {expected.ratio:g})"
            )
            found.append((holds, sentence))
    return found


def show(console: Console, figures: Figures, header: dict[str, Any]) -> None:
    """Print the machine, a table for each question, the verdicts and the notes."""
    console.print(machine_line(header))
    names = [PUT, SPAN, SST_ON, SST_OFF]
    with_limits = [*names, MEMCPY, SUM]
    console.print(
        _table("End-to-end throughput: median (min–max)", figures, THROUGHPUT, with_limits)
    )
    console.print(_table("Steps a second", figures, RATE, names))
    console.print(_table("One-way latency, median", figures, LATENCY, names))
    console.print(_table("One-way latency, 99th percentile", figures, LATENCY_P99, names))
    console.print(_table("Memory of the writer (PSS)", figures, MEMORY_WRITER, names))
    console.print(_table("Memory of the reader (PSS)", figures, MEMORY_READER, names))
    for holds, sentence in verdicts(figures):
        console.print(f"[green]✓[/] {sentence}" if holds else f"[yellow]✗[/] {sentence}")
    for note in figures.notes:
        console.print("note:", note, style="yellow", markup=False, highlight=False)


def _table(title: str, figures: Figures, metric: Metric, names: list[str]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("step", justify="right")
    for name in names:
        table.add_column(_SHORT.get(name, name), justify="right", no_wrap=True)
    limits = [(MEMCPY, ".2f")] if MEMCPY in names else []  # the ratio to the limit comes first
    beside = [*limits, (SST, ".1f")]
    for peer, _ in beside:
        for name in (PUT, SPAN):
            table.add_column(f"{_SHORT[name]} ÷ {peer}", justify="right", style="bold")
    for bytes_ in figures.sizes:
        cells = []
        for name in names:
            sample = figures.sample(name, bytes_, metric)
            cells.append("—" if sample is None else spread(sample, metric))
        for peer, digits in beside:
            theirs = figures.sample(peer, bytes_, metric)
            for name in (PUT, SPAN):
                ours = figures.sample(name, bytes_, metric)
                if ours is None or theirs is None:
                    cells.append("—")
                else:
                    cells.append(f"{metric.ratio(ours.median, theirs.median):{digits}}×")
        table.add_row(size_label(bytes_), *cells)
    table.caption = quantity(metric)
    return table
