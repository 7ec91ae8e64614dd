# SPDX-License-Identifier: Apache-2.0
"""Runs the contest between two hosts: C++ programs beside raw TCP, Python's beside SST.

The hosts are network namespaces with a cable that nothing slows down, the writer on one core and
the reader on the other.  From C++ every writer fills each step anew and every reader sums it: the
raw connection sends the one buffer that it fills, Fluvial fills the step where it is staged.
From Python the array is put, as in the bench on one host, since SST's wheel has no C++ face.
"""

from __future__ import annotations

import functools
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench import native, peers
from bench.child import ChildError
from bench.machine import two_sides
from bench.options import BUILD, Output, fluvial_path, header
from bench.plotter import draw
from bench.record import append_lines
from bench.stage.hosts import compiled, report
from bench.stage.hosts.figures import (
    LATENCY,
    LATENCY_P99,
    PYTHON,
    RATE,
    SST_OFF,
    SST_ON,
    STEP,
    THROUGHPUT,
    Figures,
    records,
)
from bench.stage.hosts.namespaces import DEVICE, Hosts, NoHostsError
from bench.stage.pair import Contestant, Pair, run_again_once
from bench.table import size_label

_SIZES = (2**16, 2**20, 2**24, 2**28)
_SMALL = (8, 2**13)
_QUICK_SIZES = (2**16, 2**20, 2**24)
_RATE_BYTES = 2**13
_DATASETS = 10_000
_QUEUE_STEPS = 4
_LIMIT_S = 120.0


@dataclass(frozen=True)
class Pace:
    """How many rounds, how long each contestant takes for each case, and which steps."""

    rounds: int
    seconds: float
    steps_min: int
    sizes: Sequence[int]
    python_sizes: Sequence[int]

    @classmethod
    def of(cls, quick: bool, rounds: int | None, sizes: Sequence[int]) -> Pace:
        """Return the pace for what the command line says; no `sizes`: those of the table."""
        if quick:
            return cls(rounds or 1, 0.1, 8, sizes or _QUICK_SIZES, sizes or (_RATE_BYTES, 2**20))
        sizes = sizes or _SIZES
        return cls(rounds or 5, 0.3, 16, sizes, sorted({*_SMALL, *sizes}))


