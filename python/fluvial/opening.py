# SPDX-License-Identifier: Apache-2.0
"""Opening: series, which are the steps of one name that another job writes or reads, and files."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from ._core import InvalidArgument
from .base.arguments import check_options, to_choice, to_path
from .base.messages import shown
from .mpi.communicator import Communicator
from .stage.open_series import OPTIONS_OF_READERS, OPTIONS_OF_WRITERS, open_series
from .stage.reader import ReadSeries, ReadStep
from .stage.writer import WriteSeries

if TYPE_CHECKING:
    from .scan.file import File, Path, Raw
    from .scan.file_series import FileSeries
    from .scan.step_dataset import StepViews
    from .stage.file_writer import FileWriteSeries

_SUFFIXES = ("nc", "nc3", "nc4", "cdf", "h5", "hdf5", "he5")
_WRITABLE = ("h5", "hdf5", "he5")
_OF_OTHERS = {"bp": "ADIOS2", "zarr": "Zarr", "sst": "ADIOS2"}
"""Suffixes of what Fluvial cannot read, by whose they are."""
_ENGINES = ("stage", "hdf5", "netcdf", "raw")
_FILE_OPTIONS = {"raw", "decode", "isolated"}
Engine = Literal["stage", "hdf5", "netcdf", "raw"]
Full = Literal[
    "block",
    "discard-newest",
    "discard-oldest",
    "spill",
    "spill,block",
    "spill,discard-newest",
    "spill,discard-oldest",
    "block,discard-newest",
]


@overload
def open(
    name: str,
    mode: Literal["w"],
    comm: Communicator | None = None,
    *,
    engine: Engine | None = None,
    queue_steps: int = 4,
    queue_bytes: int | str | None = None,
    full: Full = "block",
    spill: str | os.PathLike[str] | None = None,
    spill_bytes: int | str | None = None,
    retain: bool | str | os.PathLike[str] | None = None,
    steps_to: Literal["all", "round-robin", "on-demand"] = "all",
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
    engine: Engine | None = None,
    start: Literal["oldest", "next", "first", "observe"] = "oldest",
    resume: str | None = None,
    retained: str | os.PathLike[str] | None = None,
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
    engine: Engine | None = None,
    raw: Raw | None = None,
    decode: bool = True,
    isolated: bool = False,
) -> File | FileSeries: ...
def open(
    name: object,
    mode: str = "r",
    comm: Communicator | None = None,
    *,
    engine: str | None = None,
    **options: Any,
) -> WriteSeries | FileWriteSeries | ReadSeries | File | FileSeries:
    """Open the stream `name`, or files, for writing ("w") or reading ("r").

    The same program writes or reads either: which it is depends on the name, on `engine`, or on the
    environment variable FLUVIAL_ENGINE.

    Streams: collective over `comm`. Writer and reader are different jobs on one host, launched
    separately, of any sizes. Whichever comes first waits for the other.

    Files: a path that exists, a pattern such as ``"t_*.nc"``, a list of paths (several files as
    one, joined along the record dimension), ``"data%T.h5"`` or ``"data%06T.h5"`` (a file for each
    step), or any path with the suffix of a file format. Their steps are the iterations of openPMD,
    the records of an axis of time, or else one step with all that there is. Local; reductions of
    them are collective over `comm`, unless they are given another.

    Files for writing, "run.h5" or "data%T.h5": openPMD 1.1 in HDF5, by all ranks of `comm` at once;
    needs h5py. A file that is there is overwritten, numbered ones are refused. Steps end on all
    ranks together, and a numbered file gets its name when its step is complete.

    Parameters
    ----------
    name
        Of a stream: 1 to 128 letters, digits, ".", "_" or "-", the same for both jobs. Of files:
        see above.
    mode
        "w" or "r".
    comm
        An mpi4py communicator, which is duplicated; None for a serial program.
    engine
        "stage" for streams; "hdf5", "netcdf" or "raw" for files of this format. None: as
        FLUVIAL_ENGINE says, or else the name.
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
        ("discard-oldest"), or the new step goes to a disk, from where readers get it in its turn
        ("spill"). What happens when that is full, too, follows a comma: "spill,block" (as "spill"
        alone) waits until readers have made room, "spill,discard-newest" and
        "spill,discard-oldest" give a step up.
    spill
        Writer: a folder on a local disk for such steps; None: FLUVIAL_SPILL, TMPDIR or /var/tmp.
        The files have no names, and vanish with the processes.
    spill_bytes
        Writer: bytes of such steps on the disk at most, e.g. "100 GiB"; None: all that it has.
    retain
        Writer: a folder in which all steps stay, as NAME.steps, also when the jobs have ended;
        True: `directory`. Readers may come late or again, and begin with the first step (`start`)
        or where they were (`resume`). Needs a `full` that discards nothing but on a full disk.
    steps_to
        Writer: which reading jobs get a step: "all" of them, the next in turn ("round-robin"), or
        the first that asks for one ("on-demand"). What a job that dies had got goes to the others.
    readers
        Writer: reader jobs to wait for; 0 to start at once.
    on_stalled_reader
        Writer: "evict" takes a stopped reader out of the queue, "wait" waits for it.
    start
        Reader: begin with the "oldest" step still queued, with the "next" to be completed, or with
        the "first" of all, of a stream that is retained; or "observe": look on. Each call of `next`
        then gives the newest complete step in memory, no step is kept for this reader, and the
        writer neither waits for it nor counts it among `readers`. One process alone. Options of
        streams have no effect on files.
    resume
        Reader: a name under which a retained stream remembers how far this job has come. The job
        goes on there, after the last step that all of its ranks had finished, when it is started
        again, however it ended and with any number of ranks; also when the writer has ended.
    retained
        Reader: the writer's `retain`; None: `directory`. Opened without a living writer, the stream
        is read from there.
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
    A `WriteSeries`, `FileWriteSeries`, `ReadSeries`, `File` or `FileSeries`, all context managers.

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
    chosen = _engine(engine)
    if chosen == "stage" or (chosen is None and not _names_files(name, mode, options)):
        return open_series(cast(str, name), mode, comm, options, _views_of)
    if mode == "w":
        return _write_files(name, comm, engine, chosen, options)
    return _open_files(cast(Any, name), mode, comm, chosen, options)


