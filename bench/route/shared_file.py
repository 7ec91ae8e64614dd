# SPDX-License-Identifier: Apache-2.0
"""One shared file of data that hosts have unevenly or in small pieces, written in several ways.

The hosts are namespaces of this machine, a cable of 100 Mbit/s between any two. The file lies in
this machine's page cache, which every host reaches without a cable: so the figures are those of the
way to the ranks that write. Direct writes use no cable at all; they are what a file system behind
no network would give, and nothing to be reached.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from bench.record import Metric, Record, Sample, compare
from bench.route.jobs import figures_of
from bench.route.networks import NETWORKS
from bench.table import spread

if TYPE_CHECKING:
    from fluvial.launch import Launcher

_LIMIT_S = 300.0
_TIME = Metric("time of a write", "ms", higher_is_better=False)
_HOSTS = NETWORKS[0].hosts
_PEER, _DIRECT = "MPI-IO, collective", "each its own"

Figures = dict[str, dict[str, list[float]]]


def measure(launcher: Launcher, site: str, runs: int) -> Figures:
    """Return the seconds of each contestant, by pattern."""
    from harness.box import Box
    from harness.fabric import Fabric

    import fluvial as fl

    worker = str(Path(__file__).with_name("shared_file_worker.py"))
    with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as folder, Box(_HOSTS) as box:
        network = Path(folder) / "mesh.json"
        names = [box.name(number + 1) for number in range(_HOSTS)]
        network.write_text(json.dumps(NETWORKS[0].topology(names)))
        Fabric(box, fl.route.topology(str(network)))
        words = [sys.executable, worker, str(network), str(runs), folder]
        command = box.command(launcher, range(1, _HOSTS + 1), _HOSTS, words)
        return figures_of(launcher, command, site, _LIMIT_S)


def show(console: Console, mpi: str, figures: Figures) -> list[Record]:
    """Print a table, and return a record for each pattern and contestant."""
    title = f"one file of {_HOSTS} hosts, {mpi}: {_TIME.name}, {_TIME.unit}; less is better"
    table = Table(title=title)
    for column in ("data", "by", "Fluvial", _PEER, "times as fast", f"{_DIRECT}, no cable"):
        table.add_column(column, justify="right")
    records = []
    for pattern, ways in figures.items():
        samples = {way: Sample.of(s * 1e3 for s in seconds) for way, seconds in ways.items()}
        theirs, direct = samples.pop(_PEER), samples.pop(_DIRECT)
        for way, mine in samples.items():
            params = {"by": way, "hosts": _HOSTS, "mpi": mpi}
            record = compare("route", f"shared file, {pattern}", params, _TIME, mine, _PEER, theirs)
            shown = [spread(sample, _TIME) for sample in (mine, theirs)]
            row = (pattern, way, *shown, f"{record.ratio:.2f}", spread(direct, _TIME))
            table.add_row(*row)
            records.append(record)
    console.print(table)
    return records
