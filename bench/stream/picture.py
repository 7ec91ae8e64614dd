# SPDX-License-Identifier: Apache-2.0
"""The layout of the picture: the paper's Figures 4 to 7."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bench.machine import caption
from bench.plotter import Layout, Line, Panel
from bench.record import Record
from bench.stream.cases import (
    APART,
    BETWEEN,
    FLOPS,
    MEMCPY,
    PEERS,
    PING,
    PRODUCERS,
    SAME_NODE,
    SCALING,
    SEED,
    SEND,
    SIMULATED,
    WINDOW,
)
from bench.stream.machines import FAT_TREE, TORUS
from bench.stream.report import BEST, LINEAR, RATE
from bench.table import size_label

_OURS, _THEIRS, _BETWEEN = "#0b6fb8", "#c8502d", "#14a37f"
_LIGHT, _LIGHTER = "#7fb6e0", "#e6a23c"
_SEND, _WINDOW, _PING, _MEMCPY = "#e6a23c", "#9b59b6", "#8a8a8a", "#222222"
_SHADES = {256: (_LIGHT, "#e3a28f"), 512: (_OURS, _THEIRS), 1024: ("#053a63", "#7d2a12")}


def layout(header: dict[str, Any], mpi: str) -> Layout:
    """Return the four figures, with the machine under the title."""
    machine, software = header["machine"], header["software"]
    return Layout(
        title="Streams inside a job: the parallel STREAM benchmark, beside the paper's scheme",
        subtitle=(
            f"scale kernel; {caption(machine)}; Fluvial {software.get('fluvial', '—')}, {mpi}; "
            "medians with least and greatest"
        ),
        panels=(
            _by_size(PRODUCERS, "Producers a consumer, equal bytes (Figure 4)", "producers"),
            _by_size(FLOPS, "Further operations on each element (Figure 5)", "flops"),
            _sizes(),
            _scaling(),
        ),
        legends_apart=True,
    )


def drawn(records: Sequence[Record], mpi: str) -> list[dict[str, Any]]:
    """Return the records that the picture shows: one MPI's and the simulated ones."""
    return [
        record.__dict__
        for record in records
        if record.params["mpi"] == mpi or record.case.startswith(SIMULATED)
    ]


def _whole(x: float) -> str:
    return f"{x:,.0f}"


def _rate(value: float) -> str:
    return f"{value:g}"


def _by_size(experiment: str, title: str, x: str) -> Panel:
    lines = []
    for doubles, (ours, theirs) in _SHADES.items():
        where: dict[str, Any] = {"doubles": doubles}
        if experiment == PRODUCERS:
            where["placement"] = APART
        label = f"{doubles} doubles"
        lines.append(Line(f"Fluvial, {label}", ours, experiment, where=where))
        lines.append(
            Line(
                f"{PEERS[SEED]}, {label}",
                theirs,
                f"{experiment}, {PEERS[SEED]}",
                style="--",
                where=where,
            )
        )
    return Panel(
        title,
        (RATE.name,),
        "GB/s",
        tuple(lines),
        x=x,
        x_label="producers for one consumer" if x == "producers" else "operations an element",
        tick=_rate,
        x_tick=_whole,
        whiskers=True,
    )


def _sizes() -> Panel:
    return Panel(
        "Element size (Figure 6)",
        (RATE.name,),
        "GB/s",
        (
            Line(f"Fluvial, {SAME_NODE}", _OURS, f"{SAME_NODE}, {BEST}"),
            Line(f"Fluvial, {BETWEEN}: messages", _BETWEEN, f"{BETWEEN}, {BEST}"),
            *(
                Line(PEERS[peer], colour, PEERS[peer], style="--")
                for peer, colour in (
                    (SEED, _THEIRS),
                    (SEND, _SEND),
                    (WINDOW, _WINDOW),
                    (PING, _PING),
                    (MEMCPY, _MEMCPY),
                )
            ),
        ),
        x_label="bytes an element",
        tick=_rate,
        x_tick=lambda bytes_: size_label(int(bytes_)),
        whiskers=True,
    )


def _scaling() -> Panel:
    machines = ((TORUS, _OURS, _THEIRS), (FAT_TREE, _BETWEEN, _SEND))
    simulated = [
        Line(
            f"{who}, simulated {machine.name}",
            colour,
            f"{SIMULATED}, {machine.name}{rest}",
            style=style,
        )
        for machine, *colours in machines
        for who, colour, rest, style in (
            ("Fluvial", colours[0], "", "-"),
            (PEERS[SEED], colours[1], f", {PEERS[SEED]}", "--"),
        )
    ]
    return Panel(
        "Both sides grow, 512 doubles (Figure 7)",
        (RATE.name,),
        "GB/s",
        (
            Line("Fluvial, this machine", _LIGHT, SCALING),
            Line(
                f"{PEERS[SEED]}, this machine", "#e3a28f", f"{SCALING}, {PEERS[SEED]}", style="--"
            ),
            *simulated,
            Line("linear", _PING, peer=LINEAR, style=":", where={"machine": TORUS.name}),
        ),
        x="pairs",
        x_label="producers, and as many consumers",
        tick=_rate,
        x_tick=_whole,
        whiskers=True,
    )
