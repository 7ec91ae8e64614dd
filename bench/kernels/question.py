# SPDX-License-Identifier: Apache-2.0
"""Reductions of a contiguous array in the second-level cache, the third, and memory.

Beside Fluvial: a loop that only reads the same bytes (vectorised, compiled for this CPU) and NumPy,
in turns on the same array in one pinned process. Throughput is that of whole Python calls; beside
the read loop, the time of a call on 8 elements is subtracted on both sides, which leaves the
kernels. The structure factor is given in atoms times q vectors a second.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench import native, peers
from bench.child import Child, ChildError, gather
from bench.contest import alternate
from bench.kernels import report
from bench.kernels.report import (
    ATOMS,
    CALL,
    CALL_BYTES,
    DTYPES,
    OPS,
    SCATTERING,
    TURNS,
    Case,
    Figures,
)
from bench.machine import cache_sizes, two_sides
from bench.options import BUILD, Json, Output, Png, Quick, Runs, fluvial_path, header
from bench.plotter import draw
from bench.record import append_lines
from bench.table import wide_console

_LIMIT_S = 60.0
_START_LIMIT_S = 30.0


def ask(json: Json = None, png: Png = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run the contest, show its figures, append its records and draw its picture."""
    console = wide_console()
    path = {"PYTHONPATH": fluvial_path()}
    ours = peers.present_here("fluvial", path)
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    started = header("kernels", {"fluvial": ours.version})
    figures = Figures()
    order_max = 8 if quick else 16
    cases = [
        Case(op, dtype, level, bytes_)
        for level, bytes_ in {CALL: CALL_BYTES, **levels()}.items()
        for dtype in DTYPES
        for op in OPS
    ]
    rounds = runs or (3 if quick else 7)
    budget_s = 0.01 if quick else 0.05
    total_s = 35.0 if quick else 600.0
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    try:
        with (
            tempfile.TemporaryDirectory(prefix="fluvial-bench-") as folder,
            _worker(path, Path(folder)) as worker,
            Progress(*columns, console=console, transient=True) as progress,
        ):
            task = progress.add_task("reductions")
            for _, case, who in alternate(cases, TURNS, rounds, rounds_min=2, budget_s=total_s):
                progress.update(task, description=f"{case.op} {case.dtype} {case.level}: {who}")
                worker.send({**case.command(), "who": who, "budget_s": budget_s})
                figures.add(case, who, gather([worker], _LIMIT_S)[0]["seconds"])
            for _, _, who in alternate([None], SCATTERING, 2 if quick else 5):
                progress.update(task, description=f"structure factor: {who}")
                sizes = {"atoms": ATOMS, "order_max": order_max}
                command = {"op": "structure factor", "who": who, "budget_s": budget_s, **sizes}
                worker.send(command)
                figures.add_scattering(who, gather([worker], _LIMIT_S)[0])
    except ChildError as error:
        console.print(f"the measuring process failed: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    report.show(console, figures, started)
    records = report.records(figures)
    output = Output.of("kernels", json, png)
    append_lines(output.json, started, records)
    draw(output.png, report.layout(started), [r.__dict__ for r in records])
    console.print(f"{len(records)} lines appended to {output.json}; picture: {output.png}")


def levels() -> dict[str, int]:
    """Return the bytes of an array that lies in L2, in L3 and in neither."""
    caches = cache_sizes()
    second = caches.get("L2", 2**20)
    third = caches.get("L3", 2**25)
    return {"L2": second // 2, "L3": max(second * 2, third // 4), "memory": max(4 * third, 2**27)}


def _worker(variables: dict[str, str], folder: Path) -> Child:
    root = str(Path(__file__).resolve().parents[2])
    paths = os.pathsep.join([root, variables["PYTHONPATH"]])
    library = native.build(BUILD / "bench")
    return Child(
        [sys.executable, "-m", "bench.kernels.worker", str(library)],
        cores=two_sides()[1],
        log=folder / "worker.log",
        environment={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
    )
