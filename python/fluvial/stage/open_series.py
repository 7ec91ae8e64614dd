# SPDX-License-Identifier: Apache-2.0
"""Opening a series by its name, for writing or for reading."""

from __future__ import annotations

import os
from collections.abc import Callable

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import check_options, to_choice, to_float, to_int, to_path, to_text
from ..base.byte_count import to_bytes
from ..describe.engines import Options
from ..mpi.communicator import Communicator, handle_of
from .reader import ReadSeries, ReadStep
from .step_views import Views
from .writer import WriteSeries

_TIMES = {"rendezvous_timeout": 60.0, "step_timeout": 300.0, "stall_timeout": 10.0}
_WRITES: dict[str, object] = {
    "queue_steps": 4,
    "reserve": 0,
    "queue_bytes": None,
    "full": "block",
    "spill": "",
    "spill_bytes": None,
    "retain": "",
    "steps_to": "all",
    "readers": 1,
    "on_stalled_reader": "evict",
    "network": "",
    "ports": "",
    "encrypt": False,
}
_READS: dict[str, object] = {
    "start": "oldest",
    "full": "",
    "resume": "",
    "retained": "",
    "transport": "",
    "interfaces": "",
    "fetch": "",
    "contact": "",
}
_MAY_BE_NONE = (
    "full",
    "resume",
    "network",
    "ports",
    "transport",
    "interfaces",
    "fetch",
    "contact",
)
_NEVER_EMPTY = {
    "contact": "what the writer's property contact says, HOST:PORT, where it gives that, or None, "
    "which looks for the contact file",
    "resume": "a name under which is kept how far the job has come, or None",
    "retain": "a folder that exists, True for that of the contact file, or None",
}
_FOLDERS = ("spill", "retain", "retained")
OPTIONS_OF_WRITERS: set[str] = {"directory", *_TIMES, *_WRITES}
OPTIONS_OF_READERS: set[str] = {"directory", *_TIMES, *_READS}


def open_series(
    name: str,
    mode: str,
    comm: Communicator | None,
    options: Options,
    views: Callable[[ReadStep], Views | None],
) -> WriteSeries | ReadSeries:
    """Open the series `name` with the options of `fluvial.open`. Collective.

    `views` gives the datasets of a step by name and coordinate.
    """
    mine = {**(_WRITES if mode == "w" else _READS), **_TIMES}
    check_options(options, {"directory", *mine}, f"for mode '{mode}'")
    directory = options.get("directory")
    options["directory"] = "" if directory is None else to_path(directory, "directory")
    if options.get("retain") is True:
        options["retain"] = options["directory"] or _default_directory()
    for option, allowed in _NEVER_EMPTY.items():
        if options.get(option) == "":  # of a variable that is not set, say
            raise InvalidArgument(f"{option} is empty: got ''; allowed: {allowed}")
    for option, default in mine.items():
        options[option] = _typed(option, options.get(option, default), default)
    to_text(name, "the name of the stream")
    if mode == "w":
        return WriteSeries(name, comm, _core.Writer(name=name, comm=handle_of(comm), **options))
    core = _core.Reader(name=name, comm=handle_of(comm), **options)
    return ReadSeries(name, comm, core, views)


def _default_directory() -> str:
    """Return where contact files lie when the caller does not say; see `fluvial.open`."""
    said = (os.environ.get(name) for name in ("FLUVIAL_DIRECTORY", "XDG_RUNTIME_DIR"))
    return next((directory for directory in said if directory), ".")


def _typed(option: str, value: object, default: object) -> object:
    """Return the value as the core takes it: seconds, a choice, a number of bytes or a count."""
    if option in ("queue_bytes", "spill_bytes"):
        return to_int(to_bytes(value, option), option)
    if option in _FOLDERS:
        return "" if value is None or value is False or value == "" else to_path(value, option)
    if value is None and default == "" and option in _MAY_BE_NONE:
        return ""
    if isinstance(default, bool):
        return to_choice(value, option, (False, True))
    if isinstance(default, float):
        return to_float(value, option)
    if isinstance(default, str):
        return to_text(value, option)
    return to_int(value, option, -(2**31), 2**31 - 1)
