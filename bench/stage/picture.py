# SPDX-License-Identifier: Apache-2.0
"""The layout of the stage's picture: share of the limit, rate, lead over SST, latency, memory."""

from __future__ import annotations

from typing import Any

from bench.machine import caption
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
    """Return the five panels, with the machine and the versions of `header` under the title."""
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
            "",
            line.colour,
            line.case,
            line.peer,
            LATENCY_P99.name,
            ":",
        )
        for line in both
    )
    lead = (
        Line(both[0].label, _SPAN, case=CASES[SPAN], peer=SST),
        Line(both[1].label, _PUT, case=CASES[PUT], peer=SST),
    )
    share = (
        Line(both[0].label, _SPAN, case=CASES[SPAN], peer=MEMCPY),
        Line(both[1].label, _PUT, case=CASES[PUT], peer=MEMCPY),
    )
    return Layout(
        columns=3,
        title="One writer, one reader on one host: Fluvial beside ADIOS2's SST",
        subtitle=(
            f"{caption(machine)}; "
            f"Fluvial {software.get('fluvial', '—')}, ADIOS2 {software.get('adios2', '—')} (BP5); "
            "the reader sums every step; median of the runs, band: min to max"
        ),
        panels=(
            Panel(
                "Share of memcpy, the limit of a put",
                (THROUGHPUT.name,),
                "ratio of throughput",
                share,
                y="ratio",
                log_y=False,
                marks=((1.0, "memcpy"),),
            ),
            Panel("End-to-end throughput", (THROUGHPUT.name,), "", both + limits, tick=rate_label),
            Panel(
                "Times faster than SST's better setting",
                (THROUGHPUT.name,),
                "ratio of throughput",
                lead,
                y="ratio",
                log_y=False,
                marks=((5.0, "5×"), (8.0, "8×")),
            ),
            Panel(
                "One-way latency (solid: median, dotted: p99)",
                (LATENCY.name,),
                "",
                both + tails,
                tick=time_label,
            ),
            Panel(
                "Memory of both sides, queue full",
                (MEMORY_WRITER.name, MEMORY_READER.name),
                "proportional set size, writer + reader",
                both,
                tick=memory_label,
            ),
        ),
    )


def rate_label(gigabytes: float) -> str:
    """Write GB/s with the prefix that fits."""
    for scale, unit in ((1.0, "GB/s"), (1e-3, "MB/s"), (1e-6, "kB/s")):
        if gigabytes >= scale:
            return f"{gigabytes / scale:g} {unit}"
    return f"{gigabytes * 1e9:g} B/s"


def time_label(microseconds: float) -> str:
    """Write a time in µs, ms or s."""
    for scale, unit in ((1e6, "s"), (1e3, "ms")):
        if microseconds >= scale:
            return f"{microseconds / scale:g} {unit}"
    return f"{microseconds:g} µs"


def memory_label(mebibytes: float) -> str:
    """Write a size in MiB."""
    return f"{mebibytes:,.0f} MiB"
