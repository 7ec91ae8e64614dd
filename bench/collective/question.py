# SPDX-License-Identifier: Apache-2.0
"""The experiments of "Collective Computing for Scientific Big Data Analysis", section IV, anew.

One side reads its share with MPI_File_read_all (two-phase, collective buffering on) and then runs a
loop of adjustable cost over it; the other gives the same loop to Fluvial's scan as an operator.
Figures 9 (computation to I/O from 10:1 to 1:10, page cache warm and cold), 10 and 11 (1, 2, 4
ranks: more than there are cores show function, not speed), 12 (logical map against buffer size), 13
(minimum with its place), and the shuffle's volume: counted on 2 to 8 ranks, modelled to 100,000.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench import peers
from bench.collective import picture, report
from bench.collective.experiments import BUFFERS, RATIOS, Laboratory
from bench.collective.shuffle import entries_bytes, shares, two_phase_bytes
from bench.machine import two_sides
from bench.options import Json, Output, Png, Quick, Runs, fluvial_path, header
from bench.plotter import draw
from bench.record import append_lines
from bench.scan import compiled, files
from bench.scan.cases import HDF5
from bench.scan.once import RunError
from bench.sizes import parse_size
from bench.table import wide_console

_SHUFFLE_RANKS = (2, 4, 8)
_MAP_RANKS = 2
_BUDGET_S, _QUICK_BUDGET_S = 120.0, 15.0
_AGGREGATORS = (0,)  # MPI-IO's default is one a host
_QUICK_RATIOS = (0.1, 0.5, 1.0, 2.0, 10.0)
_PROGRAM = Path(__file__).with_name("programs") / "collective.cpp"


def ask(
    json: Json = None,
    png: Png = None,
    quick: Quick = False,
    runs: Runs = None,
    size: Annotated[
        str, typer.Option(help="Bytes of the variable, such as 1Gi; default 512Mi, quick 256Mi.")
    ] = "",
    folder: Annotated[
        Path | None,
        typer.Option(help="Where the files are kept; default $FLUVIAL_BENCH_DATA or .build/bench."),
    ] = None,
) -> None:
    """Run the experiments, show their figures, append their records and draw their picture."""
    console = wide_console()
    ours = peers.present_here("fluvial", {"PYTHONPATH": fluvial_path()})
    program = compiled.with_fluvial("collective", _PROGRAM)
    if program.path is None:
        console.print(f"Fluvial is missing: {program.missing}", style="red", markup=False)
        raise typer.Exit(1)
    started = header("collective", {"fluvial": ours.version})
    steps = files.steps_of(parse_size(size or ("256Mi" if quick else "512Mi")))
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    ratios = _QUICK_RATIOS if quick else RATIOS
    try:
        with console.status("making the files, unless they are there …"):
            data = files.provide(folder or files.default_folder(), steps)[HDF5]
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("")
            cores = sorted(min(side) for side in two_sides())
            laboratory = Laboratory(
                program.path,
                data,
                cores,
                runs or (1 if quick else 5),
                _QUICK_BUDGET_S if quick else _BUDGET_S,
                lambda what: progress.update(task, description=what),
            )
            files.warm(data.path)
            laboratory.speed_up(ratios, cold=False)
            laboratory.scaling()
            laboratory.metadata(_MAP_RANKS)
            laboratory.minimum()
            laboratory.shuffle(_SHUFFLE_RANKS)
            laboratory.speed_up(ratios, cold=True)
    except (RunError, RuntimeError) as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    start, count = laboratory.selection(steps)
    raw = {
        (ranks, split): two_phase_bytes(data.shape, shares(start, count, axis, ranks), _AGGREGATORS)
        for ranks in _SHUFFLE_RANKS
        for split, axis in (("time", 0), ("lat", 2))
    }
    asked = shares(start, count, 2, _MAP_RANKS)
    entries = {buffer: entries_bytes(data.shape, asked, buffer) for buffer in BUFFERS}
    scales = report.modelled(laboratory.runs)
    records = report.records(laboratory.runs, raw, entries, scales)
    report.show(console, laboratory.runs, records, started)
    output = Output.of("collective", json, png)
    append_lines(output.json, started, records)
    draw(output.png, picture.layout(started, laboratory.runs), [r.__dict__ for r in records])
    console.print(f"{len(records)} lines appended to {output.json}; picture: {output.png}")
