# SPDX-License-Identifier: Apache-2.0
"""A crystal melts while it is watched: the demo's main program, `./run demo`.

Two MPI jobs start side by side: LAMMPS, which heats solid argon through melting, and the analysis,
which reads each output from the stream where it lies in memory. Then the same goes through files.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import sys
import tempfile
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

if not __package__:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from fluvial.cli.plain_flags import show_plain_flags
from fluvial.launch import Launcher

from demo import physics
from demo.comparison import Comparison, same_results
from demo.crystal import FEWEST_ATOMS, Crystal
from demo.jobs import JobFailedError, Outcome, Program, run_together
from demo.live_view import LiveView, PlainView, View
from demo.protocol import FEWEST_OUTPUTS, Heating, Plan
from demo.record import Record

OUTPUTS, OUTPUTS_SHORT = 120, 50
STEPS, STEPS_SHORT = 1200, 500
COLUMNS = 120
"""Width of the output when it does not go to a terminal."""
STREAM = "melting-argon"
JOB_FAILED, PHYSICS_WRONG, INTERRUPTED = 1, 3, 130
HERE = pathlib.Path(__file__).resolve().parent

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def main(
    steps: Annotated[
        int,
        typer.Option(
            help=f"Molecular dynamics steps (default {STEPS}; {STEPS_SHORT} with --short).",
            show_default=False,
        ),
    ] = 0,
    ranks: Annotated[
        str,
        typer.Option(help="Ranks of the simulation, or of both jobs: 2 or 2,3.", metavar="N[,M]"),
    ] = "2",
    readers: Annotated[
        int,
        typer.Option(
            help="Ranks of the analysis (default: as many as the simulation).", show_default=False
        ),
    ] = 0,
    atoms: Annotated[
        int, typer.Option(help=f"Atoms, at least; the crystal has whole cells (>= {FEWEST_ATOMS}).")
    ] = 30_000,
    out: Annotated[
        pathlib.Path, typer.Option(help="Folder of report, pictures, measurements and logs.")
    ] = pathlib.Path("demo-out"),
    live: Annotated[bool, typer.Option("--live/--no-live", help="Show the live view.")] = True,
    short: Annotated[bool, typer.Option("--short", help="Fewer steps, same checks.")] = False,
) -> None:
    """Melt a crystal in one MPI job, watch its Bragg peaks vanish in another, and write a report.

    Exit code: 0 when the physics is right, 3 when it is not, 1 when a job failed, 130 on Ctrl-C.
    """
    try:
        writers, analysts = parse_ranks(ranks, readers)
        heating = heating_of(steps or (STEPS_SHORT if short else STEPS), short)
        crystal = Crystal.with_atoms(atoms)
        (out / "logs").mkdir(parents=True, exist_ok=True)
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from None
    console = Console()
    if not console.is_terminal:
        console = Console(width=COLUMNS)
    with contextlib.suppress(ValueError):  # not the main thread: the caller handles signals
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
    try:
        live = live and console.is_terminal
        code = run(crystal, heating, (writers, analysts), out, live, console)
    except KeyboardInterrupt:
        console.print("[yellow]stopped[/]: both jobs are ended, nothing of them is left behind")
        code = INTERRUPTED
    except JobFailedError as failure:
        console.print("[bold red]failed[/]:", end=" ")
        console.print(str(failure), markup=False, highlight=False, soft_wrap=True)
        code = JOB_FAILED
    raise typer.Exit(code)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def parse_ranks(ranks: str, readers: int) -> tuple[int, int]:
    """Return the ranks of simulation and analysis from ``N`` or ``N,M`` and an optional M.

    Raises
    ------
    ValueError
        When a number is missing, below 1, or given twice.
    """
    numbers = [int(part) if part.strip().isdigit() else 0 for part in ranks.split(",")]
    if len(numbers) > 2 or min(numbers) < 1 or readers < 0:
        raise ValueError(f"ranks {ranks!r}, readers {readers}: give N or N,M, each at least 1")
    if len(numbers) == 2 and readers not in (0, numbers[1]):
        raise ValueError(f"ranks {ranks!r} and readers {readers} contradict each other; give one")
    return numbers[0], readers or numbers[-1]


def heating_of(steps: int, short: bool) -> Heating:
    """Return the protocol for about this many steps, a whole number of outputs.

    Raises
    ------
    ValueError
        When there are too few steps to melt anything.
    """
    if steps < 10 * FEWEST_OUTPUTS:
        raise ValueError(f"{steps} steps melt nothing; give at least {10 * FEWEST_OUTPUTS}")
    every = max(1, round(steps / (OUTPUTS_SHORT if short else OUTPUTS)))
    return Heating(-(-steps // every) * every, every)


def run(
    crystal: Crystal,
    heating: Heating,
    ranks: tuple[int, int],
    out: pathlib.Path,
    live: bool,
    console: Console,
) -> int:
    """Run both pipelines, judge, and write the report; returns the exit code."""
    logs = out / "logs"
    launcher = Launcher.detect()
    with (
        tempfile.TemporaryDirectory(prefix="fluvial-demo-") as contact,
        tempfile.TemporaryDirectory(prefix="openpmd-", dir=out) as files,
    ):
        plan = Plan(crystal, heating, *ranks, STREAM, contact, files, str(out.resolve()))
        view = LiveView(plan, console) if live else PlainView(plan, console)
        console.print(
            f"[bold]argon, {crystal.atoms:,} atoms[/]: {heating.steps} steps, an output every "
            f"{heating.every}; simulation on {ranks[0]} ranks, analysis on {ranks[1]}"
        )
        with view:
            stream, through_files = run_pipelines(plan, launcher, logs, view)
        syncing = sync_files(pathlib.Path(files))
    console.print("drawing the report …")
    return conclude(plan, Comparison.of(stream, through_files, syncing), out, console)


def run_pipelines(
    plan: Plan, launcher: Launcher, logs: pathlib.Path, view: View
) -> tuple[dict[str, Outcome], dict[str, Outcome]]:
    """Run the pipeline through the stream, then the one through files."""
    path = pathlib.Path(plan.contact, "plan.json")
    plan.write(path)

    def program(name: str, *options: str) -> Program:
        writes = name == "simulation"
        script = HERE / ("simulate.py" if writes else "analyse.py")
        return Program(
            name, plan.writers if writes else plan.readers, (str(script), str(path), *options)
        )

    view.phase("simulation → stream → analysis", ["simulation", "analysis"])
    for folder in ("stream", "files"):
        (logs / folder).mkdir(exist_ok=True)
    stream = run_together(
        [program("simulation"), program("analysis")], launcher, logs / "stream", view
    )
    view.phase("the same through files", ["simulation", "analysis"])
    through_files: dict[str, Outcome] = {}
    for name in ("simulation", "analysis"):
        through_files |= run_together(
            [program(name, "--through-files")], launcher, logs / "files", view
        )
    return stream, through_files


def sync_files(folder: pathlib.Path) -> float:
    """Force all files of a folder onto the disk; returns the seconds that it took."""
    began = time.monotonic()
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    return time.monotonic() - began


def conclude(plan: Plan, comparison: Comparison, out: pathlib.Path, console: Console) -> int:
    """Check the physics, write the report, print the verdict; returns the exit code."""
    from demo import report  # draws with matplotlib, whose import takes a while

    record = Record.load(out / "stream.npz")
    checks = physics.check(record, plan.crystal, plan.heating)
    checks.append(same_results(record, Record.load(out / "files.npz")))
    page = report.write(out, plan, record, checks, comparison)

    console.print(f"[bold]{comparison.headline()}[/]", highlight=False)
    table = Table(box=None, show_header=False, pad_edge=False)
    for item in checks:
        mark = "[green]✓[/]" if item.passed else "[bold red]✗[/]"
        table.add_row(mark, item.name, item.found, f"[dim]{item.allowed}[/]")
    console.print(table)
    console.print(comparison.summary(), highlight=False)
    console.print(f"report: {page}", soft_wrap=True)
    return 0 if all(item.passed for item in checks) else PHYSICS_WRONG


if __name__ == "__main__":
    show_plain_flags(app)
    sys.exit(app(prog_name="./run demo"))
