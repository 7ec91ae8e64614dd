# SPDX-License-Identifier: Apache-2.0
"""A flow goes by several paths; beside it MPI's own message, which takes the direct route.

The hosts are namespaces of this machine, joined by cables of 100 Mbit/s: a cluster in a box, which
needs root. The time of an exchange is that of the whole call, agreement on the plan included.
"""

from __future__ import annotations

import json as json_
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from bench import peers
from bench.options import BUILD, ROOT, Json, Output, Png, Quick, Runs, header
from bench.record import Metric, Record, Sample, append_lines, compare, last_run
from bench.route.jobs import figures_of
from bench.route.networks import NETWORKS, PACE, Network
from bench.route.sparse_patterns import SHAPES
from bench.table import size_label, spread, wide_console

if TYPE_CHECKING:
    from fluvial.launch import Launcher

_LIMIT_S = 300.0
_TIME = Metric("time of a message", "ms", higher_is_better=False)
_SIZES = (1 << 20, 16 << 20)  # a cable takes 64 KiB at once, so less would measure that
Figures = dict[str, dict[str, list[float]]]


Sim = Annotated[
    bool,
    typer.Option(
        "--sim", help="On a simulated Blue Gene/Q (SimGrid) instead: the figures of the paper."
    ),
]
Nodes = Annotated[
    str | None,
    typer.Option(
        "--nodes",
        help="With --sim: sparse I/O alone, on so many hosts, such as 128,512,2048; 8192 hosts are "
        "not simulated, but predicted.",
    ),
]
OnePath = Annotated[
    bool,
    typer.Option(
        "--one-path", help="Where there is one path only: what Fluvial costs beside plain MPI."
    ),
]
SharedFile = Annotated[
    bool,
    typer.Option(
        "--shared-file", help="Hosts write one file, of which they have very uneven parts."
    ),
]


