# SPDX-License-Identifier: Apache-2.0
"""An analysis loads what LAMMPS has put, by each strategy in turn, on 1×1 to 8×8 ranks.

After Poeschel et al. (2021), doi:10.1007/978-3-030-96498-6_6, sections 4.2 and 4.3: all strategies
load each step, one after the other, with a barrier before; the perceived throughput is the mean
over ranks and steps of bytes by the time from the request to the last element, times the ranks.
Then eight ranks are shared otherwise between simulation and analysis, by the job script alone.
"""

from __future__ import annotations

import json as json_
import re
import tempfile
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from bench import peers
from bench.jobs import SITE, Job, JobError, box_of, run_together
from bench.options import Json, Output, Png, Quick, Runs, header
from bench.record import Metric, Record, Sample, append_lines, compare
from bench.strategies.picture import draw
from bench.table import wide_console

PAPER = "binpacking"
STRATEGIES = (
    "by-host(binpacking)",
    PAPER,
    "hyperslabs",
    "even-binpacking",
    "round-robin",
    "blocks",
)
_THROUGHPUT = Metric("perceived throughput", "GB/s", higher_is_better=True)
_TIME = Metric("loading time", "ms", higher_is_better=False)
_BALANCE = Metric("fullest rank over the mean", "", higher_is_better=False)
_PATTERNS = Metric("patterns a second", "1/s", higher_is_better=True)
_STEPS = Metric("steps of the simulation a second", "1/s", higher_is_better=True)
_LIMIT_S = 240.0
_SHARED = 8  # ranks of both jobs together
Load = tuple[float, float, float]
"""Bytes, seconds, writers read from."""


def ask(json: Json = None, png: Png = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run the jobs, show their figures, append their records and draw them."""
    console = wide_console()
    ours = peers.present_here("fluvial", {"PYTHONPATH": str(SITE)})
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    started = header("strategies", {"fluvial": ours.version})
    records: list[Record] = []
    try:
        for ranks in (1, 2, 4) if quick else (1, 2, 4, 8):
            records += _compared(ranks, 4 if quick else 24, runs or (1 if quick else 2))
        for simulating in (4, 1) if quick else (7, 6, 4, 2, 1):
            records += _shared(simulating, 3.0 if quick else 8.0)
    except JobError as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    _show(console, records)
    output = Output.of("strategies", json, png)
    append_lines(output.json, started, records)
    draw(output.png, started, [record.__dict__ for record in records])
    console.print(f"{len(records)} lines appended to {output.json}, drawn in {output.png}")


def _compared(ranks: int, outputs: int, runs: int) -> list[Record]:
    """Return records of all strategies on as many writing as reading ranks."""
    loads: dict[str, list[list[Load]]] = {strategy: [] for strategy in STRATEGIES}
    chosen = [word for strategy in STRATEGIES for word in ("--strategy", strategy)]
    words = ["--cells", 32, "--every", 4, "--outputs", outputs]
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as where:
            report = Path(where) / "loads.json"
            analysis = ["drop", *chosen, "--pixels", 0, "--report", report]
            jobs = [
                Job.of_example(ranks, "simulation.py", "drop", *words),
                Job.of_example(ranks, "scattering.py", *analysis),
            ]
            run_together(jobs, Path(where), _LIMIT_S)
            of_ranks = json_.loads(report.read_text())
        for strategy in STRATEGIES:
            loads[strategy] += zip(*(rank[strategy] for rank in of_ranks), strict=True)
    params = {"ranks": [ranks, ranks], "mpi": "MPICH"}
    return [
        record
        for strategy in STRATEGIES
        for record in _of_strategy(strategy, loads[strategy], loads[PAPER], params)
    ]


def _of_strategy(
    strategy: str, loads: list[list[Load]], papers: list[list[Load]], params: dict[str, Any]
) -> list[Record]:
    """Return records of one strategy beside the paper's bin packing."""

    def throughput(steps: list[list[Load]]) -> Sample:
        return Sample.of(sum(n / max(s, 1e-9) for n, s, _ in step) / 1e9 for step in steps)

    def times(steps: list[list[Load]]) -> Sample:
        return Sample.of(s * 1e3 for step in steps for _, s, _ in step)

    def balance(steps: list[list[Load]]) -> Sample:
        sizes = [[n for n, _, _ in step] for step in steps]
        return Sample.of(max(of) * len(of) / max(sum(of), 1) for of in sizes)

    partners = sum(p for step in loads for _, _, p in step) / sum(map(len, loads))
    more = params | {
        "bytes": round(sum(n for step in loads for n, _, _ in step) / len(loads)),
        "partners": round(partners, 2),
        "box": box_of(times(loads).values),
    }
    return [
        compare("strategies", strategy, more, metric, of(loads), PAPER, of(papers))
        for metric, of in ((_THROUGHPUT, throughput), (_TIME, times), (_BALANCE, balance))
    ]


def _shared(simulating: int, seconds: float) -> list[Record]:
    """Return records of eight ranks, so many of them simulating and the others analysing."""
    with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as where:
        report, log = Path(where) / "simulation.json", Path(where) / "job1.log"
        words = ["--cells", 20, "--every", 10, "--seconds", seconds, "--report", report]
        queue = 'full = "discard-newest"\nqueue_steps = 2'
        jobs = [
            Job.of_example(simulating, "simulation.py", "drop", *words, options=queue),
            Job.of_example(
                _SHARED - simulating,
                "scattering.py",
                *("drop", "--strategy", "even-binpacking", "--pixels", 160),
            ),
        ]
        run_together(jobs, Path(where), _LIMIT_S)
        done = json_.loads(report.read_text())[0]
        patterns = re.search(r"even-binpacking: (\d+) steps", log.read_text())
    if patterns is None:
        raise JobError("the analysis did not say how many patterns it made")
    params = {"ranks": [simulating, _SHARED - simulating], "mpi": "MPICH"}
    return [
        compare("strategies", "shared", params, metric, Sample.of([value]), "", None)
        for metric, value in (
            (_PATTERNS, int(patterns[1]) / done["seconds"]),
            (_STEPS, done["steps"] / done["seconds"]),
        )
    ]


def _show(console: Console, records: list[Record]) -> None:
    table = Table(title="Loading the positions of LAMMPS's atoms")
    for column in (
        "ranks",
        "strategy",
        "throughput",
        "loading time",
        "most",
        "balance",
        "partners",
    ):
        table.add_column(column, justify="right")
    for thrice in zip(*[iter(r for r in records if r.case != "shared")] * 3, strict=True):
        throughput, time, balance = thrice
        table.add_row(
            "×".join(map(str, throughput.params["ranks"])),
            throughput.case,
            f"{throughput.median:.2f} GB/s",
            f"{time.median:.3f} ms",
            f"{time.max:.3f} ms",
            f"{balance.median:.2f}",
            f"{throughput.params['partners']:.1f}",
        )
    console.print(table)
    table = Table(title="Eight ranks, shared by the job script")
    for column in ("simulation", "analysis", "steps a second", "patterns a second"):
        table.add_column(column, justify="right")
    for patterns, steps in zip(*[iter(r for r in records if r.case == "shared")] * 2, strict=True):
        ranks = patterns.params["ranks"]
        table.add_row(*map(str, ranks), f"{steps.median:.1f}", f"{patterns.median:.2f}")
    console.print(table)