def _engine(engine: object) -> str | None:
    """Return the engine that is asked for, here or by the environment."""
    if engine is not None:
        return to_choice(engine, "engine", _ENGINES)
    said = os.environ.get("FLUVIAL_ENGINE")
    return None if not said else to_choice(said, "FLUVIAL_ENGINE", _ENGINES)


def _write_files(
    name: object,
    comm: Communicator | None,
    engine: str | None,
    chosen: str | None,
    options: dict[str, Any],
) -> FileWriteSeries:
    check_options(options, OPTIONS_OF_WRITERS, "for mode 'w'")
    path = to_path(cast(Any, name), "the path of a file")
    suffix = path.rpartition(".")[2].lower()
    if (chosen or "hdf5") != "hdf5" or (chosen is None and suffix not in _WRITABLE):
        raise InvalidArgument(
            f"files of this kind cannot be written: got {shown(path)}{_said_of(engine, chosen)}; "
            "allowed: HDF5, by the suffix .h5 or engine='hdf5', and streams, whose names have no "
            "suffix of a file format. Give engine='stage' for a stream of this name"
        )
    try:
        from .stage.file_writer import FileWriteSeries
    except ImportError as error:
        raise InvalidArgument(
            f"to write files needs a Python package that is not installed: got {error}; allowed: "
            "h5py. Run: pip install 'fluvial[files]'"
        ) from error
    return FileWriteSeries(path, comm, options.get("step_timeout", 300.0))


def _said_of(engine: object, chosen: str | None) -> str:
    if chosen is None:
        return ""
    return f" with engine {chosen!r}" + (" (of FLUVIAL_ENGINE)" if engine is None else "")


