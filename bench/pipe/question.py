# SPDX-License-Identifier: Apache-2.0
"""LAMMPS writes for a fixed time: into a file, or into a stream that a pipe writes into a file.

After Poeschel et al. (2021), doi:10.1007/978-3-030-96498-6_6, section 4.1: "BP-only" and "SST+BP"
there, here one host. The stream discards steps while its queue is full, so that the simulation
never waits. Both ways with and without compression, which the pipe does beside the simulation. All
contestants take turns, as does the simulation without any output.
"""

from __future__ import annotations

import json as json_
import shutil
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bench import peers
from bench.jobs import SITE, Job, JobError, box_of, free_folder, run_together, settle
from bench.options import Json, Output, Png, Quick, Runs, header
from bench.pipe.picture import draw
from bench.record import Metric, Record, Sample, append_lines, compare
from bench.table import wide_console

_SHARE = Metric("share of the simulation's time in output", "%", higher_is_better=False)
_OUTPUTS = Metric("outputs written", "", higher_is_better=True)
_STEPS = Metric("steps of the simulation", "", higher_is_better=True)
_TIME = Metric("time of an output", "ms", higher_is_better=False)
_QUEUE = 'full = "discard-newest"\nqueue_steps = 3'
NOTHING, DIRECT, PIPE = "no output", "into a file", "through a pipe"
COMPRESSIONS = ("none", "gzip:1")

Seconds = Annotated[float, typer.Option("--seconds", help="Of each simulation.")]
Ranks = Annotated[int, typer.Option("--ranks", min=1, help="Of the simulation.")]
Cells = Annotated[int, typer.Option("--cells", min=4, help="Of 4 atoms, along each axis.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Where the files lie; default: /var/tmp.")
]
Turn = dict[str, Any]


def ask(
    json: Json = None,
    png: Png = None,
    quick: Quick = False,
    runs: Runs = None,
    seconds: Seconds = 6.0,
    ranks: Ranks = 1,
    cells: Cells = 40,
    folder: Folder = None,
) -> None:
    """Run the contest, show its figures, append its records and draw them."""
    console = wide_console()
    ours = peers.present_here("fluvial", {"PYTHONPATH": str(SITE)})
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    started = header("pipe", {"fluvial": ours.version})
    turns: dict[tuple[str, str], list[Turn]] = {}
    if quick:
        seconds, cells = min(seconds, 2.0), min(cells, 24)
    words = ["--cells", cells, "--every", 1, "--seconds", seconds]
    try:
        for _ in range(runs or (1 if quick else 3)):
            for way, compression in _contestants():
                with tempfile.TemporaryDirectory(
                    prefix="fluvial-bench-", dir=free_folder(folder)
                ) as where:
                    turn = _turn(way, compression, ranks, words, Path(where), 60 + 10 * seconds)
                turns.setdefault((way, compression), []).append(turn)
                settle()
    except JobError as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    params = {"ranks": [ranks, 1], "seconds": seconds, "mpi": "MPICH"}
    records = _records(turns, params)
    _show(console, records, turns, seconds)
    output = Output.of("pipe", json, png)
    append_lines(output.json, started, records)
    draw(output.png, started, [record.__dict__ for record in records])
    console.print(f"{len(records)} lines appended to {output.json}, drawn in {output.png}")


def _contestants() -> list[tuple[str, str]]:
    return [(NOTHING, "none")] + [(way, c) for c in COMPRESSIONS for way in (DIRECT, PIPE)]


def _turn(
    way: str, compression: str, ranks: int, words: list[object], folder: Path, limit_s: float
) -> Turn:
    """Run the simulation once; return its figures."""
    report = folder / "simulation.json"
    words = [*words, "--report", report]
    if way == NOTHING:
        jobs = [Job.of_example(ranks, "simulation.py", "none.h5", "--no-output", *words)]
    elif way == DIRECT:
        said = f'compression = "{compression}"'
        jobs = [Job.of_example(ranks, "simulation.py", "run.h5", *words, options=said)]
    else:
        pipe = ["drop", "run.h5", "--compression", compression, "--no-progress"]
        jobs = [
            Job.of_example(ranks, "simulation.py", "drop", *words, options=_QUEUE),
            Job.of_pipe(1, *pipe),
        ]
    run_together(jobs, folder, limit_s)
    of_ranks = json_.loads(report.read_text())
    first = of_ranks[0]
    outputs = 0 if way == NOTHING else _steps_in(folder / "run.h5")
    shutil.rmtree(folder / "run.h5", ignore_errors=True)
    lost = sum(done["lost_s"] for done in of_ranks) / len(of_ranks)
    return {
        "steps": first["steps"],
        "outputs": outputs,
        "share": 100 * lost / first["seconds"],
        "output_s": [value for done in of_ranks for value in done["output_s"]],
        "bytes": sum(done["bytes"] for done in of_ranks) / max(first["outputs"], 1),
    }


def _steps_in(path: Path) -> int:
    import h5py

    with h5py.File(path) as file:
        return len(file["data"])


def _records(turns: dict[tuple[str, str], list[Turn]], params: dict[str, Any]) -> list[Record]:
    """Return records of each compression: the pipe beside direct output and none."""
    records = []
    nothing = turns[NOTHING, "none"]
    for compression in COMPRESSIONS:
        direct, pipe = turns[DIRECT, compression], turns[PIPE, compression]
        for metric, key in ((_SHARE, "share"), (_OUTPUTS, "outputs"), (_STEPS, "steps")):
            mine = Sample.of(turn[key] for turn in pipe)
            theirs = Sample.of(turn[key] for turn in direct)
            records.append(compare("pipe", compression, params, metric, mine, DIRECT, theirs))
        steps = Sample.of(turn["steps"] for turn in pipe)
        none = Sample.of(turn["steps"] for turn in nothing)
        records.append(compare("pipe", compression, params, _STEPS, steps, NOTHING, none))
        mine, theirs = ([s * 1e3 for t in ts for s in t["output_s"]] for ts in (pipe, direct))
        boxes = {
            "bytes": round(direct[0]["bytes"]),
            "box": box_of(mine),
            "peer_box": box_of(theirs),
        }
        sample = Sample.of(mine), Sample.of(theirs)
        records.append(
            compare("pipe", compression, params | boxes, _TIME, sample[0], DIRECT, sample[1])
        )
    return records


def _show(
    console: Console,
    records: list[Record],
    turns: dict[tuple[str, str], list[Turn]],
    seconds: float,
) -> None:
    size = turns[DIRECT, "none"][0]["bytes"] / 1e6
    table = Table(title=f"LAMMPS for {seconds:g} s, an output of {size:.1f} MB after each step")
    for column in ("compression", "", PIPE, "beside it", "", "times as good"):
        table.add_column(column, justify="right")
    for record in records:
        ours = f"{record.median:.4g} {record.unit} ({record.min:.4g} to {record.max:.4g})"
        theirs = f"{record.peer_median:.4g} {record.unit}"
        ratio = "" if record.ratio is None else f"{record.ratio:.2f}"
        table.add_row(record.case, record.metric, ours, theirs, record.peer, ratio)
    console.print(table)
