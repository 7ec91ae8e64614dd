# SPDX-License-Identifier: Apache-2.0
"""One writer process, one reader process, pinned apart; the reader sums every step's array.

Both contestants are given the array in NumPy and sum it with the same compiled loop, both queue
four steps at most, neither uses MPI (the ADIOS2 wheel is serial).  Latency is from the stamp in
the payload, set just before the step is begun, to the array in the reader's hand, one step at a
time.  Throughput is end to end, in a stream under way: steps that were written, read and summed,
by the time between the reader's sums.
Memory is the peak proportional set size with the queue full, Python and NumPy included.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from bench import native, peers
from bench.child import ChildError, gather
from bench.contest import alternate
from bench.machine import two_sides
from bench.options import BUILD, Json, Output, Png, Quick, Runs, fluvial_path, header
from bench.plotter import draw
from bench.record import Record, append_lines
from bench.sizes import parse_size
from bench.stage import compiled, picture, report
from bench.stage.hosts import question as between_hosts
from bench.stage.pair import Contestant, Pair, Run, run_again_once, start_limit
from bench.stage.payload import BYTES_MIN
from bench.stage.report import LIMITS, PUT, SPAN, SST_OFF, SST_ON, Figures
from bench.table import size_label, wide_console

_QUEUE_STEPS = 4
_QUICK_SIZES = (8, 2**10, 2**13, 2**16, 2**20, 2**24)
_FULL_SIZES = tuple(2**power for power in range(3, 29))
_KEEP_LARGE_BLOCKS = "glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=8589934592"


class _Pace:
    """How long things may take: a run's two parts, a run that hangs, all rounds together."""

    def __init__(self, quick: bool, runs: int | None) -> None:
        self.ping_s = 0.03 if quick else 0.15
        self.stream_s = 0.08 if quick else 0.3
        self.steps_min = 8 if quick else 16
        self.limit_s = 20.0 if quick else 90.0
        self.rounds = runs or (5 if quick else 7)
        self.rounds_min = runs or (1 if quick else 5)
        self.total_s = 40.0 if quick else 900.0

    def least(self, bytes_: int) -> int:
        """Return the least number of timed steps: fewer where a single one takes long."""
        return self.steps_min if bytes_ < 2**26 else _QUEUE_STEPS + 2


def ask(
    json: Json = None,
    png: Png = None,
    quick: Quick = False,
    runs: Runs = None,
    sizes: Annotated[
        str, typer.Option(help="Step sizes in bytes, comma-separated, such as 8,8Ki,1Mi.")
    ] = "",
    only: Annotated[
        str, typer.Option(help="Contestants whose name contains one of these, comma-separated.")
    ] = "",
    language: Annotated[
        Literal["python", "c++", "both"],
        typer.Option(help="Whose programs: Python's beside SST, C++'s beside a bare exchange."),
    ] = "both",
    hosts: Annotated[
        bool,
        typer.Option(
            "--hosts",
            help="Writer and reader on two hosts (network namespaces: needs root), beside raw TCP.",
        ),
    ] = False,
    sst_keeps_memory: Annotated[
        bool,
        typer.Option(
            help="Let glibc keep large freed blocks in SST's processes; not its users' default, "
            "but up to twice its speed at the largest steps."
        ),
    ] = False,
) -> None:
    """Run the contest, show its figures, append its records and draw its picture."""
    console = wide_console()
    pace = _Pace(quick, runs)
    if hosts:
        how = between_hosts.Pace.of(quick, runs, parse_sizes(sizes) if sizes else [])
        between_hosts.ask(console, how, Output.of("stage-hosts", json, png))
        return
    if language == "c++":
        started = header("stage", {})
        found = _compiled(console, pace)
        append_lines(Output.of("stage", json, png).json, started, found)
        return
    steps_bytes = parse_sizes(sizes) if sizes else list(_QUICK_SIZES if quick else _FULL_SIZES)
    figures = Figures(sizes=steps_bytes, queue_steps=_QUEUE_STEPS)
    started = header("stage", {})
    with console.status("finding the contestants (the first time, ADIOS2 is installed) …"):
        contestants, software = _contestants(figures, sst_keeps_memory)
    started["software"].update(software)
    wanted = [word.strip().lower() for word in only.split(",") if word.strip()]
    chosen = [c for c in contestants if not wanted or any(w in c.name.lower() for w in wanted)]
    _compete(console, chosen, figures, pace)
    report.show(console, figures, started)
    records = report.records(figures)
    compiled_records = _compiled(console, pace) if language == "both" else []
    if not records:
        console.print("[red]No figure of Fluvial, so nothing is recorded; see the notes above.[/]")
        raise typer.Exit(1)
    output = Output.of("stage", json, png)
    append_lines(output.json, started, records + compiled_records)
    draw(output.png, picture.layout(started), [r.__dict__ for r in records])
    console.print(f"{len(records)} lines appended to {output.json}; picture: {output.png}")
    if any(note.startswith((PUT, SPAN)) for note in figures.notes):
        raise typer.Exit(1)


def _compiled(console: Console, pace: _Pace) -> list[Record]:
    """Measure from C++; a failure there is reported, and does not end the bench."""
    try:
        with console.status("measuring from C++ …"):
            found = compiled.measure(pace.rounds, pace.stream_s)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        console.print(f"[red]No figures from C++:[/] {error}", highlight=False)
        raise typer.Exit(1) from error
    compiled.show(console, found)
    return compiled.records(found)


