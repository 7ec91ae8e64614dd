# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a pool do before it begins."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import cast

from .. import _core
from ..mpi.communicator import Communicator, handle_of, world
from ..mpi.together import Together
from .forked_function import end_child
from .functions import function_bytes
from .journal import Journal
from .main_names import MainNames, is_of_main
from .settings import Settings
from .started_job import StartedJob
from .task_core import TaskCore
from .tasks import TaskRunner, in_task

_WORKERS_OF_A_CORE = 64  # as many wait for each other, and for little else


def all_ranks() -> Communicator | None:
    """Return all ranks of the job, of which a pool is by default; None in a serial program.

    Raises
    ------
    InvalidArgument
        In a task: the other ranks do not make the pool, and would be waited for.
    """
    comm = world()
    if comm is not None and in_task():
        raise _core.InvalidArgument(
            f"a task cannot make a pool of all ranks of its job: got rank {comm.rank} of "
            f"{comm.size}; allowed: fluvial.Pool outside of tasks. Return further tasks "
            "(fluvial.task) to the pool that there is, or give the communicator of a parallel "
            "task to a pool of its team, as in fluvial.Pool(comm=comm)"
        )
    return comm


def opened_journal(
    comm: Communicator | None, path: str | os.PathLike[str] | None
) -> Journal | None:
    """Open a pool's journal where that leads; an error on all ranks when it fails."""
    journal, failed = None, None
    if path is not None and (comm is None or comm.rank == 0):
        try:
            journal = Journal(path)
        except Exception as error:
            failed = error
    said = None if comm is None else _setting_up(comm).of_first(failed and str(failed))
    if failed is not None:
        raise failed
    if said:
        raise _core.Error(f"rank 0: {said}")
    return journal


def initialize(comm: Communicator | None, settings: Settings, names: MainNames) -> None:
    """Call the initializer on each rank that runs tasks; an error on all when it fails on one.

    It is the user's code, which takes its time and may use the other verbs: a rank that waits for
    those of others serves its streams meanwhile, unlike in the rest of the set-up.
    """
    if settings.initializer is None:
        return
    initializer = _sharing(names, comm, settings.initializer)
    failed: BaseException | None = None
    if comm is None or comm.size == 1 or comm.rank > 0 or settings.lead_works:
        process = os.getpid()
        try:
            initializer(*settings.initargs)
        except BaseException as error:  # SystemExit, too: the others wait for this rank's word
            failed = error
        if os.getpid() != process:
            end_child(failed)
    here = failed is not None
    found = [here] if comm is None else Together(comm).all_have(here)
    if failed is not None:
        raise failed
    if any(found):
        raise _core.Error(f"rank {found.index(True)}: the initializer of a pool raised an error")


def started_core(comm: Communicator | None, settings: Settings) -> TaskCore:
    """Return what gives tasks to ranks, once these are ready: those of `comm`, or of a new job."""
    if comm is None and settings.max_workers is not None:
        _check_room(settings.max_workers)
        start = function_bytes((settings.initializer, settings.initargs))
        return StartedJob(settings.max_workers, settings.of_core, start)
    runner = TaskRunner()
    initialize(comm, settings, runner.names)
    core = _core.TaskPool(handle_of(comm), runner.run, *settings.of_core)
    return cast("TaskCore", core)


def _check_room(workers: int) -> None:
    """Refuse a number that can only be meant otherwise: a process each, it fills the memory."""
    cores = len(os.sched_getaffinity(0))
    if workers > _WORKERS_OF_A_CORE * cores:
        raise _core.InvalidArgument(
            f"max_workers is out of range: got {workers}; allowed: 1 to "
            f"{_WORKERS_OF_A_CORE * cores}, {_WORKERS_OF_A_CORE} for each core that this process "
            "may use. Each worker is a process; a pool has as many tasks as you like"
        )


def _setting_up(comm: Communicator) -> Together:
    """Return the ranks that make a pool; they are about to duplicate their communicator."""
    return Together(comm, setting_up=True)


def _sharing(
    names: MainNames, comm: Communicator | None, initializer: Callable[..., object]
) -> Callable[..., object]:
    """Return the initializer as a function that shares its names with tasks; collective.

    That is a copy of a function of the main program: as the lead writes it, because values that are
    the same in two processes may be written otherwise. Where that is no copy of this rank's, or
    cannot be written, and of other callables, it is what the caller gave.
    """
    written = None
    if is_of_main(initializer) and initializer.__closure__ is None:
        try:
            written = function_bytes(initializer)
        except Exception:  # the names that it uses have values that only stay where they are
            written = None
    told = written if comm is None else _setting_up(comm).of_first(written)
    for one in (told, written) if written is not None else ():
        if one is not None:
            with names.in_use():
                made = pickle.loads(one)
            if made.__code__ == initializer.__code__:
                return made
    return initializer
