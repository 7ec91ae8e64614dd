# SPDX-License-Identifier: Apache-2.0
"""The figures of the scan contest: collected, tabled, judged, turned into records."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.record import Metric, Record, Sample, compare
from bench.scan.cases import CDF5, FORMATS, HDF5, NETCDF4, SUBSET, SUMMARY, TASKS, Case
from bench.scan.contestants import (
    CDO,
    CDO_INFO,
    COLLECTIVE,
    ENGINE,
    INDEPENDENT,
    LIMIT,
    NCO,
    OURS,
    PNETCDF,
    PYTHON,
    READ,
    TOOLS,
    TRADITIONAL,
    XARRAY,
)
from bench.table import machine_line, number, size_label, spread

TIME = Metric("time", "s", False)
COLD_TIME = Metric("time, cold cache", "s", False)
MEMORY = Metric("memory of a rank", "MiB", False)
BEST_TOOL, BEST_MPI = "best of xarray, CDO, NCO", "best traditional MPI"
MEMORY_MAX_MIB = 64.0
_FORMATS = {CDF5: "CDF-5", HDF5: "HDF5", NETCDF4: "compressed"}
_SHORT = {
    BEST_TOOL: "best tool",
    BEST_MPI: "best MPI",
    COLLECTIVE: "(collective)",
    INDEPENDENT: "(independent)",
    PNETCDF: "(PnetCDF)",
    XARRAY: "(xarray)",
    CDO: "(CDO)",
    NCO: "(NCO)",
}
_PEERS = (LIMIT, *TRADITIONAL, BEST_MPI, *TOOLS, BEST_TOOL, CDO_INFO)


@dataclass(frozen=True)
class Expectation:
    """A ratio to a peer that is expected in some cases."""

    peer: str
    tasks: tuple[str, ...]
    formats: tuple[str, ...]
    ratio: float
    cold: bool = False


_EVERY = tuple(TASKS)
_PLAIN = FORMATS[:2]
EXPECTATIONS = (
    Expectation(LIMIT, _EVERY, FORMATS, 0.9),
    Expectation(BEST_TOOL, (SUMMARY, SUBSET), _PLAIN, 10.0),
    Expectation(BEST_TOOL, (SUMMARY, SUBSET), (NETCDF4,), 6.0),
    Expectation(BEST_MPI, (SUMMARY,), _PLAIN, 4.0),
    Expectation(BEST_MPI, (SUBSET,), _PLAIN, 2.0),
    Expectation(READ, (SUMMARY, SUBSET), FORMATS, 1 / 1.15, cold=True),
)

Key = tuple[str, str, str, bool]  # contestant, task, format, cold


@dataclass
class Figures:
    """Seconds by contestant, case and round; memory; settings; notes on what could not be."""

    bytes: int = 0
    ranks: int = 2
    notes: list[str] = field(default_factory=list)
    seconds: dict[Key, dict[int, float]] = field(default_factory=lambda: defaultdict(dict))
    memory: dict[Key, float] = field(default_factory=dict)
    settings: dict[Key, str] = field(default_factory=dict)
    _failures: set[tuple[str, str, str]] = field(default_factory=set)

    def add(
        self,
        who: str,
        case: Case,
        number: int,
        seconds: float,
        found: Mapping[str, Any],
        setting: str,
        *,
        cold: bool,
    ) -> None:
        """Add one turn; memory is the most of any rank, for Fluvial beyond what it began with."""
        key = who, case.task, case.file.format, cold
        self.seconds[key][number] = seconds
        self.settings[key] = setting
        before = found.get("memory_before", [0] * len(found["memory"]))
        over = max(a - b for a, b in zip(found["memory"], before, strict=True)) / 2**20
        self.memory[key] = max(over, self.memory.get(key, 0.0))

    def failed(self, who: str, case: Case, why: str) -> None:
        """Note that a contestant could not do a case; it gets no further turn at it."""
        self._failures.add((who, case.task, case.file.format))
        self.notes.append(f"{who} failed at {case.task}, {case.file.format}: {why}")

    def wanted(self, who: str, case: Case) -> bool:
        """Whether a contestant has not failed at a case."""
        return (who, case.task, case.file.format) not in self._failures

    def ours_failed(self) -> bool:
        """Whether Fluvial failed at anything, or is missing."""
        return any(who in OURS for who, _, _ in self._failures) or not any(
            who in OURS for who, _, _, _ in self.seconds
        )

    def sample(self, who: str, task: str, format_: str, cold: bool = False) -> Sample | None:
        """Return a contestant's seconds; those of a best-of are its best member's."""
        best = self.best(who, task, format_, cold)
        found = self.seconds.get((best, task, format_, cold))
        return Sample.of(found.values()) if found else None

    def best(self, who: str, task: str, format_: str, cold: bool = False) -> str:
        """Return the member of a best-of with the least median, or `who` itself."""
        members = {BEST_TOOL: TOOLS, BEST_MPI: TRADITIONAL}.get(who)
        if members is None:
            return who
        medians = {
            name: statistics.median(found.values())
            for name in members
            if (found := self.seconds.get((name, task, format_, cold)))
        }
        return min(medians, key=lambda name: medians[name]) if medians else who

    def ratio(self, ours: str, peer: str, task: str, format_: str, cold: bool) -> float | None:
        """Return the median over the rounds of peer's time ÷ ours, both of the same round."""
        mine = self.seconds.get((ours, task, format_, cold), {})
        best = self.best(peer, task, format_, cold)
        theirs = self.seconds.get((best, task, format_, cold), {})
        pairs = [theirs[turn] / mine[turn] for turn in mine if turn in theirs]
        return statistics.median(pairs) if pairs else None


