# SPDX-License-Identifier: Apache-2.0
"""The experiments' figures as records and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.collective.experiments import MPI, SCAN, Runs
from bench.collective.shuffle import PAPER_RANKS, Scale, model
from bench.record import Metric, Record, Sample, compare
from bench.table import machine_line, number, size_label

TRADITIONAL = "read, then compute"
TWO_PHASE = "two-phase raw data"
ENTRIES = "an entry a piece"
TIME = Metric("time", "s", False)
MINIMUM = Metric("time of the minimum", "s", False)
REDUCTION = Metric("reduction after the loop", "s", False)
METADATA = Metric("logical map", "bytes", False)
VOLUME = Metric("shuffle volume", "bytes", False)
MODEL = Metric("shuffle volume, modelled", "bytes", False)
TOTAL, REDUCE, SENT, MAP = "total_s", "reduce_s", "bytes_sent", "metadata_bytes"


def records(
    runs: Runs,
    raw: dict[tuple[int, str], tuple[int, int]],
    entries: dict[int, int],
    scales: Sequence[Scale],
) -> list[Record]:
    """Return a record for each point of each figure.

    `raw` has (sent, asked for) of two phases by ranks and split, `entries` the bytes of a map with
    an entry a piece by buffer size.
    """
    found = []

    def both(experiment: str, case: str, metric: Metric, name: str, axis: str) -> None:
        for x in runs.positions(experiment):
            ours = runs.sample(experiment, SCAN, x, name)
            if ours is not None:
                theirs = runs.sample(experiment, MPI, x, name)
                params = {axis: x}
                found.append(compare("collective", case, params, metric, ours, TRADITIONAL, theirs))

    for state in ("warm", "cold"):
        both(f"ratio, {state}", f"computation to I/O, {state}", TIME, TOTAL, "ratio")
    both("ranks", "scaling", TIME, TOTAL, "ranks")
    both("ranks", "overhead", REDUCTION, REDUCE, "ranks")
    for buffer, bytes_ in entries.items():
        ours = runs.sample("buffer", SCAN, buffer, MAP)
        if ours is not None:
            params, theirs = {"buffer": buffer}, Sample.of([bytes_])
            found.append(
                compare("collective", "buffer size", params, METADATA, ours, ENTRIES, theirs)
            )
    both("minimum", "minimum with its place", MINIMUM, TOTAL, "levels")
    for (ranks, split), (sent, asked) in raw.items():
        for shuffle in ("to one", "to all"):
            ours = partial_bytes(runs, shuffle, split, ranks)
            if ours is not None:
                params = {"ranks": ranks, "split": split, "asked": asked}
                theirs = Sample.of([sent])
                case = f"shuffle {shuffle}, counted"
                found.append(compare("collective", case, params, VOLUME, ours, TWO_PHASE, theirs))
    for scale in scales:
        volumes = {"to one": scale.to_one, "to all": scale.to_all, "common": scale.common}
        for name, volume in volumes.items():
            ours, theirs = Sample.of([volume]), Sample.of([scale.raw])
            params = {"ranks": scale.ranks}
            case = f"shuffle {name}, modelled"
            found.append(compare("collective", case, params, MODEL, ours, TWO_PHASE, theirs))
    return found


def partial_bytes(runs: Runs, shuffle: str, split: str, ranks: int) -> Sample | None:
    """Return what all ranks sent: partial results, and which rank asked for what."""
    experiment = f"shuffle, {shuffle}, {split}"
    sent = runs.sample(experiment, SCAN, ranks, SENT)
    told = runs.sample(experiment, SCAN, ranks, MAP)
    return None if sent is None or told is None else Sample.of([sent.median + told.median])


def modelled(runs: Runs) -> list[Scale]:
    """Return the volumes at the paper's scales, from the sizes that real runs had."""
    ranks = max(runs.positions("shuffle, to one, time"), default=0)
    sent = runs.sample("shuffle, to one, time", SCAN, ranks, SENT)
    told = runs.sample("shuffle, to one, time", SCAN, ranks, MAP)
    if sent is None or told is None or ranks < 2:
        return []
    # A tree over n ranks has n - 1 messages; a rank is told the questions of its neighbours.
    partial, question = sent.median / (ranks - 1), told.median / ranks
    return [model(count, partial, question) for count in PAPER_RANKS]


