# SPDX-License-Identifier: Apache-2.0
"""`fluvial run`: MPI jobs side by side, under the mpiexec that fits, of which nothing stays."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from .. import _core
from .._core import InvalidArgument
from ..launch.launcher import KINDS, Launcher
from ..launch.side_by_side import JobPlan, Options, SideBySide
from ..stage.stale_contacts import contact_folder, remove_stale_contacts
from .application import say
from .job_words import ProgramWords, to_plans, to_seconds
from .programs import scripts_in

_OF_A_PROGRAM = {"ranks", "module", "env", "words"}


def add_run(app: typer.Typer) -> None:
    """Give the command its word `run`."""
    app.command("run", context_settings={"allow_interspersed_args": False})(_run)


def _run(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PROGRAM [ARGUMENTS] [+ [-n N] PROGRAM …]",
            help="Python file, script (.swift), executable or command; behind + another job.",
        ),
    ] = None,
    ranks: Annotated[
        str, typer.Option("--ranks", "-n", "-np", metavar="N", help="Processes of the program.")
    ] = "1",
    module: Annotated[
        str | None, typer.Option("-m", metavar="MODULE", help="Run a Python module.")
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="NAME=VALUE", help="Of the job. Repeatable."),
    ] = None,
    mpi: Annotated[
        str | None,
        typer.Option(help="mpich, openmpi or an mpiexec. \\[default: Fluvial's own MPI]"),
    ] = None,
    timeout: Annotated[
        str | None, typer.Option(metavar="SECONDS", help="Until all is killed: exit code 124.")
    ] = None,
    label: Annotated[
        bool, typer.Option("--label", "-l", help="Say before each line whose it is.")
    ] = False,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="When a job fails, let the others go on.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be typed by hand.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Say what is wrong in a script (.swift); run nothing.")
    ] = False,
    narrow: Annotated[
        bool,
        typer.Option("--narrow", help="Tasks of a script for more ranks than there are get all."),
    ] = False,
    trace: Annotated[
        str | None,
        typer.Option(help="Of a script: what each rank did when, as a picture or .json."),
    ] = None,
) -> None:
    """Run an MPI job, or several side by side; when one fails, all are ended.

    fluvial run -n 2 writer.py + -n 3 reader.py

    Options stand before the program: what follows it, -n too, is given to the program.

    Exit code: that of the first rank that failed, 128 + its number after a signal.
    """
    first = ProgramWords(ranks, module, env or (), words or ())
    plans = to_plans(first, lambda rest: _parse(context, rest))
    command_lines = [argv for plan in plans for _, argv in plan.programs]
    if check:
        for script in scripts_in(command_lines, "--check"):
            print(f"{script}: nothing is wrong")
        return
    if narrow or trace is not None:
        scripts_in(command_lines, "--trace" if trace is not None else "--narrow")
        wishes = _wishes(narrow, trace)
        plans = tuple(replace(plan, env={**plan.env, **wishes}) for plan in plans)
    limit = to_seconds(timeout)
    launcher = _find_launcher(mpi)
    yielding = sum(plan.ranks for plan in plans) > len(os.sched_getaffinity(0))
    if dry_run:
        for plan in plans:
            print(_by_hand(plan, launcher, yielding))
        return
    # A job in the background would take from a terminal what is typed to the shell.
    piped = sys.stdin is not None and not sys.stdin.isatty()
    options = Options(limit, label, keep_going, yielding, None if piped else subprocess.DEVNULL)
    verdicts = SideBySide(launcher, plans, options).run()
    if verdicts:
        for plan in plans:
            remove_stale_contacts(contact_folder(os.environ | plan.env))
    ended = "; all jobs are ended" if len(plans) > 1 and not keep_going else ""
    for verdict in verdicts:
        say(verdict.why + ended, "red")
    raise typer.Exit(verdicts[0].code if verdicts else 0)


def _wishes(narrow: bool, trace: str | None) -> dict[str, str]:
    """Return variables of the environment that say how a script is to be run."""
    from ..flow.timeline import checked_name
    from ..swift.surroundings import NARROW, TRACE

    wishes = {NARROW: "1"} if narrow else {}
    if trace is not None:
        wishes[TRACE] = os.path.abspath(checked_name(trace))
    return wishes


def _parse(context: typer.Context, rest: Sequence[str]) -> ProgramWords:
    """Read the options of a further program, by the definitions of the first one's."""
    found, _, _ = context.command.make_parser(context).parse_args(list(rest))
    others = found.keys() - _OF_A_PROGRAM
    if others:
        raise InvalidArgument(
            f"an option behind the first program: got --{min(others).replace('_', '-')}; allowed "
            "there: -n, -m and --env. Those of all jobs stand before the first program"
        )
    given = {name: value for name, value in found.items() if value is not None}
    return ProgramWords(**given)


def _find_launcher(mpi: str | None) -> Launcher:
    """Return the launcher of the MPI asked for, or of the one that this package was built with."""
    library = _core.mpi_library()
    own = "openmpi" if library.startswith("Open MPI") else "mpich"
    try:
        if mpi in KINDS:
            launcher = Launcher.of_kind(mpi, _core.mpiexec())
        elif mpi or os.environ.get("FLUVIAL_MPIEXEC"):
            launcher = Launcher.detect(mpi)
        else:
            launcher = Launcher.of_kind(own, _core.mpiexec())
    except FileNotFoundError as error:
        allowed = f"; allowed for --mpi: {', '.join(KINDS)}, or the path of an mpiexec"
        raise InvalidArgument(f"{error}{allowed}") from None
    if launcher.mpi != own:
        warnings.warn(
            f"{launcher.mpiexec} belongs to {launcher.mpi}, this Fluvial to {library}: each "
            "process that uses Fluvial will be a job of its own",
            stacklevel=2,
        )
    return launcher


def _by_hand(plan: JobPlan, launcher: Launcher, yielding: bool) -> str:
    """Return the command of a shell that does the same but for clearing up."""
    (ranks, argv), *more = plan.programs
    env = launcher.environment(plan.env, yielding=yielding)
    words = [
        f"{name}={shlex.quote(value)}"
        for name, value in env.items()
        if os.environ.get(name) != value
    ]
    return " ".join([*words, shlex.join(launcher.command(ranks, argv, *more))])
