# SPDX-License-Identifier: Apache-2.0
"""The tables and the picture of the contest between hosts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.machine import caption
from bench.plotter import Layout, Line, Panel
from bench.record import Metric
from bench.stage.hosts.figures import (
    CASES,
    IPERF,
    LATENCY,
    LATENCY_P99,
    LIBFABRIC,
    PYTHON,
    QUEUED,
    RATE,
    SOCKET,
    SST,
    SST_OFF,
    SST_ON,
    STEP,
    TCP,
    TCP_PUT,
    THROUGHPUT,
    Figures,
    verdicts,
)
from bench.stage.picture import rate_label, time_label
from bench.table import machine_line, quantity, size_label, spread

_COMPILED = (TCP, LIBFABRIC, TCP_PUT)
_PYTHON = (PYTHON, SST_ON, SST_OFF)
_SHORT = {TCP: "TCP", TCP_PUT: "TCP, put", LIBFABRIC: "libfabric", PYTHON: "Fluvial"}


def show(console: Console, figures: Figures, header: dict[str, Any]) -> None:
    """Print the machine, a table for each question, the verdicts and the notes."""
    console.print(machine_line(header))
    for metric in (THROUGHPUT, RATE, LATENCY, LATENCY_P99):
        title = f"From C++ between two hosts: {metric.name}, median (min–max)"
        _show(console, figures, metric, title, SOCKET, _COMPILED, (SOCKET, QUEUED, IPERF))
    for metric in (THROUGHPUT, RATE, LATENCY, STEP):
        title = f"From Python between two hosts: {metric.name}"
        _show(console, figures, metric, title, SST, (PYTHON,), (SST_ON, SST_OFF))
    _show(console, figures, STEP, "From C++: a step of datasets", "", (TCP,), ())
    for holds, sentence in verdicts(figures):
        console.print(f"[green]✓[/] {sentence}" if holds else f"[yellow]✗[/] {sentence}")
    for note in figures.notes:
        console.print("note:", note, style="yellow", markup=False, highlight=False)


def _show(
    console: Console,
    figures: Figures,
    metric: Metric,
    title: str,
    limit: str,
    ours: Sequence[str],
    theirs: Sequence[str],
) -> None:
    """Ratios to `limit` first, then all figures; nothing where none of `ours` was measured."""
    present = [
        name
        for name in (*ours, *theirs)
        if any(figures.sample(name, metric, size) for size in figures.sizes(metric))
    ]
    ours = [name for name in ours if name in present]
    if not ours:
        return
    table = Table(title=title, title_justify="left", box=SIMPLE, caption=quantity(metric))
    table.add_column("step", justify="right")
    for name in ours if limit else ():
        words = f"{_SHORT[name]} ÷ {limit}" if metric.higher_is_better else f"{limit} ÷ "
        words += "" if metric.higher_is_better else _SHORT[name]
        table.add_column(words, justify="right", style="bold")
    for name in present:
        table.add_column(_SHORT.get(name, name), justify="right", no_wrap=True)
    for size in figures.sizes(metric):
        samples = [figures.sample(name, metric, size) for name in present]
        if not any(samples):
            continue
        ratios = [figures.ratio(name, metric, size, limit) for name in ours if limit]
        cells = ["—" if ratio is None else f"{ratio:.2f}" for ratio in ratios]
        cells += ["—" if sample is None else spread(sample, metric) for sample in samples]
        label = f"{size // 8:,} datasets" if metric is STEP else size_label(size)
        table.add_row(label, *cells)
    console.print(table)


_COLOURS = {
    TCP: "#0b6fb8",
    TCP_PUT: "#6aa9d8",
    LIBFABRIC: "#14a37f",
    PYTHON: "#7a4fb5",
    SOCKET: "#8a8a8a",
    SST_ON: "#c8502d",
    SST_OFF: "#e6a23c",
}


def layout(header: dict[str, Any]) -> Layout:
    """Return the four panels, with the machine and the versions of `header` under the title."""
    machine, software = header["machine"], header["software"]

    def line(who: str, label: str = "", peer: str = "") -> Line:
        case = CASES.get(who, "")
        return Line(label or who, _COLOURS[who], case, peer or ("" if case else who))

    def ours(peer: str) -> tuple[Line, ...]:
        return tuple(line(who, peer=peer) for who in _COMPILED)

    figures = (*ours(SOCKET), line(PYTHON, peer=SST), *map(line, (SOCKET, SST_ON, SST_OFF)))
    return Layout(
        columns=2,
        title="One writer, one reader on two hosts: Fluvial beside raw TCP and ADIOS2's SST",
        subtitle=(
            f"{caption(machine)}; two network namespaces; "
            f"Fluvial {software.get('fluvial', '—')}, ADIOS2 {software.get('adios2', '—')} (Python)"
        ),
        panels=(
            Panel(
                "Share of raw TCP",
                (THROUGHPUT.name,),
                "ratio of throughput",
                ours(SOCKET),
                y="ratio",
                log_y=False,
                marks=((0.95, "0.95"),),
            ),
            Panel("Throughput", (THROUGHPUT.name,), "", figures, tick=rate_label),
            Panel(
                "Times faster than SST's better setting, from Python",
                (THROUGHPUT.name,),
                "ratio of throughput",
                (line(PYTHON, peer=SST),),
                y="ratio",
                log_y=False,
                marks=((1.0, "SST"),),
            ),
            Panel("One-way latency, median", (LATENCY.name,), "", figures, tick=time_label),
        ),
    )