def show(console: Console, runs: Runs, records_: Sequence[Record], header: dict[str, Any]) -> None:
    """Print the machine and a table a figure."""
    console.print(machine_line(header))
    for state in ("warm", "cold"):
        title = f"Computation inside the read, page cache {state} (Figure 9)"
        _show(console, title, records_, f"computation to I/O, {state}", "ratio", ratio_label)
        speeds = [r.ratio for r in records_ if r.case == f"computation to I/O, {state}" and r.ratio]
        if speeds:
            mean = sum(speeds) / len(speeds)
            console.print(f"  mean {mean:.2f}×, greatest {max(speeds):.2f}×")
    _show(console, "More ranks, as much a rank (Figure 10)", records_, "scaling", "ranks", "{:.0f}")
    title = "Reduction after the loop (Figure 11)"
    _show(console, title, records_, "overhead", "ranks", "{:.0f}")
    title = "Minimum with its place, one level (Figure 13)"
    _show(console, title, records_, "minimum with its place", "levels", "")
    table = Table(title="Logical map (Figure 12)", title_justify="left", box=SIMPLE)
    table.add_column("buffer")
    table.add_column("bytes, all ranks", justify="right")
    table.add_column("with an entry a piece, as in the paper", justify="right")
    for record in records_:
        if record.case == "buffer size":
            sizes = (f"{size:,.0f}" for size in (record.median, record.peer_median or 0))
            table.add_row(size_label(int(record.params["buffer"])), *sizes)
    console.print(table)
    _show_shuffle(console, records_)


def _show(
    console: Console, title: str, records_: Sequence[Record], case: str, axis: str, label: Any
) -> None:
    found = [r for r in records_ if r.case == case]
    if not found:
        return
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for name in (axis, "inside the read, s", f"{TRADITIONAL}, s", "speed-up"):
        table.add_column(name, justify="right")
    for record in found:
        x = record.params[axis]
        place = label(x) if callable(label) else label.format(x)
        theirs = "—" if record.peer_median is None else number(record.peer_median)
        ratio = "—" if record.ratio is None else f"{record.ratio:.2f}×"
        table.add_row(place, number(record.median), theirs, ratio)
    console.print(table)


def _show_shuffle(console: Console, records_: Sequence[Record]) -> None:
    table = Table(title="What the second phase sends", title_justify="left", box=SIMPLE)
    for name in ("ranks", "", "raw data", "partial results and map", "less by"):
        table.add_column(name, justify="right")
    for record in records_:
        if record.metric in (VOLUME.name, MODEL.name) and record.peer_median is not None:
            split = record.params.get("split")
            how = record.case.removeprefix("shuffle ")
            how += f", divided along {split}" if split else ""
            less = "—" if record.ratio is None else f"{record.ratio:,.0f}×"
            cells = [volume_label(record.peer_median), volume_label(record.median), less]
            table.add_row(f"{record.params['ranks']:,.0f}", how, *cells)
    console.print(table)


def ratio_label(ratio: float) -> str:
    """Write computation to I/O as the paper does: ``10:1`` to ``1:10``."""
    return f"{ratio:g}:1" if ratio >= 1 else f"1:{1 / ratio:g}"


def volume_label(bytes_: float) -> str:
    """Write bytes with the prefix that fits."""
    for factor, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if bytes_ >= factor:
            return f"{bytes_ / factor:.3g} {unit}"
    return f"{bytes_:.0f} B"
