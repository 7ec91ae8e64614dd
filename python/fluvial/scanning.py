# SPDX-License-Identifier: Apache-2.0
"""A reduction that runs while files are read: started, watched and waited for."""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypedDict

import numpy as np

from . import _core
from ._core import InvalidArgument
from .arguments import check_options, to_choice, to_int, wrong_type
from .communicator import handle_of, world
from .messages import shown
from .outcome import label
from .passes import Results, more_passes, refuse_repeats, repeats
from .scan_work import Work
from .series import to_bytes


class ScanOptions(TypedDict, total=False):
    """How a scan reads and who takes part; every key has a default.

    Parameters
    ----------
    comm
        An mpi4py communicator; None: MPI.COMM_WORLD in a program of several ranks.
    local
        Of this rank alone, without a communicator.
    mode
        "collective": all ranks together read everything once. "independent": each rank reads its
        own selection, without messages.
    shuffle
        Of a collective scan, what the ranks ask for. "common": all the same. "to-one": each its own
        selection (without steps), of which all together are one result. "to-all": each its own, and
        each gets its own result.
    threads
        Of this rank; 0: the cores it may use, shared between the ranks of the host.
    aggregators
        Ranks that read (MPI-IO's cb_nodes); 0: chosen.
    buffer
        Bytes of a read (cb_buffer_size), e.g. "4 MiB"; None: chosen.
    read_ahead
        Bytes asked of the system before they are needed.
    memory
        Of this rank, beside results, e.g. "256 MiB"; None: 64 MiB. Where chunks are large, fewer
        threads work at once.
    reproducible
        True: the same result to the bit in every run with the same numbers of ranks and threads and
        the same buffer. Ranks and threads then do not take over each other's work, which costs time
        where cores are not equally fast. Without it the last bit of sums, and of what is made of
        them, may differ.
    info
        An mpi4py Info or a dict with the hints cb_nodes, cb_buffer_size, fluvial_threads and
        fluvial_memory, whole numbers, and fluvial_reproducible, "true" or "false", for what the
        options above leave open.
    """

    comm: Any
    local: bool
    mode: str
    shuffle: str
    threads: int
    aggregators: int
    buffer: int | str | None
    read_ahead: int | str
    memory: int | str | None
    reproducible: bool
    info: Any


class PendingScan:
    """A reduction under way: it reads and computes on threads of its own.

    Examples
    --------
    >>> pending = t.start("mean", over="time")                            # doctest: +SKIP
    >>> while not pending.test():                                         # doctest: +SKIP
    ...     something_else()
    >>> mean = pending.wait()                                             # doctest: +SKIP
    """

    def __init__(
        self, scan: _core.Scan, work: Work, comm: Any, core_options: dict[str, Any]
    ) -> None:
        self._scan: _core.Scan | None = scan
        self._work = work
        self._comm = comm
        self._options = core_options
        self._result: Any = None
        self._error: BaseException | None = None
        self._waiting = threading.Lock()
        self._stats: dict[str, Any] = {}
        _under_way.add(self)
        scan.start()

    def test(self) -> bool:
        """Tell whether everything is read and computed, on all ranks. Local; does not block.

        Exact quantiles read again in `wait`.
        """
        if not self._waiting.acquire(blocking=False):
            return False  # another thread is in wait()
        try:
            return self._scan is None or self._scan.test()
        finally:
            self._waiting.release()

    @property
    def progress(self) -> float:
        """The share of its own work that this rank has done, 0 to 1."""
        scan = self._scan
        return 1.0 if scan is None else scan.progress

    @property
    def stats(self) -> dict[str, int | float]:
        """Bytes read, messages, seconds; of this rank, known after `wait`."""
        return self._stats

    def wait(self) -> Any:
        """Merge what all ranks have found, and return the result. Collective, blocking.

        A further call, also of another thread, returns (or raises) the same.

        Raises
        ------
        Error
            On every rank what went wrong on any: a DamagedFile, for example.
        """
        with self._waiting:
            if self._scan is not None:
                scan, self._scan = self._scan, None
                try:
                    groups, self._stats = scan.wait()
                    if any(map(repeats, self._work.operators.values())):
                        groups = [self._repeated(groups[0])]
                    work = _of_all_ranks(self._work, self._comm, self._options["shuffle"])
                    self._result = label(work, groups)
                except BaseException as error:
                    self._error = error
                    raise
            if self._error is not None:
                raise self._error
        return self._result

    def _repeated(self, first: Results) -> dict[str, Mapping[str, np.ndarray]]:
        """Scan again for operators that are not done. Collective, as the first time."""

        def again(operators: Mapping[str, Any]) -> Results:
            request = self._work.request
            kept = [(n, operators[n], i) for n, _, i in request["entries"] if n in operators]
            narrowed = _core.ScanRequest(**{**request, "entries": kept}, **self._options)
            scan = _core.Scan(narrowed, handle_of(self._comm))
            scan.start()
            groups, stats = scan.wait()
            self._stats = {name: self._stats[name] + more for name, more in stats.items()}
            return groups[0]

        together = self._comm is not None and self._options["mode"] == "collective"
        agree = self._any_rank if together else bool
        return more_passes(self._work.operators, first, again, agree)

    def _any_rank(self, mine: bool) -> bool:
        said = np.zeros(1, "i4")
        self._comm.Allreduce(np.array([mine], "i4"), said)
        return bool(said[0])


_under_way: weakref.WeakSet[PendingScan] = weakref.WeakSet()


