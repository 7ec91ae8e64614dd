# SPDX-License-Identifier: Apache-2.0
"""One program of ADIOS2 in Python, by Fluvial's engine and by SST: only parameters differ."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import typer
from rich.table import Table

from bench import native, peers
from bench.machine import two_sides
from bench.options import BUILD, SITE, Json, Output, Quick, Runs, header
from bench.record import Metric, Record, Sample, append_lines, best_of, compare
from bench.stage.pair import MEMCPY, Contestant, Pair, start_limit, step_times_in_turns
from bench.table import spread, wide_console

FLUVIAL, SST_ON, SST_OFF = "Fluvial's engine", "SST preload on", "SST preload off"
_SIZES = {"8 B": 8, "64 KiB": 65536, "1 MiB": 1 << 20, "16 MiB": 16 << 20}
_SHOWN = (FLUVIAL, SST_ON, SST_OFF, MEMCPY)
_COPIED_MIN = 65536
"""Below, a step takes what two processes need to tell each other, not what it copies."""
_QUEUE_STEPS = 4
_LIMIT_S = 90.0
_TIME = Metric("time of a step", "us", higher_is_better=False)
_SOURCE = Path(__file__).resolve().parents[2] / "plugins" / "adios2"


def ask(json: Json = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run the contest, show its figures and append its records."""
    console = wide_console()
    adios2 = peers.provide(BUILD / "peers", "adios2", "adios2>=2.12,<3", "numpy")
    if adios2.python is None:
        console.print(f"ADIOS2 is missing: {adios2.missing}", style="red")
        raise typer.Exit(1)
    started = header("engine", {"adios2": adios2.version})
    plugin = {"ADIOS2_PLUGIN_PATH": str(_built(adios2.python))}
    contestants = [
        Contestant(FLUVIAL, "bench.engine.with_plugin", {}, adios2.python, plugin, True),
        *(
            Contestant(name, "bench.stage.with_sst", {"preload": preload}, adios2.python)
            for name, preload in ((SST_ON, "ON"), (SST_OFF, "OFF"))
        ),
    ]
    folder = Path(tempfile.mkdtemp(prefix="fluvial-bench-"))
    library = native.build(BUILD / "bench")
    cores = two_sides()
    pairs = [Pair(c, cores, folder, library, _QUEUE_STEPS) for c in contestants]
    limit = start_limit(folder, library, cores[1])
    try:
        figures = step_times_in_turns(
            pairs,
            _SIZES,
            runs or (2 if quick else 5),
            quick=quick,
            limit_s=_LIMIT_S,
            say=lambda what: console.print(what, style="yellow"),
            limit=limit,
        )
    finally:
        for closed in (*pairs, limit):
            closed.close()
        shutil.rmtree(folder, ignore_errors=True)
    table, records = _compared(figures)
    console.print(table)
    output = Output.of("engine", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _built(python: Path) -> Path:
    """Return the folder with the plugin for the ADIOS2 of this Python."""
    says = "import adios2, pathlib; print(pathlib.Path(adios2.__file__).parent / 'cmake/adios2')"
    found = subprocess.check_output([str(python), "-c", says], text=True).strip()
    folder = BUILD / "bench" / "adios2_engine"
    words = ["cmake", "-G", "Ninja", "-S", str(_SOURCE), "-B", str(folder)]
    words += [f"-DCMAKE_PREFIX_PATH={SITE.parent}", f"-DADIOS2_DIR={found}"]
    for command in (words, ["cmake", "--build", str(folder)]):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder


def _compared(figures: dict[tuple[str, str], list[float]]) -> tuple[Table, list[Record]]:
    """Return the table of all figures, and records for each size: beside the limit, and a peer.

    The limit is one copy of the step: the writer makes one, the reader another at the same time.
    """
    table = Table(title="Time of a step of a program of ADIOS2, in Python (us); less is better")
    columns = ("step", "memcpy ÷ Fluvial", "SST's better ÷ Fluvial", *_SHOWN)
    for column in columns:
        table.add_column(column, justify="right")
    records = []
    for size, bytes_ in _SIZES.items():
        samples = {
            name: Sample.of(figures[size, name])
            for name in _SHOWN
            if (size, name) in figures and (name != MEMCPY or bytes_ >= _COPIED_MIN)
        }
        mine = samples.get(FLUVIAL)
        if mine is None:
            continue
        best = best_of(_TIME, {n: samples[n] for n in (SST_ON, SST_OFF) if n in samples})
        beside = [(MEMCPY, samples.get(MEMCPY)), best if best is not None else ("SST", None)]
        compared = [
            compare("engine", "step", {"bytes": bytes_}, _TIME, mine, peer, theirs)
            for peer, theirs in beside
            if theirs is not None
        ]
        records += compared
        ratios = {record.peer: record.ratio for record in compared}
        of_limit, of_peer = (ratios.get(peer) for peer, _ in beside)
        table.add_row(
            size,
            *("—" if ratio is None else f"{ratio:.2f}" for ratio in (of_limit, of_peer)),
            *(spread(samples[n], _TIME) if n in samples else "—" for n in _SHOWN),
        )
    return table, records
