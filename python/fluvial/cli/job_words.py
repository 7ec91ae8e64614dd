# SPDX-License-Identifier: Apache-2.0
"""The words of `fluvial run` as jobs: `+` begins another job, `:` another program in the same one.

Both may stand several times. mpiexec gives `:` the same meaning; jobs have an MPI_COMM_WORLD each.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from .._core import InvalidArgument
from ..base.messages import shown
from ..launch.side_by_side import JobPlan
from .programs import to_argv, to_name

NEW_JOB, SAME_JOB = "+", ":"
_SCRIPTS = (".py", ".swift")


@dataclass(frozen=True)
class ProgramWords:
    """One program as it was typed: its options, and it with its arguments."""

    ranks: str = "1"
    module: str | None = None
    env: Sequence[str] = ()
    words: Sequence[str] = ()


def to_plans(
    first: ProgramWords, parse: Callable[[Sequence[str]], ProgramWords]
) -> tuple[JobPlan, ...]:
    """Return the jobs. The words of `first` have all that follows; `parse` reads the options there.

    Raises
    ------
    InvalidArgument
        When a program is missing or not found, or a number of ranks is none.
    """
    jobs: list[list[ProgramWords]] = []
    mark, program, rest = NEW_JOB, first, list(first.words)
    while True:
        end = next((i for i, word in enumerate(rest) if word in (NEW_JOB, SAME_JOB)), len(rest))
        program = ProgramWords(program.ranks, program.module, program.env, rest[:end])
        if mark == NEW_JOB:
            jobs.append([program])
        elif program.env:
            raise InvalidArgument(
                f"--env behind {SAME_JOB!r}: got {shown(program.env[0])}; "
                "allowed: before the first program of a job, for all of it"
            )
        else:
            jobs[-1].append(program)
        if end == len(rest):
            break
        mark, program = rest[end], parse(rest[end + 1 :])
        rest = list(program.words)
    plans: list[JobPlan] = []
    for programs in jobs:
        plans.append(_to_plan(programs, {plan.name for plan in plans}))
    return tuple(plans)


def _to_plan(programs: Sequence[ProgramWords], taken: set[str]) -> JobPlan:
    parts = []
    for program in programs:
        if not program.words and program.module is None:
            raise InvalidArgument(
                "the program is missing: got no word; allowed: [-n RANKS] PROGRAM [ARGUMENTS], "
                f"again behind each {NEW_JOB!r} (another job) and {SAME_JOB!r} (in the same job)"
            )
        ranks = to_ranks(program.ranks)
        if ranks == 1:
            _warn_of_ranks_behind(program)
        parts.append((ranks, to_argv(program.words, program.module)))
    base = to_name(programs[0].module or programs[0].words[0])
    number, name = 2, base
    while name in taken:
        number, name = number + 1, f"{base}-{number}"
    return JobPlan(name, tuple(parts), to_variables(programs[0].env))


def _warn_of_ranks_behind(program: ProgramWords) -> None:
    """Warn where a script gets what looks like its number of ranks."""
    if program.module is not None or len(program.words) < 3:
        return
    script, option, number = program.words[:3]
    if script.endswith(_SCRIPTS) and option in ("-n", "-np", "--ranks") and number.isdecimal():
        warnings.warn(
            f"{option} after the script goes to the script: fluvial run {option} {number} {script} "
            f"runs it on {number} ranks",
            stacklevel=2,
        )


def to_ranks(text: str) -> int:
    """Return a number of ranks.

    >>> to_ranks("3")
    3
    """
    if not re.fullmatch(r"0*[1-9][0-9]{0,6}", text, flags=re.ASCII):
        raise InvalidArgument(
            f"-n is no number of ranks: got {shown(text)}; "
            "allowed: a whole number from 1 to 9999999"
        )
    return int(text)


def to_seconds(text: str | None) -> float | None:
    """Return a time limit; None for none.

    >>> to_seconds("1.5")
    1.5
    """
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise InvalidArgument(
            f"--timeout is no time: got {shown(text)}; allowed: a number of seconds above 0"
        )
    return seconds


def to_variables(words: Sequence[str]) -> Mapping[str, str]:
    """Return variables of the environment.

    >>> to_variables(["OMP_NUM_THREADS=1", "NAME="])
    {'OMP_NUM_THREADS': '1', 'NAME': ''}
    """
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise InvalidArgument(
                f"--env is no variable: got {shown(word)}; allowed: NAME=VALUE, as in "
                "OMP_NUM_THREADS=1, with a name of letters, digits and _"
            )
        found[name] = value
    return found
