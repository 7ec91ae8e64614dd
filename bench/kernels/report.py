# SPDX-License-Identifier: Apache-2.0
"""The figures of the kernels bench: collected, tabled, turned into records and a layout."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.machine import caption
from bench.plotter import Bars, Layout
from bench.record import Metric, Record, Sample, compare
from bench.table import machine_line, quantity, size_label, spread

FLUVIAL, READ_LOOP, NUMPY = "Fluvial", "read loop", "NumPy"
TURNS = (READ_LOOP, FLUVIAL, NUMPY)
OPS = ("sum", "min", "max", "mean")
DTYPES = ("float32", "float64")
LEVELS = ("L2", "L3", "memory")
CALL, CALL_BYTES = "call", 64
ATOMS = 32_000
SCATTERING = ("Fluvial, float64", "NumPy, factored", "Fluvial, float32", "NumPy, direct")

THROUGHPUT = Metric("throughput", "GB/s", True)
KERNEL = Metric("kernel throughput", "GB/s", True)
CALL_TIME = Metric("time of a call", "us", False)
SCATTERED = Metric("atoms times q", "1e9/s", True)
EXPECTED_RATIO = 1 / 1.3
_AGREEMENT = 1e-4


@dataclass(frozen=True)
class Case:
    """One reduction of one array; `level` says which memory the array lies in."""

    op: str
    dtype: str
    level: str
    bytes: int

    def command(self) -> dict[str, Any]:
        """Return what the worker needs to know."""
        return {"op": self.op, "dtype": self.dtype, "bytes": self.bytes}


@dataclass
class Figures:
    """Seconds a call by case and contestant; atoms times q a second by contestant."""

    seconds: dict[tuple[Case, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    scattered: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    q_counts: dict[str, int] = field(default_factory=dict)
    _means: dict[int, tuple[str, float]] = field(default_factory=dict)

    def add(self, case: Case, who: str, seconds: float) -> None:
        """Add one turn of a reduction."""
        self.seconds[case, who].append(seconds)

    def add_scattering(self, who: str, answer: dict[str, Any]) -> None:
        """Add one turn of the structure factor; those over the same q vectors have to agree."""
        count, value = answer["q"], answer["value"]
        other, expected = self._means.setdefault(count, (who, value))
        if abs(value - expected) > _AGREEMENT * abs(expected):
            raise RuntimeError(f"the mean of S is {value} by {who} but {expected} by {other}")
        self.q_counts[who] = count
        self.scattered[who].append(ATOMS * count / answer["seconds"] / 1e9)

    def throughput(self, case: Case, who: str) -> Sample | None:
        """Return GB/s of one contestant in one case."""
        times = self.seconds.get((case, who))
        return Sample.of(case.bytes / s / 1e9 for s in times) if times else None

    def call_s(self, case: Case, who: str) -> float:
        """Return the time of the same call on next to nothing, 0 when it was not measured."""
        times = self.seconds.get((Case(case.op, case.dtype, CALL, CALL_BYTES), who))
        return Sample.of(times).median if times else 0.0

    def kernel(self, case: Case, who: str) -> Sample | None:
        """Return GB/s of one contestant in one case without the time of the call itself."""
        times = self.seconds.get((case, who))
        if not times:
            return None
        call_s = min(self.call_s(case, who), 0.9 * min(times))
        return Sample.of(case.bytes / (s - call_s) / 1e9 for s in times)

    def cases(self) -> list[Case]:
        """Return the cases of arrays that were measured, in the order of the contest."""
        return list(dict.fromkeys(case for case, _ in self.seconds if case.level != CALL))

    def calls(self) -> list[Case]:
        """Return the cases of next to nothing."""
        return list(dict.fromkeys(case for case, _ in self.seconds if case.level == CALL))


def records(figures: Figures) -> list[Record]:
    """Return a record for each case and peer."""
    found = []
    for case in figures.cases():
        ours = figures.throughput(case, FLUVIAL)
        if ours is None:
            continue
        params = {"bytes": case.bytes, "dtype": case.dtype, "level": case.level}
        for peer in (READ_LOOP, NUMPY):
            theirs = figures.throughput(case, peer)
            found.append(compare("kernels", case.op, params, THROUGHPUT, ours, peer, theirs))
        kernel = figures.kernel(case, FLUVIAL) or ours
        theirs = figures.kernel(case, READ_LOOP)
        found.append(compare("kernels", case.op, params, KERNEL, kernel, READ_LOOP, theirs))
    for case in figures.calls():
        times = {
            who: Sample.of(s * 1e6 for s in figures.seconds[case, who])
            for who in (FLUVIAL, NUMPY)
            if (case, who) in figures.seconds
        }
        if FLUVIAL in times:
            params = {"bytes": case.bytes, "dtype": case.dtype, "level": case.level}
            ours, theirs = times[FLUVIAL], times.get(NUMPY)
            found.append(compare("kernels", case.op, params, CALL_TIME, ours, NUMPY, theirs))
    for who, rates in figures.scattered.items():
        if who.startswith(FLUVIAL):
            params = {
                "atoms": ATOMS,
                "q": figures.q_counts[who],
                "precision": who.split()[-1],
                "level": who.split()[-1],
            }
            for peer in figures.scattered:
                if peer.startswith(NUMPY):
                    theirs = Sample.of(figures.scattered[peer])
                    ours = Sample.of(rates)
                    case_name = "structure factor"
                    found.append(
                        compare("kernels", case_name, params, SCATTERED, ours, peer, theirs)
                    )
    return found


def show(console: Console, figures: Figures, header: dict[str, Any]) -> None:
    """Print the machine, the tables, and which cases miss 1.3 times the time of reading."""
    console.print(machine_line(header))
    table = Table(title="Reductions: median (min–max)", title_justify="left", box=SIMPLE)
    for name in ("", "array", "dtype", *TURNS, "kernel ÷ reading", "NumPy time ÷ ours"):
        table.add_column(name, justify="right", no_wrap=True)
    misses = []
    for case in figures.cases():
        samples = {who: figures.throughput(case, who) for who in TURNS}
        ours, read, theirs = (samples[who] for who in (FLUVIAL, READ_LOOP, NUMPY))
        if ours is None or read is None or theirs is None:
            continue
        kernel, reading = figures.kernel(case, FLUVIAL), figures.kernel(case, READ_LOOP)
        slower = (reading or read).median / (kernel or ours).median
        if slower > 1 / EXPECTED_RATIO:
            misses.append(f"{case.op} {case.dtype} {case.level} ({slower:.2f}×)")
        cells = [spread(samples[who] or ours, THROUGHPUT) for who in TURNS]
        ahead = f"{ours.median / theirs.median:.2f}×"
        label = f"{case.level}, {size_label(case.bytes)}"
        table.add_row(case.op, label, case.dtype, *cells, f"{slower:.2f}×", ahead)
    table.caption = (
        f"{quantity(THROUGHPUT)}; kernel ÷ reading: of times, those of a call subtracted"
    )
    console.print(table)
    calls = [figures.call_s(case, FLUVIAL) * 1e6 for case in figures.calls()]
    numpy_calls = [figures.call_s(case, NUMPY) * 1e6 for case in figures.calls()]
    if calls:
        console.print(
            f"a call on 8 elements: Fluvial {min(calls):.1f}–{max(calls):.1f} µs, "
            f"NumPy {min(numpy_calls):.1f}–{max(numpy_calls):.1f} µs"
        )
    table = Table(title=f"S(q) of {ATOMS} atoms", title_justify="left", box=SIMPLE)
    for name in ("", "q vectors", "1e9 atoms times q a second"):
        table.add_column(name, justify="right", no_wrap=True)
    for who, rates in figures.scattered.items():
        rate = spread(Sample.of(rates), SCATTERED)
        table.add_row(who, f"{figures.q_counts[who]:,}", rate)
    console.print(table)
    if misses:
        console.print(f"[yellow]✗[/] over 1.3 times the time of reading: {', '.join(misses)}")
    else:
        console.print("[green]✓[/] every reduction within 1.3 times the time of reading")


def layout(header: dict[str, Any]) -> Layout:
    """Return three panels: beside the read loop, beside NumPy, the structure factor."""
    machine, software = header["machine"], header["software"]
    colours = {
        ("sum", "float32"): "#9cc9ea",
        ("sum", "float64"): "#0b6fb8",
        ("min", "float32"): "#9fdccb",
        ("min", "float64"): "#14a37f",
        ("max", "float32"): "#f3d29b",
        ("max", "float64"): "#e6a23c",
        ("mean", "float32"): "#ecb39f",
        ("mean", "float64"): "#c8502d",
    }
    series = tuple(
        (f"{op} {dtype}", colour, {"case": op, "dtype": dtype})
        for (op, dtype), colour in colours.items()
    )
    scattering = (
        ("beside NumPy, factored", "#0b6fb8", {"peer": "NumPy, factored"}),
        ("beside NumPy, direct", "#14a37f", {"peer": "NumPy, direct"}),
    )
    mark = ((EXPECTED_RATIO, "1.3 times the time of reading"),)
    return Layout(
        title="Reductions beside reading the same memory, and beside NumPy",
        subtitle=(f"{caption(machine)}; Fluvial {software.get('fluvial', '—')}; one core; medians"),
        panels=(
            Bars(
                "Kernels beside a read loop (calls subtracted)",
                "time of reading ÷ time",
                KERNEL.name,
                "level",
                series,
                READ_LOOP,
                mark,
            ),
            Bars(
                "Times faster than NumPy (whole calls)",
                "ratio",
                THROUGHPUT.name,
                "level",
                series,
                NUMPY,
            ),
            Bars(
                f"S(q) of {ATOMS} atoms: times faster",
                "ratio",
                SCATTERED.name,
                "level",
                scattering,
            ),
        ),
        columns=3,
    )
