# SPDX-License-Identifier: Apache-2.0
"""The stage from C++, beside a bare exchange of the same bytes through shared memory.

``programs/steps.cpp`` is the program, which runs a writer and a reader process in turns: the bare
exchange, then Fluvial, round after round.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.machine import two_sides
from bench.record import Metric, Record, Sample, compare
from bench.scan import compiled as programs
from bench.table import size_label, spread

_SOURCE = Path(__file__).with_name("programs") / "steps.cpp"
_CASES = ("polling", "asleep", "rate", "put", "datasets")
_LIMIT_S = 120
BARE, FLUVIAL, SPAN, MEMCPY = "bare", "fluvial", "fluvial span", "memcpy"

LATENCY = Metric("latency", "us", False)
RATE = Metric("rate", "steps/s", True)
COPY = Metric("put", "GB/s", True)
COST = Metric("cost", "us", False)
_METRICS = {
    "latency polling": (LATENCY, BARE),
    "latency p99 polling": (LATENCY, BARE),
    "latency asleep": (LATENCY, BARE),
    "latency p99 asleep": (LATENCY, BARE),
    "rate": (RATE, BARE),
    "put": (COPY, MEMCPY),
    "put of a dataset": (COST, None),
    "find of a dataset": (COST, None),
    "step of datasets": (COST, None),
}
"""What the program prints, and the contestant that stands beside it."""


@dataclass
class CompiledFigures:
    """Values by what was measured, size and contestant."""

    values: dict[tuple[str, int, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def add(self, line: dict[str, Any]) -> None:
        """Add a line that the program printed."""
        self.values[line["what"], int(line["size"]), line["who"]].append(float(line["value"]))

    def sample(self, what: str, size: int, who: str) -> Sample | None:
        """Return a contestant's values."""
        found = self.values.get((what, size, who))
        return Sample.of(found) if found else None


def measure(rounds: int, seconds: float, cases: tuple[str, ...] = _CASES) -> CompiledFigures:
    """Run all cases `rounds` times, `seconds` for each contestant.

    Errors: RuntimeError when the program is missing or fails.
    """
    program = programs.with_fluvial("steps", _SOURCE)
    if program.path is None:
        raise RuntimeError(program.missing)
    writer, reader = (str(min(side)) for side in two_sides())
    figures = CompiledFigures()
    with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as folder:
        for _ in range(rounds):
            for case in cases:
                command = [str(program.path), folder, writer, reader, str(seconds), case]
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=_LIMIT_S, check=False
                )
                if done.returncode != 0:
                    raise RuntimeError(f"{case}: {done.stderr.strip() or done.returncode}")
                for line in done.stdout.splitlines():
                    figures.add(json.loads(line))
    return figures


def show(console: Console, figures: CompiledFigures) -> None:
    """Print a table of all figures, with the ratio to what stands beside."""
    table = Table(title="From C++", title_justify="left", box=SIMPLE)
    for column in ("", "size or number", "Fluvial", "beside", "ratio"):
        table.add_column(column, justify="left" if not column else "right", no_wrap=True)
    for record, ours, theirs in _compared(figures):
        metric = _METRICS[record.case.removesuffix(", span")][0]
        count = record.params.get("datasets")
        size = f"{count:,} datasets" if count else size_label(record.params["bytes"])
        beside = "—" if theirs is None else f"{record.peer}: {spread(theirs, metric)}"
        ratio = "—" if record.ratio is None else f"{record.ratio:.2f}"
        table.add_row(f"{record.case} ({metric.unit})", size, spread(ours, metric), beside, ratio)
    console.print(table)


def records(figures: CompiledFigures) -> list[Record]:
    """Return a record for each figure of Fluvial."""
    return [record for record, _, _ in _compared(figures)]


def _compared(figures: CompiledFigures) -> list[tuple[Record, Sample, Sample | None]]:
    found = []
    for what, size, who in sorted(figures.values):
        if who not in (FLUVIAL, SPAN):
            continue
        metric, peer = _METRICS[what]
        ours = figures.sample(what, size, who)
        assert ours is not None
        theirs = None if peer is None else figures.sample(what, size, peer)
        key = "datasets" if metric is COST else "bytes"
        params = {key: size, "language": "C++", "ranks": [1, 1], "mpi": "none"}
        case = what + (", span" if who == SPAN else "")
        found.append(
            (compare("stage", case, params, metric, ours, peer or "", theirs), ours, theirs)
        )
    return found
