# SPDX-License-Identifier: Apache-2.0
"""The parallel STREAM benchmark of "A Data Streaming Model in MPI", section 4, and its experiments.

Producers send elements to consumers, which run copy, scale, add or triad on each. In the same
processes, turn by turn: the paper's own scheme (persistent receives from any source, unique tags,
MPI_Testany), Send/Recv, one-way MPI with a window of 64, ping-pong, memcpy. Figure 4 (producers a
consumer), 5 (operations an element), 6 (element size), 7 (both sides grow; on simulated machines up
to 2,048 producers and as many consumers), the memory of a consumer that computes, and the path
between nodes: the same with shared memory off.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench import peers
from bench.machine import two_sides
from bench.options import Json, Output, Png, Quick, Runs, fluvial_path, header
from bench.plotter import draw
from bench.record import append_lines
from bench.scan import compiled
from bench.scan.once import RunError
from bench.stream import picture, report, simulated, tables
from bench.stream.experiments import Laboratory, Scope
from bench.stream.figures import Figures
from bench.stream.machines import MACHINES
from bench.table import wide_console

_PROGRAM = Path(__file__).with_name("programs") / "contest.cpp"
_MPIS = {compiled.MPICH: "MPICH", compiled.OPEN_MPI: "Open MPI"}
_PARTS = ("sizes", "anew", "kernels", "producers", "flops", "scaling", "memory", "simulated")
_LIMIT_BYTES = 2**24


def ask(
    json: Json = None,
    png: Png = None,
    quick: Quick = False,
    runs: Runs = None,
    mpi: Annotated[
        str, typer.Option(help="mpich, openmpi or both; default both, quick mpich.")
    ] = "",
    parts: Annotated[
        str, typer.Option(help=f"Some of {', '.join(_PARTS)}; default all.")
    ] = ",".join(_PARTS),
) -> None:
    """Run the experiments, show their figures, append their records and draw their picture."""
    console = wide_console()
    chosen = _chosen(parts.split(","), _PARTS, "--parts")
    wanted = mpi or ("mpich" if quick else "both")
    mpis = list(_MPIS) if wanted == "both" else _chosen([wanted], tuple(_MPIS), "--mpi")
    ours = peers.present_here("fluvial", {"PYTHONPATH": fluvial_path()})
    started = header("stream", {"fluvial": ours.version})
    scope = Scope.quick(runs or 3) if quick else Scope.full(runs or 10)
    figures = Figures()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("compiling")

        def say(what: str) -> None:
            progress.update(task, description=what)

        for name in mpis:
            program = compiled.with_fluvial(f"stream_{name}", _PROGRAM, name)
            if program.path is None:
                console.print(f"{_MPIS[name]} is missing: {program.missing}", style="red")
                continue
            cores = sorted(min(side) for side in two_sides())
            laboratory = Laboratory(_MPIS[name], program, cores, scope, say, figures)
            _measure(laboratory, chosen, console)
        if "simulated" in chosen:
            _simulate(quick, figures, say, console)
    if not figures.turns:
        raise typer.Exit(1)
    records = report.records(figures)
    tables.show(console, figures, started)
    output = Output.of("stream", json, png)
    append_lines(output.json, started, records)
    drawn = []
    for name in mpis:
        png = output.png if not drawn else output.png.with_stem(f"{output.png.stem}_{name}")
        draw(png, picture.layout(started, _MPIS[name]), picture.drawn(records, _MPIS[name]))
        drawn.append(str(png))
    console.print(f"{len(records)} lines appended to {output.json}; drawn: {', '.join(drawn)}")


def _measure(laboratory: Laboratory, parts: list[str], console: Console) -> None:
    """Run each part; one that fails is reported and the next one begins."""
    for part in parts:
        try:
            if part == "memory":
                laboratory.memory(_LIMIT_BYTES)
            elif part != "simulated":
                getattr(laboratory, part)()
        except RunError as error:
            console.print(f"{laboratory.mpi}, {part}: {error}", style="red", markup=False)
    for complaint in laboratory.complaints:
        console.print(f"{laboratory.mpi}, memory: {complaint}", style="red", markup=False)


def _simulate(quick: bool, figures: Figures, say: simulated.Say, console: Console) -> None:
    say("compiling under SMPI")
    contest = simulated.program(_PROGRAM)
    if contest.path is None:
        console.print(f"SimGrid is missing: {contest.missing}", style="red", markup=False)
        return
    for machine in MACHINES:
        try:
            plan = simulated.QUICK if quick else simulated.Plan()
            simulated.run(contest, machine, plan, figures, say)
        except RunError as error:
            console.print(f"simulated {machine.name}: {error}", style="red", markup=False)


def _chosen(words: list[str], known: tuple[str, ...], option: str) -> list[str]:
    for word in words:
        if word not in known:
            raise typer.BadParameter(f"'{word}'; choose from {', '.join(known)}", param_hint=option)
    return words
