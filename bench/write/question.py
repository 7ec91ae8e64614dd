# SPDX-License-Identifier: Apache-2.0
"""Ranks write a field into one file of HDF5 together, plain and compressed, and beside it by hand.

The limits are a bare pwrite of each rank's part, and each rank deflating its own chunks into the
same file without a word to the others. The peer is what programs do without a parallel libhdf5:
the ranks send all to the first one, which writes by HDF5's own library. Where a parallel libhdf5
is installed, its collective H5Dwrite runs, too. Nothing is forced to the disk: unless the system
has too many pages to write, this is the page cache; a folder in memory shows what the rest costs.
Each turn writes some steps of the same bytes into a new file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bench import peers
from bench.contest import alternate
from bench.jobs import JobError, free_folder
from bench.options import Json, Output, Quick, Runs, fluvial_path, header
from bench.record import Metric, Sample, append_lines, compare
from bench.scan import compiled
from bench.scan.once import RunError, run
from bench.sizes import parse_size
from bench.table import spread, wide_console

_PROGRAMS = Path(__file__).with_name("programs")
_LIMIT_S = 120.0
_STEPS = 3  # of a turn
_SPEED = Metric("write", "GB/s", higher_is_better=True)
BARE, DEFLATE = "pwrite by all ranks", "deflate by all ranks"
LIBRARY, COLLECTIVE = "libhdf5 on the first rank", "parallel libhdf5"
# what is measured, its way, and the ways of the limit and of the peers
_CASES = {
    "plain": ("plain", "bare", "library", "collective"),
    "gzip:1": ("packed", "deflate", "library-gz", "collective-gz"),
    "gzip:1, all data on one rank": ("packed-one", "deflate", "library-gz", ""),
}
_NAMES = {
    "bare": BARE,
    "deflate": DEFLATE,
    "library": LIBRARY,
    "library-gz": LIBRARY,
    "collective": COLLECTIVE,
    "collective-gz": COLLECTIVE,
}
_WAYS = ("bare", "plain", "library", "deflate", "packed", "packed-one", "library-gz")
_COLLECTIVE_WAYS = ("collective", "collective-gz")

Ranks = Annotated[int, typer.Option("--ranks", min=1, help="Of the job.")]
Size = Annotated[str, typer.Option("--size", help="Bytes of the field, such as 1Gi.")]
Folder = Annotated[
    Path | None, typer.Option("--folder", help="Where the files lie; default: /var/tmp.")
]


def ask(
    json: Json = None,
    quick: Quick = False,
    runs: Runs = None,
    ranks: Ranks = 2,
    size: Size = "256Mi",
    folder: Folder = None,
) -> None:
    """Run the contest, show its figures and append its records."""
    console = wide_console()
    ours = peers.present_here("fluvial", {"PYTHONPATH": fluvial_path()})
    program = compiled.with_fluvial(
        "writing", _PROGRAMS / "writing.cpp", also=("hdf5-serial", "hdf5")
    )
    collective = compiled.with_parallel_hdf5("collective", _PROGRAMS / "collective.cpp")
    if collective.path is None:
        console.print(f"parallel libhdf5 is missing: {collective.missing}", markup=False)
    if program.path is None:
        console.print(f"Fluvial is missing: {program.missing}", style="red", markup=False)
        raise typer.Exit(1)
    started = header("write", {"fluvial": ours.version})
    elements = parse_size("64Mi" if quick else size) // 8
    figures: dict[str, list[float]] = {}
    ways = _WAYS if collective.path is None else (*_WAYS, *_COLLECTIVE_WAYS)
    try:
        with tempfile.TemporaryDirectory(prefix="fluvial-bench-", dir=free_folder(folder)) as where:
            for _, _, way in alternate([elements], ways, runs or (1 if quick else 5)):
                by = collective if way in _COLLECTIVE_WAYS else program
                words = [*by.launcher, "-n", str(ranks), str(by.path)]
                words += [way, str(_STEPS), str(elements), where]
                for seconds in run(words, _LIMIT_S, compiled.ROOT_MAY_LAUNCH)["seconds"]:
                    figures.setdefault(way, []).append(8 * elements / seconds * 1e-9)
    except (RunError, JobError) as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    table = Table(
        title=f"{ranks} ranks write {8 * elements >> 20} MiB of float64 into one file; GB/s"
    )
    for column in ("", "Fluvial", "the limit", "ratio", LIBRARY, "ratio", COLLECTIVE, "ratio"):
        table.add_column(column, justify="right")
    records = []
    for case, (way, *others) in _CASES.items():
        mine = Sample.of(figures[way])
        row = [case, spread(mine, _SPEED)]
        for other in others:
            if other not in figures:
                row += ["", ""]
                continue
            theirs = Sample.of(figures[other])
            params = {"ranks": ranks, "bytes": 8 * elements}
            record = compare("write", case, params, _SPEED, mine, _NAMES[other], theirs)
            records.append(record)
            row += [spread(theirs, _SPEED), f"{record.ratio:.2f}"]
        table.add_row(*row)
    console.print(table)
    output = Output.of("write", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")
