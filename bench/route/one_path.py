# SPDX-License-Identifier: Apache-2.0
"""Where there is one path only: what Fluvial costs beside MPI's own messages.

Two ranks send to each other, on this host (shared memory) and between two namespaces that one cable
of 100 Mbit/s joins.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from bench.record import Metric, Record, Sample, compare
from bench.route.jobs import figures_of
from bench.route.networks import PACE
from bench.table import size_label, spread

if TYPE_CHECKING:
    from fluvial.launch import Launcher

_LIMIT_S = 300.0
_TIME = Metric("time of a call", "us", higher_is_better=False)
_SIZES = (1 << 10, 8 << 10, 64 << 10, 1 << 20, 8 << 20)
_PEERS = ("Isend, Irecv", "Alltoallv")

Figures = dict[str, dict[str, list[float]]]


def measure(launcher: Launcher, site: str, where: str, runs: int, quick: bool) -> Figures:
    """Return the seconds of each contestant, by size, "on one host" or "over a cable"."""
    from harness.box import Box
    from harness.fabric import Fabric

    import fluvial as fl

    sizes = [size for size in _SIZES if size <= 1 << 20 or (where == "on one host" and not quick)]
    topology = f"mesh:2,bandwidth={PACE}"
    worker = str(Path(__file__).with_name("one_path_worker.py"))
    words = [sys.executable, worker, topology, str(runs), *map(str, sizes)]
    if where == "on one host":
        return figures_of(launcher, launcher.command(2, words), site, _LIMIT_S)
    with Box(2) as box:
        Fabric(box, fl.route.topology(topology))
        return figures_of(launcher, box.command(launcher, (1, 2), 2, words), site, _LIMIT_S)


def show(console: Console, mpi: str, where: str, figures: Figures) -> list[Record]:
    """Print a table, and return a record for each size and contestant."""
    table = Table(title=f"one path, {where}, {mpi}: {_TIME.name}, {_TIME.unit}; less is better")
    for column in ("message", "by", "Fluvial", *_PEERS, "times as fast as the better one"):
        table.add_column(column, justify="right")
    records = []
    for size, ways in figures.items():
        samples = {way: Sample.of(s * 1e6 for s in seconds) for way, seconds in ways.items()}
        peers = {peer: samples.pop(peer) for peer in _PEERS}
        best = min(peers, key=lambda peer: peers[peer].median)
        for way, mine in samples.items():
            params = {"bytes": int(size), "by": way, "mpi": mpi}
            case = f"one path {where}"
            record = compare("route", case, params, _TIME, mine, f"MPI, {best}", peers[best])
            shown = [spread(peers[peer], _TIME) for peer in _PEERS]
            row = (size_label(int(size)), way, spread(mine, _TIME), *shown, f"{record.ratio:.2f}")
            table.add_row(*row)
            records.append(record)
    console.print(table)
    return records
