# SPDX-License-Identifier: Apache-2.0
"""Opening: series, which are the steps of one name that another job writes or reads, and files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

from . import _core
from .arguments import (
    check_options,
    to_choice,
    to_float,
    to_index,
    to_int,
    to_path,
    to_text,
)
from .messages import shown
from .reading import ReadSeries
from .writing import WriteSeries

if TYPE_CHECKING:
    from .files import File, Path, Raw

_SUFFIXES = ("nc", "nc3", "nc4", "cdf", "h5", "hdf5", "he5")
Full = Literal["block", "discard-newest", "discard-oldest"]


@overload
def open(
    name: str,
    mode: Literal["w"],
    comm: Any = None,
    *,
    queue_steps: int = 4,
    queue_bytes: int | str | None = None,
    full: Full = "block",
    readers: int = 1,
    directory: str | os.PathLike[str] | None = None,
    rendezvous_timeout: float = 60.0,
    step_timeout: float = 300.0,
    stall_timeout: float = 10.0,
    on_stalled_reader: Literal["evict", "wait"] = "evict",
) -> WriteSeries: ...
@overload
def open(
    name: str,
    mode: Literal["r"] = "r",
    comm: Any = None,
    *,
    start: Literal["oldest", "next"] = "oldest",
    directory: str | os.PathLike[str] | None = None,
    rendezvous_timeout: float = 60.0,
    step_timeout: float = 300.0,
    stall_timeout: float = 10.0,
) -> Any: ...  # a ReadSeries, or a File where one has this name: types cannot tell
@overload
def open(
    name: os.PathLike[str] | Sequence[Path],
    *,
    comm: Any = None,
    raw: Raw | None = None,
    decode: bool = True,
) -> File: ...
def open(
    name: Any, mode: str = "r", comm: Any = None, **options: Any
) -> WriteSeries | ReadSeries | File:
    """Open the stream `name` for writing ("w") or reading ("r"), or files.

    Streams: collective over `comm`. Writer and reader are different jobs on one host, launched
    separately, of any sizes. Whichever comes first waits for the other.

    Files: a path that exists, a pattern such as ``"t_*.nc"``, a list of paths (several files as
    one, joined along the record dimension), or any path with the suffix of a file format. Local;
    reductions of them are collective over `comm`, unless they are given another.

    Parameters
    ----------
    name
        Of a stream: 1 to 128 letters, digits, ".", "_" or "-", the same for both jobs. Of files:
        see above.
    mode
        "w" or "r".
    comm
        An mpi4py communicator, which is duplicated; None for a serial program.
    directory
        Of the contact file (mode 0600) by which jobs find and trust each other; None:
        FLUVIAL_DIRECTORY, XDG_RUNTIME_DIR or the working directory, the first that is set. Only
        this user may write to it, or it is sticky like /tmp.
    rendezvous_timeout
        Seconds to wait for the other job.
    step_timeout
        Seconds that a writer waits for room, a reader for a step.
    stall_timeout
        Seconds without a heartbeat after which a process counts as stopped.
    queue_steps
        Writer: steps in the queue at most, the one being written included.
    queue_bytes
        Writer: bytes in the queue at most, over all ranks, e.g. "2 GiB"; None: a quarter of the
        host's memory.
    full
        Writer: what happens to a step that finds the queue full: the writer waits ("block"), the
        new step is given up ("discard-newest"), or the oldest that no reader has begun
        ("discard-oldest").
    readers
        Writer: reader jobs to wait for; 0 to start at once.
    on_stalled_reader
        Writer: "evict" takes a stopped reader out of the queue, "wait" waits for it.
    start
        Reader: begin with the "oldest" step still queued, or with the "next" to be completed.
    raw
        Files: layout of raw binary ones, a dict with dtype, shape and more (`files.open_files`).
    decode
        Files: whether attributes mean what the CF conventions say of them.

    Returns
    -------
    A `WriteSeries`, a `ReadSeries` or a `File`, all context managers.

    Raises
    ------
    InvalidArgument
        An option is wrong, ranks differ in theirs, or another writer has the name. On every rank,
        as all others.
    TimedOut
        The other job did not come within `rendezvous_timeout`.
    StaleContact
        Reader: the writer of the contact file is dead.
    Refused
        Wrong key, another user's stream, or a directory that others may write to.
    DamagedFile, SystemError
        Files: they cannot be read.

    Examples
    --------
    >>> with fl.open("melt", "w", queue_steps=2) as series:               # doctest: +SKIP
    ...     with series.step(time=0.5) as step:
    ...         step.put("particles/atoms/position/x", x)
    >>> with fl.open("melt") as series:                                   # doctest: +SKIP
    ...     for step in series:
    ...         print(step.time, step["particles/atoms/position/x"].reduce("mean"))
    >>> with fl.open("t_*.nc") as file:                                   # doctest: +SKIP
    ...     print(file["temperature"].reduce("mean", over="time"))
    """
    if mode == "r" and _names_files(name, options):
        return _open_files(name, comm, options)
    return _open_stream(name, mode, comm, options)


def _names_files(name: Any, options: dict[str, Any]) -> bool:
    """Tell whether files are meant: they exist, or could be nothing else."""
    if not isinstance(name, str) or "raw" in options or "decode" in options:
        return isinstance(name, str | os.PathLike | list | tuple)
    if options:
        return False  # of a stream
    suffix = name.rpartition(".")[2].lower()
    return os.path.isfile(name) or "/" in name or glob.has_magic(name) or suffix in _SUFFIXES


def _open_files(name: Any, comm: Any, options: dict[str, Any]) -> File:
    check_options(options, ("raw", "decode"), "for files")
    try:
        from .files import open_files
    except ImportError as error:
        raise _core.InvalidArgument(
            f"files need a Python package that is not installed: got {error}; "
            "allowed: xarray, h5netcdf, cftime. Run: pip install 'fluvial[files]'"
        ) from error
    return open_files(name, comm=comm, **options)


def _open_stream(
    name: Any, mode: str, comm: Any, options: dict[str, Any]
) -> WriteSeries | ReadSeries:
    to_choice(mode, "mode", ("w", "r"))
    writes: dict[str, Any] = {
        "queue_steps": 4,
        "queue_bytes": None,
        "full": "block",
        "readers": 1,
        "on_stalled_reader": "evict",
    }
    mine = {**(writes if mode == "w" else {"start": "oldest"}), **_TIMES}
    check_options(options, {"directory", *mine}, f"for mode '{mode}'")
    directory = options.get("directory")
    options["directory"] = "" if directory is None else to_path(directory, "directory")
    for option, default in mine.items():
        options[option] = _typed(option, options.get(option, default), default)
    to_text(name, "the name of the stream")
    if mode == "w":
        return WriteSeries(name, comm, **options)
    return ReadSeries(name, comm, **options)


_TIMES = {"rendezvous_timeout": 60.0, "step_timeout": 300.0, "stall_timeout": 10.0}


def _typed(option: str, value: Any, default: Any) -> Any:
    """Return the value as the core takes it: seconds, a choice, a number of bytes or a count."""
    if option == "queue_bytes":
        return to_int(to_bytes(value), option)
    if isinstance(default, float):
        return to_float(value, option)
    if isinstance(default, str):
        return to_text(value, option)
    return to_int(value, option, -(2**31), 2**31 - 1)


def to_bytes(size: int | str | None, option: str = "queue_bytes") -> int:
    """Return a number of bytes from 1048576, "1 MiB", "2 GB"; None is 0.

    >>> to_bytes("1.5 KiB")
    1536
    """
    if size is None:
        return 0
    if isinstance(size, str):
        units = {"B": 1}
        for power, letter in enumerate("KMGT", start=1):
            units[f"{letter}iB"] = 1024**power
            units[f"{letter}B"] = 1000**power
        number = size.rstrip("iBKMGT").strip()
        unit = size[len(size.rstrip("iBKMGT")) :] or "B"
        try:
            return int(float(number) * units[unit])
        except (ValueError, KeyError, OverflowError):
            raise _core.InvalidArgument(
                f"{option}: cannot read a number of bytes: got {shown(size)}; "
                "allowed: a number with B, KiB, MiB, GiB, KB, MB …"
            ) from None
    return to_int(to_index(size, option, "an int, or a str like '2 GiB'"), option)
