# SPDX-License-Identifier: Apache-2.0
"""Connections, messages and bytes of a step are counted for 16 to 100,000 ranks; nothing is timed.

Each host has six ranks of the writer and two of the reader, and each of the writer's puts one chunk
of some 8 MB, as in Poeschel et al. 2021. Strategies take turns at the same chunks; the first
stands beside the others as their peer.
"""

from __future__ import annotations

from rich.table import Table

from bench.options import Json, Output, Quick, fluvial_path, header
from bench.peers import present_here
from bench.record import Metric, Sample, append_lines, compare
from bench.scale.model import Counted, chunks_of, count
from bench.table import size_label, wide_console

_RANKS = 16, 128, 1024, 10_000, 100_000
_STRATEGIES = (
    "round-robin",
    "hyperslabs",
    "binpacking",
    "by-host(hyperslabs, fallback=hyperslabs)",
    "by-host(binpacking, fallback=hyperslabs)",
)
_COLUMNS = {
    "control_of_reader": "messages to a reader",
    "control_of_host": "messages from a host",
    "described_bytes": "bytes of these",
    "described_long_bytes": "of 1,000 datasets",
    "gathered_bytes": "by a tree",
    "data_of_reader": "hosts a reader reads",
    "data_of_host": "readers of a host",
    "bytes_of_reader": "data of a reader",
    "off_host": "off host",
}


def ask(json: Json = None, quick: Quick = False) -> None:
    """Count, show the table and append its records."""
    console = wide_console()
    version = present_here("fluvial", {"PYTHONPATH": fluvial_path()}).version
    started = header("scale", {"fluvial": version})
    table = Table(title="A step between many hosts; the greatest of all ranks or hosts")
    for column in ("ranks", "strategy", *_COLUMNS.values()):
        table.add_column(column, justify="left" if column == "strategy" else "right")
    records = []
    for ranks in _RANKS[: 3 if quick else None]:
        chunks, readers = chunks_of(ranks)
        counted = {strategy: count(chunks, readers, strategy) for strategy in _STRATEGIES}
        for strategy, figures in counted.items():
            table.add_row(f"{ranks:,}", strategy, *_shown(figures))
            records += [
                compare(
                    "scale",
                    strategy,
                    {"ranks": ranks},
                    Metric(name, _unit(name), higher_is_better=False),
                    Sample.of([getattr(figures, name)]),
                    _STRATEGIES[0],
                    Sample.of([getattr(counted[_STRATEGIES[0]], name)]),
                )
                for name in _COLUMNS
            ]
        table.add_section()
    console.print(table)
    output = Output.of("scale", json, None)
    append_lines(output.json, started, records)
    console.print(f"{len(records)} lines appended to {output.json}")


def _unit(name: str) -> str:
    return "B" if "bytes" in name else "share" if name == "off_host" else "1"


def _shown(figures: Counted) -> list[str]:
    shown = []
    for name in _COLUMNS:
        value = getattr(figures, name)
        if name == "off_host":
            shown.append(f"{100 * value:.1f} %")
        else:
            shown.append(size_label(value) if "bytes" in name else f"{value:,}")
    return shown