def ask(console: Console, pace: Pace, output: Output) -> None:
    """Run the contest, show its figures, append its records and draw its picture."""
    figures = Figures()
    started = header("stage", {})
    folder = Path(tempfile.mkdtemp(prefix="fluvial-bench-"))
    try:
        with Hosts() as hosts:
            with console.status("finding the contestants (the first time, ADIOS2 is installed) …"):
                contestants = _contestants(figures, started["software"])
            _compete(console, hosts, folder, contestants, figures, pace)
    except (NoHostsError, compiled.MissingProgramError) as error:
        console.print(f"There is no contest between hosts: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    report.show(console, figures, started)
    found = records(figures)
    append_lines(output.json, started, found)
    draw(output.png, report.layout(started), [record.__dict__ for record in found])
    console.print(f"{len(found)} lines appended to {output.json}; picture: {output.png}")


def _contestants(figures: Figures, software: dict[str, Any]) -> list[tuple[Contestant, Contestant]]:
    """Return those that run in Python: with one array a step, and with many datasets."""
    found = []

    def add(name: str, module: str, there: peers.Environment, settings: dict[str, Any]) -> None:
        path = {"PYTHONPATH": fluvial_path()} if name == PYTHON else {}
        assert there.python is not None
        array, datasets = (
            Contestant(name, f"bench.{bench}.{module}", settings, there.python, path)
            for bench in ("stage", "datasets")
        )
        found.append((array, datasets))

    ours = peers.present_here("fluvial", {"PYTHONPATH": fluvial_path()})
    if ours.present:
        software["fluvial"] = ours.version
        settings = {"span": False, "network": DEVICE, "transport": "tcp"}
        add(PYTHON, "with_fluvial", ours, settings)
    else:
        figures.notes.append(f"{PYTHON} is missing: {ours.missing}; run ./run build first")
    sst = peers.provide(BUILD / "peers", "adios2", "adios2>=2.12,<3", "numpy")
    if sst.present:
        software["adios2"] = sst.version
        for name, preload in ((SST_ON, "ON"), (SST_OFF, "OFF")):
            add(name, "with_sst", sst, {"preload": preload, "network": DEVICE})
    else:
        figures.notes.append(f"{SST_ON} and {SST_OFF} are missing: {sst.missing}")
    return found


def _compete(
    console: Console,
    hosts: Hosts,
    folder: Path,
    contestants: list[tuple[Contestant, Contestant]],
    figures: Figures,
    pace: Pace,
) -> None:
    """Take rounds in which contestants take turns, from C++ and then from Python."""
    runner = compiled.Runner(hosts, folder, figures, pace.seconds)
    library = native.build(BUILD / "bench")
    places = hosts.on(0), hosts.on(1)
    pairs = [
        tuple(Pair(one, two_sides(), folder, library, _QUEUE_STEPS, places) for one in both)
        for both in contestants
    ]
    failed: set[Pair] = set()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    try:
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("")
            for number in range(pace.rounds):
                say = functools.partial(progress.update, task)
                for case in compiled.cases(pace.sizes, _DATASETS):
                    for who in _turned(case.contestants, number):
                        say(description=f"round {number + 1}: {size_label(case.bytes)}, {who}")
                        runner.run(case, who)
                for bytes_ in pace.python_sizes:
                    for array, _ in _turned(pairs, number):
                        name = array.contestant.name
                        say(description=f"round {number + 1}: {size_label(bytes_)}, {name}")
                        _array_run(array, bytes_, figures, pace, failed)
                for _, datasets in _turned(pairs, number):
                    name = datasets.contestant.name
                    say(description=f"round {number + 1}: {_DATASETS:,} datasets, {name}")
                    _datasets_run(datasets, figures, pace, failed)
    finally:
        for both in pairs:
            for pair in both:
                pair.close()


def _turned(contestants: Any, number: int) -> Any:
    """Return them with another first one in each round, so that none always runs first."""
    shift = number % max(1, len(contestants))
    return [*contestants[shift:], *contestants[:shift]]


def _array_run(pair: Pair, bytes_: int, figures: Figures, pace: Pace, failed: set[Pair]) -> None:
    run = _run(pair, bytes_, pace, pace.seconds / 2, figures, failed)
    if run is None:
        return
    name, latencies = pair.contestant.name, sorted(run.latencies_s)
    figures.add(name, THROUGHPUT, bytes_, run.bytes_per_s / 1e9)
    figures.add(name, LATENCY, bytes_, latencies[len(latencies) // 2] * 1e6)
    figures.add(name, LATENCY_P99, bytes_, latencies[int(0.99 * len(latencies))] * 1e6)
    if bytes_ == _RATE_BYTES:
        figures.add(name, RATE, bytes_, run.steps_per_s)


def _datasets_run(pair: Pair, figures: Figures, pace: Pace, failed: set[Pair]) -> None:
    run = _run(pair, 8 * _DATASETS, pace, 0.0, figures, failed)
    if run is not None:
        figures.add(pair.contestant.name, STEP, 8 * _DATASETS, 1e6 / run.steps_per_s)


def _run(
    pair: Pair, bytes_: int, pace: Pace, ping_s: float, figures: Figures, failed: set[Pair]
) -> Any:
    """Return the run, tried twice; a pair that fails is noted and not tried again."""
    if pair in failed:
        return None
    started = time.monotonic()
    attempt = functools.partial(pair.run, bytes_, ping_s, pace.seconds, pace.steps_min, _LIMIT_S)
    try:
        return run_again_once(pair, attempt)
    except ChildError as error:
        failed.add(pair)
        took = time.monotonic() - started
        figures.notes.append(
            f"{pair.contestant.name} failed at {bytes_} bytes after {took:.0f} s: {error}"
        )
        return None
