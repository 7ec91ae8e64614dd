# SPDX-License-Identifier: Apache-2.0
"""Steps of a full queue go to a disk and come back; beside it the same bytes by pwrite and pread.

Both write into files of one folder, one after the other, and read them back, in turns. Nothing is
forced to the disk: unless the system has too many pages to write, this is the page cache. Fluvial
sums a checksum of what it writes and of what it reads. Give `--folder` on the disk in question; on
/dev/shm there is no disk, and the figures are steady.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bench import peers
from bench.child import Child, ChildError, gather
from bench.machine import two_sides
from bench.options import Json, Output, Quick, Runs, fluvial_path, header
from bench.record import Metric, Sample, append_lines, compare
from bench.spill.contestants import BARE, FLUVIAL
from bench.table import size_label, spread, wide_console

_LIMIT_S = 120.0
_TURN_BYTES = 512 << 20
_DIRECTIONS = {
    "write": Metric("write", "GB/s", higher_is_better=True),
    "read": Metric("read", "GB/s", higher_is_better=True),
}
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Where the files lie; default: /var/tmp.")
]


def ask(json: Json = None, quick: Quick = False, runs: Runs = None, folder: Folder = None) -> None:
    """Run the contest, show its figures and append its records."""
    console = wide_console()
    path = {"PYTHONPATH": fluvial_path()}
    ours = peers.present_here("fluvial", path)
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    disk = folder if folder is not None else Path("/var/tmp")
    if not os.access(disk, os.W_OK):
        raise typer.BadParameter(f"cannot write to {disk}", param_hint="--folder")
    started = header("spill", {"fluvial": ours.version})
    sizes = [64 << 10, 1 << 20, 16 << 20]
    figures: dict[tuple[int, str, str], list[float]] = {}
    try:
        with (
            tempfile.TemporaryDirectory(prefix="fluvial-bench-", dir=disk) as where,
            _worker(path, Path(where)) as worker,
        ):
            for _ in range(runs or (2 if quick else 5)):
                for bytes_ in sizes:
                    for who in (BARE, FLUVIAL):
                        steps = (_TURN_BYTES >> (2 if quick else 0)) // bytes_
                        command = {"who": who, "bytes": bytes_, "steps": steps, "folder": where}
                        worker.send(command)
                        for way, value in gather([worker], _LIMIT_S)[0].items():
                            figures.setdefault((bytes_, way, who), []).append(value)
    except ChildError as error:
        console.print(f"the measuring process failed: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    table = Table(title=f"Steps over a disk, in {disk}; B/s, more is better")
    for column in ("step", "", FLUVIAL, BARE, "ratio"):
        table.add_column(column, justify="right")
    records = []
    for bytes_ in sizes:
        for way, metric in _DIRECTIONS.items():
            mine, theirs = (Sample.of(figures[bytes_, way, who]) for who in (FLUVIAL, BARE))
            record = compare("spill", way, {"bytes": bytes_}, metric, mine, BARE, theirs)
            records.append(record)
            shown = spread(mine, metric), spread(theirs, metric), f"{record.ratio:.2f}"
            table.add_row(size_label(bytes_), way, *shown)
    console.print(table)
    output = Output.of("spill", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _worker(variables: dict[str, str], folder: Path) -> Child:
    root = str(Path(__file__).resolve().parents[2])
    return Child(
        [sys.executable, "-m", "bench.spill.worker"],
        cores=two_sides()[1],
        log=folder / "worker.log",
        environment={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([root, variables["PYTHONPATH"]]),
        },
    )
