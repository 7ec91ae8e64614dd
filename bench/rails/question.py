# SPDX-License-Identifier: Apache-2.0
"""Steps go to a reader on another host over three networks at a time; beside it, over one.

Then to three ranks of a reader there, which fetch what they all want once; beside it, each.

The hosts are namespaces of this machine, joined by three networks: a cluster in a box, which needs
root. Both contestants are Fluvial, in turns.
"""

from __future__ import annotations

import json as json_
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from bench import peers
from bench.options import ROOT, Json, Output, Quick, Runs, fluvial_path, header
from bench.record import Metric, Record, Sample, append_lines, compare
from bench.table import size_label, spread, wide_console

PACE = 25e6
"""Bytes per second of a cable: 200 Mbit/s, of which two cores feed three."""
_LIMIT_S = 120.0
_RATE = Metric("throughput", "MB/s", higher_is_better=True)
_SIZES = (4 << 20, 32 << 20)  # a cable takes 64 KiB at once
_NETWORKS = {"one": "over one", "auto": "over three"}
_FETCHES = {"each": "each rank for itself", "once": "once"}


@dataclass(frozen=True)
class Case:
    """Three networks between two hosts."""

    name: str
    bandwidth: float | None  # bytes per second of a cable; None: what the cores do
    slow: str = ""  # the interface of a network with a quarter of that
    readers: int = 1
    steps: int = 12

    @property
    def contestants(self) -> dict[str, str]:
        """What is compared, the peer first."""
        return _NETWORKS if self.readers == 1 else _FETCHES

    def reader(self, words: list[str], who: str) -> list[str]:
        """Return the command of the reader."""
        if self.readers == 1:
            return [*words, who]
        from fluvial.launch import Launcher

        variable = f"FLUVIAL_FETCH={who}"
        return Launcher.detect().command(
            self.readers, ["env", variable, *words, "one", str(self.readers)]
        )


CASES = (
    Case("three networks of 200 Mbit/s", PACE),
    Case("the same, one at a quarter", PACE, slow="eth1"),
    Case("three networks that nothing slows down", None, steps=100),
    Case("three ranks of a reader over 200 Mbit/s", PACE, readers=3, steps=6),
)


def ask(json: Json = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run the contest, show its figures and append its records."""
    console = wide_console()
    path = fluvial_path()
    ours = peers.present_here("fluvial", {"PYTHONPATH": path})
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    sys.path[:0] = [path, str(ROOT / "tests")]
    from harness.box import NoBox

    started = header("rails", {"fluvial": ours.version})
    records: list[Record] = []
    for case in (*CASES[:2], CASES[3]) if quick else CASES:
        try:
            figures = _measure(case, path, runs or (1 if quick else 3), _SIZES[1 if quick else 0 :])
        except (NoBox, RuntimeError, subprocess.TimeoutExpired) as error:
            console.print(f"{case.name}: {error}", style="red", markup=False)
            raise typer.Exit(1) from error
        records += _show(console, case, figures)
    output = Output.of("rails", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


_Figures = dict[tuple[int, str], list[float]]


def _measure(case: Case, path: str, runs: int, sizes: tuple[int, ...]) -> _Figures:
    """Return MB/s by bytes of a step and contestant."""
    from harness.box import Box
    from harness.rails import join_by_networks, set_bandwidth

    figures: _Figures = {}
    with Box(2) as box:
        join_by_networks(box, case.bandwidth)
        if case.slow and case.bandwidth:
            set_bandwidth(box, case.slow, case.bandwidth / 4)
        for _ in range(runs):
            for size in sizes:
                for who in case.contestants:
                    with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as folder:
                        words = [sys.executable, str(Path(__file__).with_name("worker.py"))]
                        rest = [folder, str(size), str(case.steps)]
                        writer = box.on(1, [*words, "write", *rest, "auto"])
                        reader = box.on(2, case.reader([*words, "read", *rest], who))
                        seconds = _run(writer, reader, path)
                    rate = size * (case.steps - 1) / seconds / 1e6
                    figures.setdefault((size, who), []).append(rate)
    return figures


def _run(writer: list[str], reader: list[str], path: str) -> float:
    """Return the seconds that the reader says."""
    environment = {**os.environ, "PYTHONPATH": path}
    with subprocess.Popen(writer, env=environment, stderr=subprocess.PIPE, text=True) as writing:
        try:
            ended = subprocess.run(
                reader,
                env=environment,
                capture_output=True,
                text=True,
                timeout=_LIMIT_S,
                check=False,
            )
            _, said = writing.communicate(timeout=_LIMIT_S)
        finally:
            writing.kill()
    if ended.returncode != 0 or writing.returncode != 0:
        raise RuntimeError(f"a run has failed: {(ended.stderr or said)[-2000:]}")
    return float(json_.loads(ended.stdout)["seconds"])


def _show(console: Console, case: Case, figures: _Figures) -> list[Record]:
    """Print a table, and return a record for each size."""
    table = Table(title=f"{case.name}: {_RATE.name}, {_RATE.unit}; more is better")
    peer, ours = case.contestants
    for column in ("step", case.contestants[ours], case.contestants[peer], "ratio"):
        table.add_column(column, justify="right")
    records = []
    for size in sorted({size for size, _ in figures}):
        mine, other = (Sample.of(figures[size, who]) for who in (ours, peer))
        known_as = case.contestants[peer]
        record = compare("rails", case.name, {"bytes": size}, _RATE, mine, known_as, other)
        records.append(record)
        shown = spread(mine, _RATE), spread(other, _RATE), f"{record.ratio:.2f}"
        table.add_row(size_label(size), *shown)
    console.print(table)
    return records
