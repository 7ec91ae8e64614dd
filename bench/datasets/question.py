# SPDX-License-Identifier: Apache-2.0
"""Steps of 1 to 10,000 datasets of 8 B each, written and read in Python, as fast as they go."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import typer
from rich.table import Table

from bench import native, peers
from bench.machine import two_sides
from bench.options import BUILD, Json, Output, Quick, Runs, fluvial_path, header
from bench.record import Metric, Record, Sample, append_lines, best_of, compare
from bench.stage.pair import Contestant, Pair, step_times_in_turns
from bench.table import spread, wide_console

FLUVIAL, SINGLY = "Fluvial", "Fluvial, one by one"
SST_ON, SST_OFF = "SST preload on", "SST preload off"
_WAYS = {FLUVIAL: "together", SINGLY: "one by one"}
"""How a step is put and read."""
_COUNTS = (1, 100, 10_000)
_QUEUE_STEPS = 4
_LIMIT_S = 90.0
_TIME = Metric("time of a step", "us", higher_is_better=False)


def ask(json: Json = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run the contest, show its figures and append its records."""
    console = wide_console()
    path = {"PYTHONPATH": fluvial_path()}
    ours = peers.present_here("fluvial", path)
    if ours.python is None:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    started = header("datasets", {"fluvial": ours.version})
    contestants = [
        Contestant(
            name, "bench.datasets.with_fluvial", {"together": together}, ours.python, path, True
        )
        for name, together in ((FLUVIAL, True), (SINGLY, False))
    ]
    sst = peers.provide(BUILD / "peers", "adios2", "adios2>=2.12,<3", "numpy")
    if sst.python is None:
        console.print(f"SST is missing: {sst.missing}", style="yellow")
    else:
        started["software"]["adios2"] = sst.version
        for name, preload in ((SST_ON, "ON"), (SST_OFF, "OFF")):
            settings = {"preload": preload}
            contestants.append(Contestant(name, "bench.datasets.with_sst", settings, sst.python))
    folder = Path(tempfile.mkdtemp(prefix="fluvial-bench-"))
    library = native.build(BUILD / "bench")
    pairs = [Pair(c, two_sides(), folder, library, _QUEUE_STEPS) for c in contestants]
    try:
        figures = step_times_in_turns(
            pairs,
            {count: 8 * count for count in _COUNTS},
            runs or (2 if quick else 5),
            quick=quick,
            limit_s=_LIMIT_S,
            say=lambda what: console.print(what, style="yellow"),
        )
    finally:
        for pair in pairs:
            pair.close()
        shutil.rmtree(folder, ignore_errors=True)
    table, records = _compared(figures)
    console.print(table)
    output = Output.of("datasets", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _compared(figures: dict[tuple[int, str], list[float]]) -> tuple[Table, list[Record]]:
    """Return the table of all figures, and a record for each of Fluvial's."""
    table = Table(title="Time of a step, in Python (us); less is better")
    for column in ("datasets", "", "Fluvial", SST_ON, SST_OFF, "SST's better ÷ Fluvial"):
        table.add_column(column, justify="right")
    records = []
    for count in _COUNTS:
        samples = {
            name: Sample.of(figures[count, name])
            for name in (SST_ON, SST_OFF)
            if (count, name) in figures
        }
        best = best_of(_TIME, samples)
        peer, theirs = best if best is not None else ("SST", None)
        shown = [spread(samples[n], _TIME) if n in samples else "—" for n in (SST_ON, SST_OFF)]
        for name, way in _WAYS.items():
            if (count, name) not in figures:
                continue
            mine = Sample.of(figures[count, name])
            params = {"datasets": count, "bytes": 8 * count}
            record = compare(
                "datasets", f"step of datasets, {way}", params, _TIME, mine, peer, theirs
            )
            records.append(record)
            ratio = "—" if record.ratio is None else f"{record.ratio:.2f}"
            table.add_row(f"{count:,}", way, spread(mine, _TIME), *shown, ratio)
    return table, records
