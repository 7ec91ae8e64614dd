# SPDX-License-Identifier: Apache-2.0
"""How many leaf calls a second a script makes, by what the leaf is written in.

Beside it the same function, mapped by `fl.Pool` without a script. The script is interpreted by the
rank that leads; one more rank runs the tasks, or sixteen that sleep.
"""

from __future__ import annotations

import json as json_
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.table import Table

from bench import peers
from bench.native import compile_once
from bench.options import BUILD, ROOT, Json, Output, Quick, Runs, header
from bench.record import Metric, Record, Sample, append_lines, compare
from bench.swift.cases import CASES, Case
from bench.table import spread, wide_console

if TYPE_CHECKING:
    from fluvial.launch import Launcher

_LIMIT_S = 200.0
_FOLDER = Path(__file__).parent
_RATE = Metric("calls", "1/s", higher_is_better=True)
_USED = Metric("part of the workers' time that is used", "%", higher_is_better=True)
_MEMORY = Metric("growth of memory", "MiB", higher_is_better=False)


def ask(json: Json = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run the contest, show its figures and append its records."""
    console = wide_console()
    site = str(BUILD / "mpich" / "prefix" / "site")
    ours = peers.present_here("fluvial", {"PYTHONPATH": site})
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    sys.path.insert(0, site)
    from fluvial.launch import Launcher

    started = header("swift", {"fluvial": ours.version})
    try:
        records, table = _contest(
            Launcher.of_kind("mpich"), site, runs or (1 if quick else 5), quick
        )
    except (FileNotFoundError, RuntimeError, subprocess.TimeoutExpired) as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    console.print(table)
    output = Output.of("swift", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _contest(launcher: Launcher, site: str, runs: int, quick: bool) -> tuple[list[Record], Table]:
    table = Table(title="swift: leaf calls of a script; more is better")
    for column in ("script", "iterations", "figure", "Fluvial", "fl.Pool.map", "ratio"):
        table.add_column(column, justify="right")
    records: list[Record] = []
    with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as folder:
        where = Path(folder)
        library = compile_once(
            BUILD / "bench", "swift_leaves", _FOLDER / "leaves.cpp",
            [ROOT / "src" / "fluvial" / "flow" / "exported_task.hpp"],
            ["-std=c++20", "-O2", "-shared", "-fPIC", f"-I{ROOT / 'src'}"], suffix=".so",
        )  # fmt: skip
        shutil.copy(library, where / "libleaves.so")
        shutil.copy(_FOLDER / "leaf_module.py", where)
        for case in CASES:
            (where / "case.swift").write_text(case.script)
            count = case.quick_iterations if quick else case.iterations
            figures = _measure(launcher, site, where, case, count, runs)
            records += _show(table, case, count, figures)
    return records, table


def _measure(
    launcher: Launcher, site: str, where: Path, case: Case, count: int, runs: int
) -> dict[str, list[dict[str, Any]]]:
    contestants = {"script": []} | ({"map": [case.beside]} if case.beside else {})
    figures: dict[str, list[dict[str, Any]]] = {name: [] for name in contestants}
    worker = str(_FOLDER / "worker.py")
    for _ in range(runs):
        for name, more in contestants.items():
            words = [sys.executable, worker, str(where / "case.swift"), str(count), *more]
            ended = subprocess.run(
                launcher.command(case.ranks, words),
                env=launcher.environment({**os.environ, "PYTHONPATH": site}, yielding=True),
                capture_output=True, text=True, timeout=_LIMIT_S, check=False,
            )  # fmt: skip
            if ended.returncode != 0:
                raise RuntimeError(f"{case.name} ended with {ended.returncode}: {ended.stderr}")
            figures[name].append(json_.loads(ended.stdout.splitlines()[-1]))
    return figures


def _show(
    table: Table, case: Case, count: int, figures: dict[str, list[dict[str, Any]]]
) -> list[Record]:
    def sample(name: str, figure: Any) -> Sample | None:
        return Sample.of(map(figure, figures[name])) if figures.get(name) else None

    wanted = {_RATE: lambda run: count / run["seconds"]}
    if case.busy_us:
        whole = 1e-6 * case.busy_us * count / (case.ranks - 1)
        wanted[_USED] = lambda run: 100 * whole / run["seconds"]
    if case.memory:
        wanted[_MEMORY] = lambda run: run["growth_mib"]
    records = []
    for metric, figure in wanted.items():
        ours, beside = sample("script", figure), sample("map", figure)
        assert ours is not None
        params = {"iterations": count, "ranks": case.ranks, "mpi": "mpich"}
        record = compare("swift", case.name, params, metric, ours, "fl.Pool.map", beside)
        shown = "" if beside is None else spread(beside, metric)
        ratio = "" if record.ratio is None else f"{record.ratio:.2f}"
        row = (case.name, f"{count}", metric.unit, spread(ours, metric), shown, ratio)
        table.add_row(*row)
        records.append(record)
    return records
