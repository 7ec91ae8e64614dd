# SPDX-License-Identifier: Apache-2.0
"""Command line of the benchmarks: ``python -m bench [NAME] [--json FILE] [--quick] …``."""

from __future__ import annotations

import importlib
import os
import signal
import sys
from pathlib import Path

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import typer
from rich.console import Console
from rich.table import Table

from bench.catalogue import CATALOGUE

app = typer.Typer(
    add_completion=False,
    help="Benchmarks of Fluvial, each beside its peers in the same run.",
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def list_benches(context: typer.Context) -> None:
    """Benchmarks of Fluvial, each beside its peers in the same run; without NAME, list them."""
    if context.invoked_subcommand is not None:
        return
    table = Table(box=None)
    table.add_column("bench", style="bold")
    table.add_column("question")
    for name, question in CATALOGUE.items():
        table.add_row(name, question)
    Console().print(table)
    Console().print("[dim]./run bench NAME [--quick] [--json FILE] [--png FILE] [--help][/dim]")


def main() -> None:
    """Import the benches, run the one named, and turn SIGTERM into an orderly end."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for name, question in CATALOGUE.items():
        module = importlib.import_module(f"bench.{name}.question")
        app.command(name, help=f"{question}\n\n{module.__doc__ or ''}")(module.ask)
    app(prog_name=os.environ.get("FLUVIAL_BENCH_NAME", "./run bench"))


if __name__ == "__main__":
    main()
