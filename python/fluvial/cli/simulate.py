# SPDX-License-Identifier: Apache-2.0
"""The word `fluvial simulate`: what a pool's scheduler makes of a load, on machines of any size."""

from __future__ import annotations

import enum
import math
import sys
from typing import Annotated

import typer

from .._core import InvalidArgument, simulate_flow
from ..base.messages import shown


class Load(enum.StrEnum):
    """Which tasks there are."""

    widths = "widths"
    arriving = "arriving"
    sweep = "sweep"


_SWEEP_RANKS = 512  # the widest task of Figure 9
_RANKS_MAX = 1_000_000  # which take seconds
_RANKS_MAX_ARRIVING = 10_000  # each arrival is planned for
_ROUNDS_MAX = 10_000
_SEED_MAX = 2**32 - 1
_words = typer.Typer(no_args_is_help=True, help="Simulate tasks on any number of ranks.")


def add_simulate(app: typer.Typer) -> None:
    """Add the word."""
    app.add_typer(_words, name="simulate")


@_words.callback()
def _simulate() -> None:
    pass


@_words.command("flow")
def _flow(
    ranks: Annotated[int, typer.Option("--ranks", "-n", help="Ranks that run tasks.")] = 64,
    rounds: Annotated[int, typer.Option("--rounds", help="Tasks of each width.")] = 5,
    load: Annotated[
        Load,
        typer.Option(
            "--load",
            help="widths: tasks of 1, 2, 4 … ranks and 0.5 to 1.5 s, all at once. arriving: the "
            "same, at random times. sweep: 48 tasks on 16 to 512 ranks.",
        ),
    ] = Load.widths,
    error: Annotated[
        float,
        typer.Option("--error", help="By how much estimates are off at most: 0.3 is 30 %."),
    ] = 0.0,
    estimates: Annotated[
        bool, typer.Option("--estimates/--no-estimates", help="There are estimates.")
    ] = True,
    busy: Annotated[float, typer.Option("--busy", help="Of arriving: work for so many.")] = 0.8,
    seed: Annotated[int, typer.Option("--seed", help="Of the random load.")] = 1,
) -> None:
    """Run simulated tasks by a pool's scheduler, and print what part of the ranks' time is used."""
    least = _SWEEP_RANKS if load is Load.sweep else 1
    most = _RANKS_MAX_ARRIVING if load is Load.arriving else _RANKS_MAX
    _check_within("--ranks", ranks, least, most, " for this load")
    _check_within("--rounds", rounds, 1, _ROUNDS_MAX)
    _check_within("--seed", seed, 0, _SEED_MAX)
    if not 0 < busy < 1:
        raise InvalidArgument(f"--busy: got {busy}; allowed: between 0 and 1")
    if not 0 <= error < 1:
        raise InvalidArgument(f"--error: got {error}; allowed: 0 up to 1")
    if load is Load.sweep and not estimates:
        raise InvalidArgument("--no-estimates: got the load sweep; allowed: widths, arriving")
    off = error if estimates else math.nan
    used, end, tasks, wait, earliest = simulate_flow(load.value, ranks, rounds, off, busy, seed)
    print(
        f"{tasks} tasks on {ranks} ranks in {end:.1f} s: {100 * used:.1f} % busy; "
        f"the longest wait {wait:.1f} s; no order ends before {earliest:.1f} s"
    )


@_words.command("script", context_settings={"allow_interspersed_args": False})
def _script(
    words: Annotated[
        list[str], typer.Argument(metavar="SCRIPT [ARGUMENTS]", help="A script (.swift).")
    ],
    ranks: Annotated[
        int, typer.Option("--ranks", "-n", help="Ranks of the job, of which one leads.")
    ],
    model: Annotated[
        str,
        typer.Option(
            help="Python file with a function for each leaf: it gets the number of ranks and the "
            "inputs, and returns the seconds, or these and the outputs."
        ),
    ],
    error: Annotated[
        float | None,
        typer.Option("--error", help="The scheduler has estimates, off by this part at most."),
    ] = None,
    trace: Annotated[
        str | None, typer.Option(help="Timeline of all ranks: a picture, or .json for viewers.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the errors of estimates.")] = 1,
) -> None:
    """Run a script in simulated time, on as many ranks as you like.

    fluvial simulate script -n 518 --model model.py --trace figure10.png figure9.swift

    Options stand before the script; words behind it are the script's own.
    """
    _check_within("--ranks", ranks, 1, _RANKS_MAX)
    _check_within("--seed", seed, 0, _SEED_MAX)
    if error is not None and not 0 <= error < 1:
        raise InvalidArgument(f"--error: got {error}; allowed: 0 up to 1")
    from ..flow.timeline import checked_name
    from ..swift.simulation import read_model, simulate_script

    if trace is not None:
        checked_name(trace)
    path, *arguments = words
    simulated = simulate_script(path, ranks, read_model(model), arguments, error, seed)
    sys.stdout.flush()
    timeline = simulated.timeline()
    print(f"simulated: {timeline}", file=sys.stderr)
    if trace is not None:
        timeline.save(trace)


def _check_within(option: str, number: int, least: int, most: int, where: str = "") -> None:
    if not least <= number <= most:
        raise InvalidArgument(f"{option}: got {shown(number)}; allowed: {least} to {most:,}{where}")