@atexit.register
def _abandon_all() -> None:
    """End the threads of scans that nobody waited for, while they still may ask for the GIL."""
    for pending in list(_under_way):
        pending._scan = None


def begin(prepare: Callable[[], Work], options: ScanOptions) -> PendingScan:
    """Start what `prepare()` describes; an error in it, on any rank, is one on all. Collective."""
    comm = options.get("comm")
    comm = None if options.get("local") else world() if comm is None else comm
    handle = handle_of(comm)
    work, failure = None, None
    try:
        work = prepare()
        if work.view.groups is not None:
            refuse_repeats(work.operators, "groups", "Or select each group, and reduce it alone.")
        core_options = _options(options)
        if core_options["shuffle"] == "to-all" and comm is not None and comm.Get_size() > 1:
            refuse_repeats(
                work.operators,
                "selections that differ between ranks (shuffle='to-all')",
                "Or reduce with local=True on each rank.",
            )
        request = _core.ScanRequest(**work.request, **core_options)
    except Exception as error:
        failure = error
    if comm is not None and comm.Get_size() > 1:
        _agree(comm, failure)
    if failure is not None:
        raise failure
    if work is None:
        raise AssertionError("bug in Fluvial: no work and no failure")
    return PendingScan(_core.Scan(request, handle), work, comm, core_options)


def _options(options: ScanOptions) -> dict[str, Any]:
    check_options(options, ScanOptions.__annotations__, "of a reduction")
    info = options.get("info")
    info = {} if info is None else info
    if not hasattr(info, "get"):
        raise wrong_type("info", info, "an mpi4py Info or a dict of hints")
    keys = "fluvial_threads", "cb_nodes", "cb_buffer_size", "fluvial_memory"
    threads, aggregators, buffer, memory = (_hint(info, key) for key in keys)
    return {
        "mode": to_choice(options.get("mode", "collective"), "mode", ("collective", "independent")),
        "shuffle": to_choice(
            options.get("shuffle", "common"), "shuffle", ("common", "to-one", "to-all")
        ),
        "threads": _count("threads", options) or threads,
        "aggregators": _count("aggregators", options) or aggregators,
        "buffer_bytes": to_bytes(options.get("buffer"), "buffer") or buffer,
        "read_ahead_bytes": to_bytes(options.get("read_ahead", "16 MiB"), "read_ahead"),
        "memory_bytes": to_bytes(options.get("memory"), "memory") or memory,
        "reproducible": bool(options.get("reproducible", _truth(info, "fluvial_reproducible"))),
    }


def _count(option: str, options: ScanOptions) -> int:
    return to_int(options.get(option, 0), option, -(2**31), 2**31 - 1)


def _hint(info: Any, key: str) -> int:
    """Return the value of a hint; 0 when it is not there."""
    value = info.get(key)
    if value is None:
        return 0
    try:
        most = 2**31 if key in ("cb_nodes", "fluvial_threads") else 2**63
        if 0 < (number := int(value)) < most:
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise InvalidArgument(
        f"hint {key} makes no sense: got {shown(value)}; allowed: a whole number from 1 on. "
        "Leave it out: it is chosen."
    )


def _truth(info: Any, key: str) -> bool:
    """Return the value of a hint; False when it is not there."""
    value = info.get(key)
    words = {"true": True, "1": True, "false": False, "0": False}
    if value is None or (word := str(value).lower()) in words:
        return value is not None and words[word]
    raise InvalidArgument(f"hint {key} makes no sense: got {value!r}; allowed: true, false")


def _agree(comm: Any, failure: Exception | None) -> None:
    """Raise on this rank what failed on another. Collective: one word, and what was said if any."""
    failed = np.zeros(1, "i4")
    comm.Allreduce(np.array([failure is not None], "i4"), failed)
    if not failed[0]:
        return
    said = failure and (comm.Get_rank(), type(failure).__name__, str(failure))
    first = comm.allreduce(said, op=_lower)
    if first is not None and failure is None:
        rank, kind, message = first
        known = getattr(_core, kind, None)
        if isinstance(known, type) and issubclass(known, _core.Error):
            raise known(f"{message} (on rank {rank})")
        raise InvalidArgument(f"the reduction failed on rank {rank}: {kind}: {message}")


def _lower(a: tuple[Any, ...] | None, b: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    return b if a is None or (b is not None and b < a) else a


def _of_all_ranks(work: Work, comm: Any, shuffle: str) -> Work:
    """Return the work with the result's kept axes, which hold all ranks' selections."""
    if comm is None or shuffle != "to-one":
        return work
    start, count = work.request["selection"][:2]
    ranges = [(s, s + n) for s, n in zip(start, count, strict=True)] if all(count) else None
    ranges = comm.allreduce(ranges, op=_covering)
    view, frame = work.view, work.frame
    for axis, dim in enumerate(view.dims):
        if dim in frame.dims:
            begin, end = (0, 0) if ranges is None else ranges[axis]
            view = view.replace(dim, range(begin, end))
            if dim in frame.labels:
                frame.coords[dim] = frame.labels[dim][begin:end]
    return work._replace(view=view)


_Ranges = list[tuple[int, int]] | None


def _covering(a: _Ranges, b: _Ranges) -> _Ranges:
    if a is None or b is None:
        return b if a is None else a
    pairs = zip(a, b, strict=True)
    return [(min(begin, other), max(end, last)) for (begin, end), (other, last) in pairs]
