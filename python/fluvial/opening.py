# SPDX-License-Identifier: Apache-2.0
"""Opening: series, which are the steps of one name that another job writes or reads, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from .base.messages import shown
from .describe.engines import READ_OPTIONS
from .mpi.communicator import Communicator, check_communicator
from .mpi.together import Together
from .opening_choice import Choice, Said, choose
from .opening_files import read_files, write_files
from .stage.open_series import open_series
from .stage.reader import ReadSeries, ReadStep
from .stage.writer import WriteSeries

if TYPE_CHECKING:
    from .scan.file import File, Path, Raw
    from .scan.file_series import FileSeries
    from .scan.followed_series import FollowedSeries
    from .scan.step_dataset import StepViews
    from .stage.file_writer import FileWriteSeries

FileEngine = Literal["hdf5", "netcdf", "netcdf4", "zarr", "bp", "raw"]
Engine = Literal["stage"] | FileEngine
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
FullOfReader = Literal["block", "discard-newest", "discard-oldest", "spill"]
_AGREEMENT_S = 300.0  # that a rank waits for the others, unless step_timeout says otherwise


@overload
def open(
    name: str,
    mode: Literal["w"],
    comm: Communicator | None = None,
    *,
    engine: Engine | None = None,
    options: Said | None = None,
    queue_steps: int = 4,
    reserve: int = 0,
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
    network: str | None = None,
    ports: str | None = None,
    encrypt: bool = False,
    zarr_format: Literal[2, 3] = 3,
    compression: str | None = None,
    file_per: Literal["job", "host"] = "job",
    aggregators: int | None = None,
) -> WriteSeries: ...  # or a FileWriteSeries, which takes the same calls: types cannot tell
@overload
def open(
    name: os.PathLike[str],
    mode: Literal["w"],
    comm: Communicator | None = None,
    *,
    engine: FileEngine | None = None,
    options: Said | None = None,
    zarr_format: Literal[2, 3] = 3,
    compression: str | None = None,
    file_per: Literal["job", "host"] = "job",
    aggregators: int | None = None,
    step_timeout: float = 300.0,
    stall_timeout: float = 10.0,
) -> FileWriteSeries: ...
@overload
def open(
    name: str,
    mode: Literal["r"] = "r",
    comm: Communicator | None = None,
    *,
    engine: Literal["stage"],
    options: Said | None = None,
    start: Literal["oldest", "next", "first", "observe"] = "oldest",
    full: FullOfReader | None = None,
    resume: str | None = None,
    retained: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    rendezvous_timeout: float = 60.0,
    step_timeout: float = 300.0,
    stall_timeout: float = 10.0,
    transport: str | None = None,
    interfaces: str | None = None,
    fetch: Literal["once", "each"] | None = None,
    contact: str | None = None,
    follow: bool = False,
) -> ReadSeries: ...
@overload
def open(
    name: str,
    mode: Literal["r"] = "r",
    comm: Communicator | None = None,
    *,
    engine: Engine | None = None,
    options: Said | None = None,
    start: Literal["oldest", "next", "first", "observe"] = "oldest",
    full: FullOfReader | None = None,
    resume: str | None = None,
    retained: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    rendezvous_timeout: float = 60.0,
    step_timeout: float = 300.0,
    stall_timeout: float = 10.0,
    transport: str | None = None,
    interfaces: str | None = None,
    fetch: Literal["once", "each"] | None = None,
    contact: str | None = None,
    follow: bool | str | os.PathLike[str] = False,
    raw: Raw | None = None,
    decode: bool = True,
    isolated: bool = False,
) -> Any: ...  # a ReadSeries, or a File where one has this name: types cannot tell
@overload
def open(
    name: Sequence[Path],
    mode: Literal["r"] = "r",
    comm: Communicator | None = None,
    *,
    engine: FileEngine | None = None,
    options: Said | None = None,
    raw: Raw | None = None,
    decode: bool = True,
    isolated: bool = False,
) -> File: ...
@overload
def open(
    name: os.PathLike[str],
    mode: Literal["r"] = "r",
    comm: Communicator | None = None,
    *,
    follow: Literal[True] | str | os.PathLike[str],
    engine: FileEngine | None = None,
    options: Said | None = None,
    rendezvous_timeout: float = 60.0,
    step_timeout: float = 300.0,
    decode: bool = True,
    isolated: bool = False,
) -> FollowedSeries: ...
@overload
def open(
    name: os.PathLike[str],
    mode: Literal["r"] = "r",
    comm: Communicator | None = None,
    *,
    engine: FileEngine | None = None,
    options: Said | None = None,
    raw: Raw | None = None,
    decode: bool = True,
    isolated: bool = False,
) -> Any: ...  # a File, or a FileSeries where the name stands for a file a step
def open(
    name: object,
    mode: str = "r",
    comm: Communicator | None = None,
    *,
    engine: str | None = None,
    options: Said | None = None,
    **given: object,
) -> WriteSeries | FileWriteSeries | ReadSeries | File | FileSeries | FollowedSeries:
    """Open the stream `name`, or files, for writing ("w") or reading ("r").

    The same program writes or reads either: which it is depends on the name, on `engine`, on
    `options`, or on the environment variables FLUVIAL_OPTIONS and FLUVIAL_ENGINE. With `comm`, all
    ranks open together, and agree on it.

    Streams: collective over `comm`. Writer and reader are different jobs, launched separately, of
    any sizes, on any hosts. Whichever comes first waits for the other. Readers share memory with
    the writer's ranks where they can, and else connect to them.

    Files: a path that exists, a pattern such as ``"t_*.nc"``, a list of paths (several files as
    one, joined along the record dimension), ``"data%T.h5"`` or ``"data%06T.h5"`` (a file for each
    step), or any path with the suffix of a file format. Their steps are the iterations of openPMD,
    the records of an axis of time, or else one step with all that there is. Reductions of them are
    collective over `comm`, unless they are given another. Opening is local without `comm`.

    Files for writing, by all ranks of `comm` at once: "run.h5" or "data%T.h5" are openPMD 1.1 in
    HDF5 (needs h5py), "run.nc" or "data%T.nc" labelled arrays in netCDF, a record for each step,
    "run.zarr" the same in Zarr (needs zarr), and "run.bp" openPMD in ADIOS2's BP (needs adios2;
    one rank writes for all). A file that is there is overwritten, numbered ones are refused. Steps
    end on all ranks together, and a numbered file gets its name when its step is complete.

    Parameters
    ----------
    name
        Of a stream: 1 to 128 letters, digits, ".", "_" or "-", the same for both jobs; or, for
        readers, "fluvial://HOST:PORT/NAME". Of files: see above.
    mode
        "w" or "r".
    comm
        An mpi4py communicator, which is duplicated; None for a serial program.
    engine
        "stage" for streams; "hdf5", "netcdf", "netcdf4", "zarr", "bp" or "raw" for files. None: as
        `options` or FLUVIAL_ENGINE say, or else the name.
    options
        A file of TOML or JSON, text of either, or a dict, with `engine` and any of the options
        below for all series, and in a table ``[series.NAME]`` for the one that this call names, of
        which `path` is what is opened in its place. What the call says itself holds before it;
        options of the other mode have no effect. None: as FLUVIAL_OPTIONS says.
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
    reserve
        Writer: of these, as many of the newest complete ones stay for readers that come late, also
        when others have read them, and give way when there is no room; fewer than `queue_steps`.
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

        Reader: what happens to this reader's steps when the queue is full because of it; None: as
        the writer says. "discard-oldest" loses the oldest ones that it has not begun,
        "discard-newest" those that come while it has older ones before it, and "spill" reads them
        from the disk of a stream that is retained: writer and other readers notice nothing of it.
    spill
        Writer: a folder on a local disk for such steps; None: FLUVIAL_SPILL, TMPDIR or /var/tmp.
        The files have no names, and vanish with the processes.
    spill_bytes
        Writer: bytes of such steps on the disk at most, e.g. "100 GiB"; None: all that it has. Not
        with `retain`, of which all steps stay.
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
    network
        Writer: where readers on other hosts may connect: "auto" for every interface, "off", or
        the name, address or network of interfaces ("eth0", "10.77.0.0/16", several separated by
        commas); None: FLUVIAL_NETWORK or "auto". A reader that connects proves that it
        can read the contact file, which must lie in a folder that the hosts share.
    ports
        Writer: "40000-40100", those that a firewall lets through, or "40000", at which readers find
        it as fluvial://HOST:40000/NAME; None: FLUVIAL_PORTS, or any.
    encrypt
        Writer: data is encrypted on its way to other hosts. What is said about it always is.
    transport
        Reader: "tcp" connects to the writer also where memory could be shared; "libfabric", or
        "libfabric:PROVIDER" as in "libfabric:verbs;ofi_rxm", reads by that library and is an error
        where it does not work; None: FLUVIAL_TRANSPORT or "auto".
    interfaces
        Reader: by which of this host's interfaces a writer on another host is reached: "auto", data
        over several at a time where several networks join the two hosts and that is faster; "one",
        over one at a time; or as for `network`, over these alone and all of them; None:
        FLUVIAL_INTERFACES or "auto".
    fetch
        Reader: what several ranks on one host want of the same data of a step comes from another
        host "once", for all of them, or for "each" by itself; None: FLUVIAL_FETCH or "once".
    contact
        Reader: what the writer's `contact` says, where the contact file cannot be seen. It holds
        the key: pass it on as you would a password. Or "HOST:PORT", where the writer gives it to
        readers that have its key, in the file of FLUVIAL_KEY.
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
    follow
        Files for reading: they are still being written, or will be. Iterating waits for the next
        step, for at most `step_timeout` (for the first one, `rendezvous_timeout`), until the writer
        has closed them; PeerLost when it was killed. Files that Fluvial writes say so by a small
        file beside them, NAME.writing. For files of other programs give the path of a file that is
        made when no step will come. So for a pattern, "t_*.nc", whose files are joined as they
        appear: another one may always come. Streams are always followed.
    zarr_format
        Files of Zarr for writing: 2 or 3, which is the default.
    compression
        Files of HDF5 for writing: "gzip", or "gzip:1" to "gzip:9", of shuffled chunks that each
        rank compresses itself; of Zarr: "gzip", "zstd", "blosc", each with a level or without; or
        "none". None: HDF5 as it is, Zarr as its library does.
    file_per
        Files of HDF5 for writing: "job", one for all ranks; or "host": the ranks of each host write
        into one of their own, NAME.host0 and so on, beside NAME, which joins them and is what
        programs open.
    aggregators
        Files of HDF5 and netCDF (CDF-5) for writing: how many ranks write what is not compressed,
        each as much as the others, which send them what they have. 0: each rank writes its own
        parts. None: the same, but for datasets whose parts are many small pieces of the file.
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
    A `WriteSeries`, `FileWriteSeries`, `ReadSeries`, `File`, `FileSeries` or `FollowedSeries`, all
    context managers.

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
    if comm is not None:
        check_communicator(comm)
    chosen = _together(name, comm, given).alike(
        "what to open", lambda: choose(name, mode, engine, options, given), Choice.told
    )
    if not chosen.files:
        told = chosen.options
        if mode == "r":  # streams are always followed
            told = {key: value for key, value in told.items() if key not in READ_OPTIONS}
        return open_series(cast(str, chosen.name), mode, comm, told, _views_of)
    if mode == "w":
        return write_files(chosen, comm)
    name = cast("Path | Sequence[Path]", chosen.name)
    return read_files(name, comm, chosen.engine, chosen.options)


def _together(name: object, comm: Communicator | None, given: Mapping[str, object]) -> Together:
    said = given.get("step_timeout")
    timeout = float(said) if isinstance(said, int | float) and said > 0 else _AGREEMENT_S
    return Together(comm, timeout, f"open {shown(name)}", setting_up=True)


def _views_of(step: ReadStep) -> StepViews | None:
    """Return the datasets of a step by name and coordinate; None without xarray."""
    try:
        from .scan.step_dataset import StepViews  # which imports xarray, as little as can be
    except ImportError:
        return None
    return StepViews(step)


def names_files(name: str, mode: Literal["r", "w"] = "r") -> bool:
    """Tell whether `open` takes this name for files, and not for a stream."""
    return choose(name, mode, None, None, {}).files
