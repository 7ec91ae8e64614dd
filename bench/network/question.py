# SPDX-License-Identifier: Apache-2.0
"""Steps go to a reader over TCP, encrypted and not; beside it the same through a bare socket.

Both fill an array on one side and sum it on the other, between two processes on cores of their own,
over the loopback device, in turns.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import typer
from rich.table import Table

from bench import peers
from bench.child import Child, ChildError, gather
from bench.machine import two_sides
from bench.network.contestants import BARE, ENCRYPTED, FLUVIAL
from bench.options import Json, Output, Quick, Runs, fluvial_path, header
from bench.record import Metric, Sample, append_lines, compare
from bench.table import size_label, spread, wide_console

_LIMIT_S = 120.0
_TURN_BYTES = 1 << 30
_STEPS = 20, 10_000
_TIME = Metric("time of a step", "us", higher_is_better=False)


def ask(json: Json = None, quick: Quick = False, runs: Runs = None) -> None:
    """Run the contest, show its figures and append its records."""
    console = wide_console()
    path = {"PYTHONPATH": fluvial_path()}
    ours = peers.present_here("fluvial", path)
    if not ours.present:
        console.print(f"Fluvial is missing: {ours.missing}; run ./run build first", style="red")
        raise typer.Exit(1)
    started = header("network", {"fluvial": ours.version})
    sizes = [8, 8 << 10, 64 << 10, 1 << 20, 16 << 20]
    figures: dict[tuple[int, str], list[float]] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="fluvial-bench-") as where:
            sides = two_sides()
            with (
                _worker("send", sides[0], path, Path(where)) as sender,
                _worker("receive", sides[1], path, Path(where)) as receiver,
            ):
                for _ in range(runs or (2 if quick else 5)):
                    for bytes_ in sizes:
                        for who in (BARE, FLUVIAL, ENCRYPTED):
                            fewest, most = _STEPS
                            steps = min(most, max(fewest, _TURN_BYTES // bytes_))
                            steps = steps // 4 if quick else steps
                            command = {"who": who, "bytes": bytes_, "steps": steps}
                            command |= {"folder": where}
                            receiver.send({**command, "part": "receive"})
                            sender.send({**command, "part": "send"})
                            seconds = gather([receiver, sender], _LIMIT_S)[0]["seconds"]
                            figures.setdefault((bytes_, who), []).append(seconds / steps * 1e6)
    except ChildError as error:
        console.print(f"a measuring process failed: {error}", style="red", markup=False)
        raise typer.Exit(1) from error
    table = Table(title="A step over TCP; us, less is better")
    for column in ("step", BARE, FLUVIAL, "ratio", ENCRYPTED, "ratio"):
        table.add_column(column, justify="right")
    records = []
    for bytes_ in sizes:
        theirs = Sample.of(figures[bytes_, BARE])
        row = [size_label(bytes_), spread(theirs, _TIME)]
        for who, name in ((FLUVIAL, "step"), (ENCRYPTED, "encrypted step")):
            mine = Sample.of(figures[bytes_, who])
            record = compare("network", name, {"bytes": bytes_}, _TIME, mine, BARE, theirs)
            records.append(record)
            row += [spread(mine, _TIME), f"{record.ratio:.2f}"]
        table.add_row(*row)
    console.print(table)
    output = Output.of("network", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _worker(part: str, cores: frozenset[int], variables: dict[str, str], folder: Path) -> Child:
    root = str(Path(__file__).resolve().parents[2])
    return Child(
        [sys.executable, "-m", "bench.network.worker"],
        cores=cores,
        log=folder / f"{part}.log",
        environment={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([root, variables["PYTHONPATH"]]),
        },
    )
