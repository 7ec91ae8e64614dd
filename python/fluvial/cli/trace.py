# SPDX-License-Identifier: Apache-2.0
"""`fluvial trace`: what the ranks of a channel or a pool did when."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from . import tables
from .printing import Format, print_csv

if TYPE_CHECKING:
    from ..flow.timeline import Timeline


def add_trace(app: typer.Typer) -> None:
    """Add the word to the command."""
    app.command("trace")(_show_trace)


def _show_trace(
    file: Annotated[str, typer.Argument(help="What Channel(trace_file=…) or Pool(trace=…) wrote.")],
    png: Annotated[str | None, typer.Option(help="Draw it: one row a rank.")] = None,
    format: Annotated[Format, typer.Option(help="table, json or csv.")] = Format.table,
) -> None:
    """Say how the ranks of a channel or a pool spent their time, or draw it.

    fluvial trace trace.json --png trace.png
    """
    from ..flow.timeline import Timeline, is_timeline
    from ..stream import trace
    from .pictures import check_picture

    if is_timeline(file):
        _show_timeline(Timeline.read(file), os.path.basename(file), png, format)
        return
    ranks = trace.read_trace(file)
    if png is not None:
        check_picture(png)
        trace.draw_trace(ranks, png, os.path.basename(file))
        return
    rows: list[tables.Row] = []
    for rank in ranks:
        seconds = rank.seconds()
        times = {f"{name} (s)": round(seconds.get(name, 0.0), 6) for name in trace.COLOURS}
        rows.append({"rank": rank.name, **times})
    _print_trace(rows, {}, os.path.basename(file), format)


def _show_timeline(timeline: Timeline, name: str, png: str | None, format: Format) -> None:
    if png is not None:
        timeline.save(png)
        return
    rows: list[tables.Row] = []
    for rank in timeline.ranks:
        seconds = timeline.seconds_by_kind(rank)
        times = {f"{kind} (s)": round(value, 6) for kind, value in seconds.items()}
        idle = timeline.seconds - sum(seconds.values())
        rows.append({"rank": f"rank {rank}", **times, "idle (s)": round(max(idle, 0.0), 6)})
    _print_trace(rows, timeline.summary(), name, format)
    if format is Format.table:
        print(timeline)


def _print_trace(
    rows: list[tables.Row], summary: dict[str, float], name: str, format: Format
) -> None:
    if format is Format.json:
        tables.print_json({"rows": rows, **({"summary": summary} if summary else {})})
    elif format is Format.csv:
        print_csv(rows)
    else:
        tables.print_rows(rows, name)