def records(figures: Figures) -> list[Record]:
    """Return a record for each of Fluvial's faces, case and peer, and one for its memory."""
    found = []
    for who, task, format_, cold in list(figures.seconds):
        ours = figures.sample(who, task, format_, cold)
        if who not in OURS or ours is None:
            continue
        params = {
            "task": task,
            "format": format_,
            "face": who,
            "bytes": figures.bytes,
            "ranks": figures.ranks,
        }
        metric = COLD_TIME if cold else TIME
        for peer in (READ, *_PEERS) if cold else _PEERS:
            theirs = figures.sample(peer, task, format_, cold)
            if theirs is None and (cold or peer in (*TRADITIONAL, BEST_MPI)):
                continue
            best = figures.best(peer, task, format_, cold)
            more = {"peer setting": figures.settings.get((best, task, format_, cold))}
            if best != peer:
                more["peer is"] = best
            record = compare("scan", task, {**params, **more}, metric, ours, peer, theirs)
            ratio = figures.ratio(who, peer, task, format_, cold)
            found.append(replace(record, ratio=None if ratio is None else float(f"{ratio:.6g}")))
        memory = Sample.of([figures.memory[who, task, format_, cold]])
        limit = Sample.of([MEMORY_MAX_MIB])
        found.append(compare("scan", task, params, MEMORY, memory, "64 MiB", limit))
    return found


def verdicts(figures: Figures) -> list[tuple[bool, str]]:
    """Say for each expectation, for each face of Fluvial, whether it holds, and the worst ratio."""
    found = []
    for face in OURS:
        for expected in EXPECTATIONS:
            ratios = {
                (task, format_): ratio
                for task in expected.tasks
                for format_ in expected.formats
                if (ratio := figures.ratio(face, expected.peer, task, format_, expected.cold))
            }
            if ratios:
                worst = min(ratios, key=lambda case: ratios[case])
                formats = ", ".join(dict.fromkeys(format_ for _, format_ in ratios))
                sentence = (
                    f"{face}: {ratios[worst]:.2f} of the speed of {expected.peer}"
                    f"{' (cold)' if expected.cold else ''} at least, at {', '.join(worst)} "
                    f"(expected: {expected.ratio:.3g}; {'/'.join(expected.tasks)}; {formats})"
                )
                found.append((ratios[worst] >= expected.ratio, sentence))
        most = [value for key, value in figures.memory.items() if key[0] == face]
        if most:
            sentence = (
                f"{face}: {max(most):.1f} MiB a rank over its start at most "
                f"(expected: below {MEMORY_MAX_MIB:.0f})"
            )
            found.append((max(most) < MEMORY_MAX_MIB, sentence))
    return found


