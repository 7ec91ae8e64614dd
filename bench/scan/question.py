# SPDX-License-Identifier: Apache-2.0
"""One 4-D float32 variable in three files, four tasks, two ranks; page cache warm, and cold.

Beside Fluvial, in turns, each in processes of its own: the limit (two processes, pread and bare
hand-vectorised loops, libdeflate for chunks), PnetCDF and MPI-IO in the best of their settings,
xarray with dask, CDO, NCO. Every result is checked in every round. The files are made on first use
(4 GiB: 11 GiB of disk, about 80 s). Everything, warm and cold: ``./run bench scan --cold``, about
ten minutes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench.machine import two_sides
from bench.options import Json, Output, Png, Quick, Runs, header
from bench.plotter import draw
from bench.record import append_lines
from bench.scan import files, picture, report
from bench.scan.cases import CDF5, SUBSET, SUMMARY
from bench.scan.contestants import gather_field
from bench.scan.report import Figures
from bench.scan.rounds import Contest, Pace
from bench.sizes import parse_size
from bench.table import wide_console

_RANKS = 2
_QUICK = Pace(
    rounds=2,
    repeats=3,
    budget_s=40.0,
    limit_s=60.0,
    trials=False,
    slow_tasks=(SUMMARY, SUBSET),
    quick=True,
)
_FULL = Pace(rounds=5, repeats=3, budget_s=360.0, limit_s=240.0, trials=True, close_s=240.0)
_COLD_ROUNDS = 2


def ask(
    json: Json = None,
    png: Png = None,
    quick: Quick = False,
    runs: Runs = None,
    size: Annotated[
        str, typer.Option(help="Bytes of the variable, such as 512Mi; default 4Gi, quick 256Mi.")
    ] = "",
    cold: Annotated[
        bool, typer.Option("--cold", help="Rounds with the file dropped from the cache, too.")
    ] = False,
    only: Annotated[
        str, typer.Option(help="Contestants whose name contains one of these, comma-separated.")
    ] = "",
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the files are kept; default $FLUVIAL_BENCH_DATA or .build/bench."),
    ] = None,
) -> None:
    """Run the contest, show its figures, append its records and draw its picture."""
    console = wide_console()
    pace = _QUICK if quick else _FULL
    if runs is not None:
        pace = Pace(**{**pace.__dict__, "rounds": runs})
    steps = files.steps_of(parse_size(size or ("256Mi" if quick else "4Gi")))
    home = folder or files.default_folder()
    try:
        with console.status("making the files, unless they are there …"):
            data = files.provide(home, steps)
    except RuntimeError as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    with console.status("finding the contestants (at first, xarray and dask are installed) …"):
        found = gather_field(_RANKS, sorted(min(side) for side in two_sides()))
    started = header("scan", found.software)
    figures = Figures(bytes=data[CDF5].bytes, ranks=_RANKS, notes=found.notes)
    wanted = [word.strip().lower() for word in only.split(",") if word.strip()]
    chosen = [
        c for c in found.contestants if not wanted or any(w in c.name.lower() for w in wanted)
    ]
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")

        def say(what: str) -> None:
            progress.update(task, description=what)

        contest = Contest(found.contestants, chosen, data, figures, pace, say)
        contest.warm_rounds()
        if cold:
            contest.cold_rounds(_COLD_ROUNDS)
    report.show(console, figures, started)
    records = report.records(figures)
    if not records:
        console.print("[red]No figure of Fluvial, so nothing is recorded; see the notes above.[/]")
        raise typer.Exit(1)
    output = Output.of("scan", json, png)
    append_lines(output.json, started, records)
    draw(output.png, picture.layout(started, figures), [r.__dict__ for r in records])
    console.print(f"{len(records)} lines appended to {output.json}; picture: {output.png}")
    if figures.ours_failed():
        raise typer.Exit(1)