def ask(
    json: Json = None,
    png: Png = None,
    quick: Quick = False,
    runs: Runs = None,
    sim: Sim = False,
    nodes: Nodes = None,
    one_path: OnePath = False,
    shared_file: SharedFile = False,
) -> None:
    """Run the contest, show its figures and append its records."""
    hosts = _hosts(nodes, sim)
    console = wide_console()
    site = {mpi: str(BUILD / mpi / "prefix" / "site") for mpi in ("mpich", "openmpi")}
    ours = peers.present_here("fluvial", {"PYTHONPATH": site["mpich"]})
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    sys.path[:0] = [site["mpich"], str(ROOT / "tests")]
    from fluvial.launch import Launcher
    from harness.box import NoBox

    started = header("route", {"fluvial": ours.version})
    if sim:
        if hosts:
            _simulate_io(console, Output.of("route-io", json, png), started, hosts)
        else:
            _simulate(console, Output.of("route-sim", json, png), started, quick)
        return
    if one_path:
        _one_path(console, Output.of("route-one-path", json, None), started, site, runs, quick)
        return
    if shared_file:
        output = Output.of("route-shared-file", json, None)
        _shared_file(console, output, started, site, runs or (2 if quick else 7), quick)
        return
    sizes = _SIZES[-1:] if quick else _SIZES
    records: list[Record] = []
    for mpi in ("mpich",) if quick else ("mpich", "openmpi"):
        for network in NETWORKS:
            try:
                launcher = Launcher.of_kind(mpi)
                figures = _measure(launcher, site[mpi], network, runs or (2 if quick else 5), sizes)
            except (NoBox, FileNotFoundError, RuntimeError) as error:
                console.print(f"{network.name}, {mpi}: {error}", style="red", markup=False)
                raise typer.Exit(1) from error
            records += _show(console, mpi, network, figures)
    output = Output.of("route", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _one_path(
    console: Console,
    output: Output,
    started: dict[str, Any],
    site: dict[str, str],
    runs: int | None,
    quick: bool,
) -> None:
    """Append the records of one path, on one host and over a cable."""
    from fluvial.launch import Launcher
    from harness.box import NoBox

    from bench.route import one_path

    records: list[Record] = []
    for mpi in ("mpich",) if quick else ("mpich", "openmpi"):
        for where in ("on one host", "over a cable"):
            try:
                launcher = Launcher.of_kind(mpi)
                turns = runs or (5 if quick else 15)
                figures = one_path.measure(launcher, site[mpi], where, turns, quick)
            except (NoBox, FileNotFoundError, RuntimeError) as error:
                console.print(f"one path {where}, {mpi}: {error}", style="red", markup=False)
                raise typer.Exit(1) from error
            records += one_path.show(console, mpi, where, figures)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _shared_file(
    console: Console,
    output: Output,
    started: dict[str, Any],
    site: dict[str, str],
    runs: int,
    quick: bool,
) -> None:
    """Append the records of one file that hosts write together."""
    from fluvial.launch import Launcher
    from harness.box import NoBox

    from bench.route import shared_file

    records: list[Record] = []
    for mpi in ("mpich",) if quick else ("mpich", "openmpi"):
        try:
            figures = shared_file.measure(Launcher.of_kind(mpi), site[mpi], runs)
        except (NoBox, FileNotFoundError, RuntimeError) as error:
            console.print(f"one file, {mpi}: {error}", style="red", markup=False)
            raise typer.Exit(1) from error
        records += shared_file.show(console, mpi, figures)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _hosts(nodes: str | None, sim: bool) -> list[int]:
    """Return what the option says."""
    allowed = ", ".join(map(str, SHAPES))
    if nodes is None:
        return []
    if not sim:
        raise typer.BadParameter(f"got {nodes!r} without --sim; add --sim", param_hint="--nodes")
    words = nodes.split(",")
    if not all(word.isdecimal() and int(word) in SHAPES for word in words):
        raise typer.BadParameter(
            f"got {nodes!r}; allowed: {allowed}, with commas", param_hint="--nodes"
        )
    return sorted({int(word) for word in words})


def _simulate(console: Console, output: Output, started: dict[str, Any], quick: bool) -> None:
    """Append the records of the simulated machine, and draw them: messages, and then sparse I/O."""
    from harness.simulated import NoSimulator

    from bench.plotter import draw
    from bench.route import simulated, sparse_io

    try:
        records = simulated.records(quick, console.print)
        io = sparse_io.records(*sparse_io.chosen(quick), console.print)
    except NoSimulator as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    append_lines(output.json, started, [*records, *io])
    _, lines = last_run(output.json)
    draw(output.png, simulated.layout("SimGrid's SMPI, 512 hosts, 1.8 GB/s a link", records), lines)
    io_png = output.png.with_stem(f"{output.png.stem}-io")
    draw(io_png, sparse_io.layout(io), lines)
    console.print(
        f"{len(records) + len(io)} lines appended to {output.json}; "
        f"pictures: {output.png}, {io_png}"
    )


def _simulate_io(
    console: Console, output: Output, started: dict[str, Any], hosts: list[int]
) -> None:
    """Append the records of sparse I/O on so many hosts, and draw them."""
    from harness.simulated import NoSimulator

    from bench.plotter import draw
    from bench.route import sparse_io

    try:
        records = sparse_io.records(hosts, sparse_io.PATTERNS, console.print)
    except NoSimulator as error:
        console.print(str(error), style="red", markup=False)
        raise typer.Exit(1) from error
    append_lines(output.json, started, records)
    _, lines = last_run(output.json)
    draw(output.png, sparse_io.layout(records), lines)
    console.print(f"{len(records)} lines appended to {output.json}; picture: {output.png}")


def _measure(
    launcher: Launcher, site: str, network: Network, runs: int, sizes: tuple[int, ...]
) -> Figures:
    from harness.box import Box
    from harness.fabric import Fabric

    import fluvial as fl

    with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as folder, Box(network.hosts) as box:
        said = network.topology([box.name(number + 1) for number in range(network.hosts)])
        if not isinstance(said, str):
            path = Path(folder) / "mesh.json"
            path.write_text(json_.dumps(said))
            said = str(path)
        fabric = Fabric(box, fl.route.topology(said))
        if network.slow is not None:
            for here, there in (network.slow, network.slow[::-1]):
                fabric.set_bandwidth(here, there, PACE / 4)
        worker = str(Path(__file__).with_name("worker.py"))
        words = [sys.executable, worker, said, str(network.paths), str(runs), *map(str, sizes)]
        command = box.command(launcher, range(1, network.hosts + 1), network.hosts, words)
        return figures_of(launcher, command, site, _LIMIT_S)


def _show(console: Console, mpi: str, network: Network, figures: Figures) -> list[Record]:
    """Print a table, and return a record for each size and number of paths."""
    table = Table(title=f"{network.name}, {mpi}: {_TIME.name}, {_TIME.unit}; less is better")
    for column in ("message", "by", "Fluvial", "MPI, direct", "times as fast"):
        table.add_column(column, justify="right")
    records = []
    for size, ways in figures.items():
        samples = {way: Sample.of(s * 1e3 for s in seconds) for way, seconds in ways.items()}
        direct = samples.pop("direct")
        for way, mine in samples.items():
            by = "the model's choice" if way == "0" else f"{way} paths"
            params = {"bytes": int(size), "paths": int(way), "mpi": mpi}
            record = compare("route", network.name, params, _TIME, mine, "MPI, direct", direct)
            shown = spread(mine, _TIME), spread(direct, _TIME), f"{record.ratio:.2f}"
            table.add_row(size_label(int(size)), by, *shown)
            records.append(record)
    console.print(table)
    return records