def parse_sizes(text: str) -> list[int]:
    """Sizes such as ``8,64Ki,1Mi`` in bytes, ascending; multiples of 8 of at least 8 bytes."""
    return sorted({parse_size(word, multiple_of=BYTES_MIN) for word in text.split(",")})


def _contestants(
    figures: Figures, sst_keeps_memory: bool
) -> tuple[list[Contestant], dict[str, str]]:
    """Return all that can run here; the others are noted in `figures`."""
    found: list[Contestant] = []
    software: dict[str, str] = {}
    settings: dict[str, Any]
    path = {"PYTHONPATH": fluvial_path()}
    ours = peers.present_here("fluvial", path)
    if ours.python is None:
        figures.notes.append(f"{PUT} and {SPAN} are missing: {ours.missing}; run ./run test first")
    else:
        software["fluvial"] = ours.version
        for name, span in ((PUT, False), (SPAN, True)):
            module, settings = "bench.stage.with_fluvial", {"span": span}
            found.append(Contestant(name, module, settings, ours.python, path, True))
    sst = peers.provide(BUILD / "peers", "adios2", "adios2>=2.12,<3", "numpy")
    if sst.python is None:
        figures.notes.append(f"{SST_ON} and {SST_OFF} are missing: {sst.missing}")
    else:
        software["adios2"] = sst.version
        tuned = {"GLIBC_TUNABLES": _KEEP_LARGE_BLOCKS} if sst_keeps_memory else {}
        for name, preload in ((SST_ON, "ON"), (SST_OFF, "OFF")):
            module, settings = "bench.stage.with_sst", {"preload": preload}
            found.append(Contestant(name, module, settings, sst.python, tuned))
    return found, software


def _compete(
    console: Console, contestants: list[Contestant], figures: Figures, pace: _Pace
) -> None:
    """First a pass that measures memory and finds contestants that fail, then timed rounds."""
    folder = Path(tempfile.mkdtemp(prefix="fluvial-bench-"))
    cores = two_sides()
    library = native.build(BUILD / "bench")
    pairs = {c.name: Pair(c, cores, folder, library, _QUEUE_STEPS) for c in contestants}
    limit = start_limit(folder, library, cores[1])
    begin = time.monotonic()
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    try:
        with limit, Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("memory")
            # A library's pages count in part for each process that maps it: all have to be there.
            for name, pair in list(pairs.items()):
                progress.update(task, description=f"starting {name}")
                if not _start(pair, figures):
                    del pairs[name]
            able = set()
            for bytes_ in figures.sizes:
                for name, pair in pairs.items():
                    progress.update(task, description=f"memory: {size_label(bytes_)}, {name}")
                    if _memory_run(pair, bytes_, figures, pace):
                        able.add((name, bytes_))
            left_s = pace.total_s - (time.monotonic() - begin)
            for number, bytes_, name in alternate(
                figures.sizes,
                [*pairs, LIMITS],
                pace.rounds,
                rounds_min=pace.rounds_min,
                budget_s=left_s,
            ):
                progress.update(
                    task, description=f"round {number + 1}: {size_label(bytes_)}, {name}"
                )
                if name == LIMITS:
                    limit.send({"bytes": bytes_, "budget_s": pace.stream_s / 4})
                    figures.add_limit(bytes_, gather([limit], pace.limit_s)[0])
                elif (name, bytes_) in able:
                    _timed_run(pairs[name], bytes_, figures, pace)
    finally:
        for pair in pairs.values():
            pair.close()
        shutil.rmtree(folder, ignore_errors=True)


def _start(pair: Pair, figures: Figures) -> bool:
    try:
        pair.start()
    except ChildError as error:
        pair.close()
        figures.notes.append(f"{pair.contestant.name} does not start: {error}")
        return False
    return True


def _memory_run(pair: Pair, bytes_: int, figures: Figures, pace: _Pace) -> bool:
    """Measure memory with the queue full; False when the contestant fails."""
    attempt = functools.partial(
        pair.run,
        bytes_,
        0.0,
        0.0,
        2 * _QUEUE_STEPS,
        pace.limit_s,
        hold_s=0.03 + bytes_ / 1e9,
        measure_memory=True,
    )
    run = _attempt(pair, bytes_, attempt, figures)
    if run is not None:
        figures.add_memory(pair.contestant.name, run)
    return run is not None


def _timed_run(pair: Pair, bytes_: int, figures: Figures, pace: _Pace) -> None:
    least = pace.least(bytes_)
    attempt = functools.partial(pair.run, bytes_, pace.ping_s, pace.stream_s, least, pace.limit_s)
    run = _attempt(pair, bytes_, attempt, figures)
    if run is not None:
        figures.add_run(pair.contestant.name, run)


def _attempt(pair: Pair, bytes_: int, attempt: Any, figures: Figures) -> Run | None:
    """Return the run, tried twice; a second failure is noted and leaves a hole in the table."""
    try:
        return run_again_once(pair, attempt)
    except ChildError as error:
        figures.notes.append(f"{pair.contestant.name} failed at {bytes_} bytes: {error}")
        return None
