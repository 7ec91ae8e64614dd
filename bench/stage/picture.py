# SPDX-License-Identifier: Apache-2.0
"""The layout of the stage's picture: throughput, lead over SST, latency, memory."""

from __future__ import annotations

from typing import Any

from bench.plotter import Layout, Line, Panel
from bench.stage.report import (
    CASES,
    LATENCY,
    LATENCY_P99,
    MEMCPY,
    MEMORY_READER,
    MEMORY_WRITER,
    PUT,
    SPAN,
    SST,
    SST_OFF,
    SST_ON,
    SUM,
    THROUGHPUT,
)

_PUT = "#0b6fb8"
_SPAN = "#14a37f"
_ON = "#c8502d"
_OFF = "#e6a23c"
_LIMIT = "#8a8a8a"


def layout(header: dict[str, Any]) -> Layout:
    """Return the four panels, with the machine and the versions of `header` under the title."""
    machine, software = header["machine"], header["software"]
    both = (
        Line("Fluvial: span, view", _SPAN, case=CASES[SPAN]),
        Line("Fluvial: put, view", _PUT, case=CASES[PUT]),
        Line("SST, preload on", _ON, peer=SST_ON),
        Line("SST, preload off", _OFF, peer=SST_OFF),
    )
    limits = (
        Line("limit: memcpy", _LIMIT, peer=MEMCPY, style=":"),
        Line("limit: the sum alone", _LIMIT, peer=SUM, style="--"),
    )
    tails = tuple(
        Line(
            f"{line.label}, p99" if not line.peer else "",
            line.colour,
            line.case,
            line.peer,
            LATENCY_P99.name,
            ":",
        )
        for line in both
    )
    lead = (
        Line("span, view", _SPAN, case=CASES[SPAN], peer=SST),
        Line("put, view", _PUT, case=CASES[PUT], peer=SST),
    )
    return Layout(
        title="One writer, one reader on one host: Fluvial beside ADIOS2's SST",
        subtitle=(
            f"{machine['cpu']}, {machine['cores']} cores, Linux {machine['kernel']}; "
            f"Fluvial {software.get('fluvial', '—')}, ADIOS2 {software.get('adios2', '—')} (BP5); "
            "the reader sums every step; median of the runs, band: min to max"
        ),
        panels=(
            Panel("End-to-end throughput", (THROUGHPUT.name,), "GB/s", both + limits),
            Panel(
                "Times faster than SST's better setting",
                (THROUGHPUT.name,),
                "ratio of throughput",
                lead,
                y="ratio",
                marks=((5.0, "5×"), (8.0, "8×")),
            ),
            Panel(
                "One-way latency (solid: median, dotted: p99)",
                (LATENCY.name,),
                "µs",
                both + tails,
            ),
            Panel(
                "Memory of both sides, queue full",
                (MEMORY_WRITER.name, MEMORY_READER.name),
                "MiB (PSS)",
                both,
            ),
        ),
    )