def _views_of(step: ReadStep) -> StepViews | None:
    """Return the datasets of a step by name and coordinate; None without xarray."""
    try:
        from .scan.step_dataset import StepViews  # which imports xarray, as little as can be
    except ImportError:
        return None
    return StepViews(step)


def names_files(name: str) -> bool:
    """Tell whether `open` takes this name for files to read, and not for a stream."""
    chosen = _engine(None)
    return chosen != "stage" and (chosen is not None or _names_files(name, "r", {}))


def _names_files(name: object, mode: str, options: dict[str, Any]) -> bool:
    """Tell whether files are meant: they exist, or could be nothing else."""
    if not isinstance(name, str) or not _FILE_OPTIONS.isdisjoint(options):
        return isinstance(name, str | os.PathLike | list | tuple)
    suffix = name.rpartition(".")[2].lower() if "." in name else ""
    if suffix in _SUFFIXES or suffix in _OF_OTHERS or "/" in name or "%" in name:
        return True
    return mode == "r" and (os.path.isfile(name) or glob.has_magic(name))


def _open_files(
    name: Path | Sequence[Path],
    mode: str,
    comm: Communicator | None,
    engine: str | None,
    options: dict[str, Any],
) -> File | FileSeries:
    to_choice(mode, "mode", ("r",))
    check_options(options, _FILE_OPTIONS | OPTIONS_OF_READERS, "for files")
    said = {key: value for key, value in options.items() if key in _FILE_OPTIONS}
    _refuse_formats_of_others(name)
    if engine == "raw" and "raw" not in said:
        raise InvalidArgument(
            f"engine 'raw' needs the layout of the file: got {shown(name)} alone; allowed: "
            "raw={'dtype': 'f8', 'shape': (100, 200)}, for example"
        )
    try:
        from .scan.file import open_files
        from .scan.file_series import open_numbered
        from .store.numbered_files import has_number
    except ImportError as error:
        raise InvalidArgument(
            f"files need a Python package that is not installed: got {error}; "
            "allowed: xarray, h5netcdf, cftime. Run: pip install 'fluvial[files]'"
        ) from error
    files: File | FileSeries
    if isinstance(name, os.PathLike):
        name = to_path(name, "the path of a file")
    if isinstance(name, str) and has_number(name) and not os.path.exists(name):
        if "raw" in said:
            raise InvalidArgument(
                f"raw does not go with numbered files: got {shown(name)}; allowed: a pattern with "
                "*, which joins files, or one file"
            )
        files = open_numbered(name, comm=comm, **said)
    else:
        files = open_files(name, comm=comm, **said)
    if engine is not None:
        _check_engine(engine, files)
    return files


def _refuse_formats_of_others(name: object) -> None:
    suffix = name.rpartition(".")[2].lower() if isinstance(name, str) else ""
    if suffix in _OF_OTHERS:
        raise InvalidArgument(
            f"no engine reads files of {_OF_OTHERS[suffix]}: got {shown(name)}; allowed: HDF5, "
            "netCDF, raw numbers, streams. Convert it, or give engine='stage' for a stream"
        )
    if isinstance(name, str) and os.path.isdir(name):
        raise InvalidArgument(
            f"a folder is no series: got {shown(name)}; allowed: a file, a pattern of files such "
            f"as {os.path.join(name, '*.nc')!r}, or a stream, by engine='stage'"
        )


def _check_engine(engine: str, files: File | FileSeries) -> None:
    """Refuse files of another format than is asked for."""
    formats = {"hdf5": ("HDF5", "netCDF-4"), "netcdf": ("netCDF",), "raw": ("raw",)}[engine]
    if not files.format.startswith(formats):
        found, path = files.format, files.paths[0]
        files.close()
        raise InvalidArgument(
            f"'{path}' is of another format than engine {engine!r} reads: got {found}; allowed: "
            f"{' or '.join(formats)}. Leave engine out, or name the one that fits"
        )
