# SPDX-License-Identifier: Apache-2.0
"""The layout of the picture: the paper's Figures 9 to 13, and the shuffle at scale."""

from __future__ import annotations

from typing import Any

from bench.collective.experiments import Runs
from bench.collective.report import (
    ENTRIES,
    METADATA,
    MINIMUM,
    MODEL,
    REDUCTION,
    TIME,
    TRADITIONAL,
    TWO_PHASE,
    ratio_label,
    volume_label,
)
from bench.machine import caption
from bench.plotter import Bars, Layout, Line, Panel
from bench.stage.picture import time_label
from bench.table import size_label

_OURS, _THEIRS, _ALSO, _THIRD = "#0b6fb8", "#c8502d", "#14a37f", "#e6a23c"
_COMMON, _PIECES = "#7fb6e0", "#8a8a8a"
_ONE = ((1.0, "1×"),)


def layout(header: dict[str, Any], runs: Runs) -> Layout:
    """Return six panels, with the machine under the title."""
    machine, software = header["machine"], header["software"]
    io = ", ".join(f"{state} {seconds * 1e3:.0f} ms" for state, seconds in runs.io_s.items())
    return Layout(
        title="Computing inside the read, beside reading and then computing",
        subtitle=(
            f"{caption(machine)}; Fluvial {software.get('fluvial', '—')} and MPICH's two-phase "
            f"reads; 2 ranks unless said; I/O takes {io}"
        ),
        panels=(
            _speed_up(),
            *_more_ranks(machine["cores"]),
            _logical_map(),
            Bars(
                "Minimum with its place (Figure 13)",
                "times faster",
                MINIMUM.name,
                "case",
                (("inside the read", _OURS, {}),),
                TRADITIONAL,
                _ONE,
            ),
            _shuffle(),
        ),
    )


def _whole(x: float) -> str:
    return f"{x:,.0f}"


def _speed_up() -> Panel:
    lines = tuple(
        Line(f"page cache {state}", colour, f"computation to I/O, {state}", TRADITIONAL)
        for state, colour in (("warm", _THIRD), ("cold", _ALSO))
    )
    return Panel(
        "Speed-up against computation : I/O (Figure 9)",
        (TIME.name,),
        "times faster",
        lines,
        y="ratio",
        x="ratio",
        x_label="computation : I/O",
        log_y=False,
        marks=_ONE,
        x_tick=ratio_label,
    )


def _more_ranks(cores: int) -> tuple[Panel, Panel]:
    theirs = Line(TRADITIONAL, _THEIRS, peer=TRADITIONAL)
    label = f"ranks on {cores} cores"
    return (
        Panel(
            "As much a rank, 1:5 (Figure 10)",
            (TIME.name,),
            "seconds",
            (Line("inside the read", _OURS, "scaling"), theirs),
            x="ranks",
            x_label=label,
            log_y=False,
            x_tick=_whole,
        ),
        Panel(
            "Reduction after the loop (Figure 11)",
            (REDUCTION.name,),
            "",
            (Line("inside the read", _OURS, "overhead"), theirs),
            x="ranks",
            x_label=label,
            tick=lambda seconds: time_label(seconds * 1e6),
            x_tick=_whole,
        ),
    )


def _logical_map() -> Panel:
    return Panel(
        "Logical map against buffer size (Figure 12)",
        (METADATA.name,),
        "all ranks together",
        (
            Line("inside the read", _OURS, "buffer size"),
            Line(ENTRIES, _PIECES, peer=ENTRIES),
        ),
        x="buffer",
        x_label="buffer of a read",
        tick=volume_label,
        x_tick=lambda bytes_: size_label(int(bytes_)),
    )


def _shuffle() -> Panel:
    return Panel(
        "What the second phase sends, modelled",
        (MODEL.name,),
        "all ranks together",
        (
            Line(TRADITIONAL, _THEIRS, peer=TWO_PHASE),
            Line("inside the read", _OURS, "shuffle to one, modelled"),
            Line(
                "inside the read, all ranks ask for the same", _COMMON, "shuffle common, modelled"
            ),
        ),
        x="ranks",
        x_label="ranks, 6.7 GB each, 24 a host",
        tick=volume_label,
        x_tick=_whole,
    )