def show(console: Console, figures: Figures, header: dict[str, Any]) -> None:
    """Print the machine, a table for each cache state, the ratios, the verdicts, the notes."""
    console.print(machine_line(header))
    title = f"{size_label(figures.bytes)} of float32, {figures.ranks} ranks, page cache"
    programs = [PYTHON, ENGINE, LIMIT, *TRADITIONAL]
    console.print(_times(f"{title} warm", figures, programs, False))
    console.print(_times(f"{title} warm: tools", figures, [*TOOLS, CDO_INFO], False))
    if any(who in OURS for who, *_ in figures.seconds):
        console.print(_ratios(figures, False))
    if any(cold for _, _, _, cold in figures.seconds):
        cold = [PYTHON, ENGINE, READ, LIMIT, *TRADITIONAL, XARRAY, CDO]
        console.print(_times(f"{title} cold", figures, cold, True))
        if any(who in OURS for who, _, _, state in figures.seconds if state):
            console.print(_ratios(figures, True))
    console.print(_settings(figures))
    if figures.bytes < 2**31:
        console.print("expectations are for 4 GiB: what a call costs weighs more in small files")
    for holds, sentence in verdicts(figures):
        console.print(f"[green]✓[/] {sentence}" if holds else f"[yellow]✗[/] {sentence}")
    for note in figures.notes:
        console.print("note:", note, style="yellow", markup=False, highlight=False)


def _cases(figures: Figures, cold: bool) -> list[tuple[str, str]]:
    here = {(task, format_) for _, task, format_, state in figures.seconds if state == cold}
    return [(task, format_) for format_ in FORMATS for task in TASKS if (task, format_) in here]


def _times(title: str, figures: Figures, names: Sequence[str], cold: bool) -> Table:
    names = [name for name in names if any(k[0] == name and k[3] == cold for k in figures.seconds)]
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    metric = COLD_TIME if cold else TIME
    for task, format_ in _cases(figures, cold):
        if not any(figures.sample(name, task, format_, cold) for name in names):
            continue
        samples = [figures.sample(name, task, format_, cold) for name in names]
        cells = ["—" if sample is None else spread(sample, metric) for sample in samples]
        table.add_row(f"{task}, {_FORMATS[format_]}", *cells)
    table.caption = (
        "seconds, median (least–greatest of the rounds); a single figure: one run. Times are of "
        "the task inside a process, opening the file included; of CDO and NCO, of their processes"
    )
    return table


def _ratios(figures: Figures, cold: bool) -> Table:
    peers = (READ, LIMIT, BEST_MPI, BEST_TOOL) if cold else (LIMIT, BEST_MPI, BEST_TOOL)
    faces = [face for face in OURS if any(k[0] == face and k[3] == cold for k in figures.seconds)]
    title = f"How many times faster, page cache {'cold' if cold else 'warm'}"
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("", no_wrap=True)
    for face in faces:
        for peer in peers:
            table.add_column(f"{face.split()[-1]}: {_SHORT.get(peer, peer)}", justify="right")
    for task, format_ in _cases(figures, cold):
        cells = []
        for face in faces:
            for peer in peers:
                ratio = figures.ratio(face, peer, task, format_, cold)
                best = figures.best(peer, task, format_, cold)
                who = "" if best == peer else f" {_SHORT.get(best, best)}"
                cells.append("—" if ratio is None else f"{number(ratio)}×{who}")
        table.add_row(f"{task}, {_FORMATS[format_]}", *cells)
    return table


def _settings(figures: Figures) -> Table:
    table = Table(title="Settings that trials chose, and memory", title_justify="left", box=SIMPLE)
    table.add_column("")
    table.add_column("settings")
    table.add_column("memory of a rank, MiB", justify="right")
    for name in (*OURS, LIMIT, *TRADITIONAL, *TOOLS, CDO_INFO):
        labels: dict[str, list[str]] = {}
        for (who, task, format_, cold), label in figures.settings.items():
            if who == name and not cold:
                labels.setdefault(label, []).append(f"{task} {format_}")
        shown = [
            f"{label} ({', '.join(where)})" if len(labels) > 1 else label
            for label, where in labels.items()
        ]
        most = [value for key, value in figures.memory.items() if key[0] == name]
        if labels:
            table.add_row(name, "\n".join(shown), number(max(most)))
    table.caption = "memory: VmHWM; of Fluvial, over what the process had before it opened the file"
    return table
