# SPDX-License-Identifier: Apache-2.0
"""Opening: series, which are the steps of one name that another job writes or reads, and files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from . import _core
from .base.arguments import check_options
from .mpi.communicator import Communicator
from .stage.open_series import open_series
from .stage.reader import ReadSeries, ReadStep
from .stage.writer import WriteSeries

if TYPE_CHECKING:
    from .scan.file import File, Path, Raw
    from .scan.step_dataset import StepViews

_SUFFIXES = ("nc", "nc3", "nc4", "cdf", "h5", "hdf5", "he5")
_FILE_OPTIONS = {"raw", "decode", "isolated"}
Full = Literal["block", "discard-newest", "discard-oldest"]


@overload
def open(
    name: str,
    mode: Literal["w"],
    comm: Communicator | None = None,
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
    comm: Communicator | None = None,
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
    comm: Communicator | None = None,
    raw: Raw | None = None,
    decode: bool = True,
    isolated: bool = False,
) -> File: ...
def open(
    name: object, mode: str = "r", comm: Communicator | None = None, **options: Any
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
        Files: layout of raw binary ones, a dict with dtype, shape and more: see
        `fluvial.scan.file.open_files`.
    decode
        Files: whether attributes mean what the CF conventions say of them.
    isolated
        Files: another process opens them first, so that one that ends it is an error here. For
        files of strangers; see the page on security.

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
        return _open_files(cast(Any, name), comm, options)
    return open_series(cast(str, name), mode, comm, options, _views_of)


def _views_of(step: ReadStep) -> StepViews | None:
    """Return the datasets of a step by name and coordinate; None without xarray."""
    try:
        from .scan.step_dataset import StepViews  # which imports xarray, as little as can be
    except ImportError:
        return None
    return StepViews(step)


def _names_files(name: object, options: dict[str, Any]) -> bool:
    """Tell whether files are meant: they exist, or could be nothing else."""
    if not isinstance(name, str) or not _FILE_OPTIONS.isdisjoint(options):
        return isinstance(name, str | os.PathLike | list | tuple)
    if options:
        return False  # of a stream
    suffix = name.rpartition(".")[2].lower()
    return os.path.isfile(name) or "/" in name or glob.has_magic(name) or suffix in _SUFFIXES


def _open_files(
    name: Path | Sequence[Path], comm: Communicator | None, options: dict[str, Any]
) -> File:
    check_options(options, _FILE_OPTIONS, "for files")
    try:
        from .scan.file import open_files
    except ImportError as error:
        raise _core.InvalidArgument(
            f"files need a Python package that is not installed: got {error}; "
            "allowed: xarray, h5netcdf, cftime. Run: pip install 'fluvial[files]'"
        ) from error
    return open_files(name, comm=comm, **options)
