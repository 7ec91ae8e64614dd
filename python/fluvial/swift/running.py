# SPDX-License-Identifier: Apache-2.0
"""Runs a script by a pool of tasks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Unpack, cast

from ..flow.exported import ExportedTask, pack_of, unpack_of
from ..flow.future import AnyFuture
from ..flow.options import OptionChanges, TaskOptions, changed_options
from ..flow.pool import Pool
from ..flow.submitting import Submitting
from .compiler import run_program
from .engine import CallOptions, Done, Engine, OptionItems, Receiver, Token, options_of
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
    engine = Engine(PoolTasks(pool), pool.workers, window, narrow)
    run_program(program, engine)
    return engine


class PoolTasks:
    """Submits tasks to a pool; executors and options are kept."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._executors: dict[OptionItems, Submitting] = {}
        self._options: dict[OptionItems, TaskOptions] = {}

    def submit(
        self,
        function: Callable[..., object],
        *arguments: object,
        **options: Unpack[CallOptions],
    ) -> AnyFuture:
        """Submit a task; return its future."""
        key = tuple(options.items())
        executor = self._executors.get(key)
        if executor is None:
            executor = self._executors[key] = self._pool.with_options(**options)
        return executor.submit(function, *arguments)

    def submit_exported(
        self,
        task: ExportedTask,
        calls: list[bytes],
        tokens: list[Token],
        told: Receiver,
        options: OptionItems,
    ) -> None:
        """Submit exported C++ functions (`ExportedCalls.submit`)."""
        if not self._pool.exported_calls.possible:
            for message, token in zip(calls, tokens, strict=True):
                future = self.submit(task, *unpack_of(task.inputs)(message), **options_of(options))
                future.add_done_callback(_told(task, token, told))
            return
        wanted = self._options.get(options)
        if wanted is None:
            changes = cast("OptionChanges", dict(options))
            wanted = self._options[options] = changed_options(TaskOptions(), changes)
        self._pool.exported_calls.submit(task, calls, tokens, wanted, told)


def _told(task: ExportedTask, token: Token, told: Receiver) -> Callable[[Done], None]:
    """Return what tells a future's result as that of a call without one."""

    def call(future: Done) -> None:
        error, message = future.exception(), None
        if error is None:
            result = future.result()
            several = len(task.outputs) > 1
            one = [result][: len(task.outputs)]
            message = pack_of(task.outputs)(cast("Sequence[object]", result) if several else one)
        told([(token, message, error)])

    return call
