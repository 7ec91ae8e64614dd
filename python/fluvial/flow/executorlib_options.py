# SPDX-License-Identifier: Apache-2.0
"""The ``resource_dict`` of executorlib's executors, as options of a task."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar, cast

from .. import _core
from ..base.arguments import (
    to_bool,
    to_float,
    to_int,
    to_mapping,
    to_path,
    to_seconds,
    unknown_name,
)
from ..base.messages import shown
from .interrupting import calls_users
from .options import OptionChanges
from .parallel import PARALLEL, is_parallel

R = TypeVar("R")
NAME = "resource_dict"
_ELSEWHERE = {
    "threads_per_core": (1, "Ranks share cores as they were started: set OMP_NUM_THREADS there"),
    "num_nodes": (1, "`exclusive` and `resources` keep a task on one host"),
    "restart_limit": (0, "Give the option retries to with_options"),
    "openmpi_oversubscribe": (False, "Give the launcher's option to mpiexec, or to fluvial run"),
    "slurm_cmd_args": ([], "Give them to srun, which starts the ranks"),
    "pmi_mode": (None, "Give it to srun, which starts the ranks"),
    "error_log_file": (None, "The future raises the error, with the traceback of its rank"),
}
"""Keys that say how processes are started: the value that means nothing, and what to do instead."""
_KNOWN = (
    "cores", "gpus_per_core", "cwd", "priority", "run_time_limit", "exclusive", "cache_key",
    *_ELSEWHERE,
)  # fmt: skip


def takes_resource_dict(function: object) -> bool:
    """Tell whether the function has a parameter of this name, whose argument then is its own."""
    try:
        return NAME in inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False


def options_of(resource_dict: object) -> tuple[OptionChanges, str | None]:
    """Return the options of a task that it stands for, and the folder in which the task runs.

    Raises
    ------
    UnknownName, InvalidArgument, WrongType
        For a key that executorlib has not, and for a value that ranks which run already cannot
        give.
    """
    mapping = cast(Mapping[str, object], resource_dict)
    given = to_mapping(mapping, NAME, "a dict, as in {'cores': 2}")
    for key, value in given.items():
        if key not in _KNOWN:
            raise unknown_name(f"{NAME} has no such key", str(key), _KNOWN)
        if key in _ELSEWHERE and value is not None and value != _ELSEWHERE[key][0]:
            nothing, remedy = _ELSEWHERE[key]
            raise _core.InvalidArgument(
                f"{_named(key)} says how processes are started, and those of a pool run "
                f"already: got {shown(value)}; allowed: {nothing!r}. {remedy}"
            )
    options: OptionChanges = {}
    cores = to_int(given.get("cores", 1), _named("cores"), 1)
    if "cores" in given:
        options["ranks"] = cores
    if gpus := to_int(given.get("gpus_per_core", 0), _named("gpus_per_core"), 0):
        options["resources"] = {"gpu": gpus * cores}
    if (priority := given.get("priority")) is not None:
        options["priority"] = to_float(priority, _named("priority"))
    if (limit := given.get("run_time_limit")) is not None:
        options["timeout"] = to_seconds(limit, _named("run_time_limit"))
    if "exclusive" in given:
        options["exclusive"] = to_bool(given["exclusive"], _named("exclusive"))
    if (cache_key := given.get("cache_key")) is not None:
        options["key"] = cast("str | Callable[..., str]", cache_key)
    folder = given.get("cwd")
    return options, None if folder is None else os.path.abspath(to_path(folder, _named("cwd")))


def _named(key: str) -> str:
    return f"{NAME}[{key!r}]"


class InFolder(Generic[R]):
    """Calls a function in a folder."""

    def __init__(self, function: Callable[..., R], folder: str) -> None:
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._folder = folder
        setattr(self, PARALLEL, is_parallel(function))

    @calls_users
    def __call__(self, *arguments: object, **keywords: object) -> R:
        """Call it; the process is back in its own folder afterwards."""
        if threading.current_thread() is not threading.main_thread():
            raise _core.InvalidArgument(
                f"{_named('cwd')} would change the folder of the program, whose process runs the "
                f"task: got {self._folder!r}; allowed: None where the lead works. Start other "
                "ranks (fluvial.Pool(1)), or name files by whole paths"
            )
        before = os.getcwd()
        try:
            os.chdir(self._folder)
            return self._function(*arguments, **keywords)
        finally:
            os.chdir(before)
