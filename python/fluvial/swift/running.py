# SPDX-License-Identifier: Apache-2.0
"""Runs a script by a pool of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..flow.pool import Pool
from .compiler import run_program
from .engine import Engine
from .loading import load
from .surroundings import Surroundings


def run_script(
    path: str,
    pool: Pool,
    arguments: Sequence[str] = (),
    window: int | None = None,
    narrow: bool = False,
) -> Engine:
    """Check a script and run it to its end; on the rank that leads the pool.

    Raises
    ------
    ScriptError
        Before anything runs, with all that is wrong in the script.
    ScriptFailed
        When it cannot go on.
    """
    program = load(path, Surroundings(path, arguments, pool.workers))
    engine = Engine(_submitting(pool), pool.workers, window, narrow)
    run_program(program, engine)
    return engine


def _submitting(pool: Pool) -> Callable[..., Any]:
    """Return what submits tasks; executors are kept by their options."""
    known: dict[tuple[Any, ...], Any] = {}

    def submit(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        key = tuple(options.items())
        executor = known.get(key)
        if executor is None:
            executor = known[key] = pool.with_options(**options)
        return executor.submit(function, *arguments)

    return submit
