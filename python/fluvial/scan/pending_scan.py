# SPDX-License-Identifier: Apache-2.0
"""A reduction that runs while files are read: started, watched and waited for."""

from __future__ import annotations

import atexit
import functools
import json
import threading
import weakref
from collections.abc import Callable, Mapping

import numpy as np

from .. import _core
from .._core import InvalidArgument
from ..compute.passes import Results, more_passes, refuse_repeats, repeats
from ..compute.registry import Reduced, Resolved
from ..mpi.communicator import handle_of, world
from .options import CoreOptions, ScanOptions, to_core
from .request import CoreRequest, Request, for_own_selections, masks_of
from .result import label


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
        self,
        scan: _core.Scan,
        request: Request,
        ranks: _core.ScanRanks | None,
        core_options: CoreOptions,
    ) -> None:
        self._scan: _core.Scan | None = scan
        self._request = request
        self._ranks = ranks
        self._options = core_options
        self._result: Reduced = None
        self._error: BaseException | None = None
        self._waiting = threading.Lock()
        self._stats: dict[str, int | float] = {}
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

    def wait(self) -> Reduced:
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
                    if any(map(repeats, self._request.operators.values())):
                        groups = [self._repeated(groups[0])]
                    request = _of_all_ranks(self._request, self._ranks, self._options["shuffle"])
                    self._result = label(request, groups)
                except BaseException as error:
                    self._error = error
                    raise
                finally:
                    if self._ranks is not None:
                        self._ranks.close()
            if self._error is not None:
                raise self._error
        return self._result

    def _repeated(self, first: Results) -> dict[str, Mapping[str, np.ndarray]]:
        """Scan again for operators that are not done. Collective, as the first time."""

        def again(operators: Mapping[str, Resolved]) -> Results:
            core = self._request.core
            kept = [(n, operators[n], i) for n, _, i in core["entries"] if n in operators]
            narrowed: CoreRequest = {**core, "entries": kept}
            described = _core.ScanRequest(**narrowed, **self._options)
            scan = _core.Scan(described, self._ranks or _core.ScanRanks(None, 10.0))
            scan.start()
            groups, stats = scan.wait()
            self._stats = {name: self._stats[name] + more for name, more in stats.items()}
            return groups[0]

        return more_passes(self._request.operators, first, again, self._any_rank)

    def _any_rank(self, mine: bool) -> bool:
        if self._ranks is None:
            return mine
        return any(map(bool, self._ranks.allgather(b"yes" if mine else b"")))


_under_way: weakref.WeakSet[PendingScan] = weakref.WeakSet()


@atexit.register
def _abandon_all() -> None:
    """End the threads of scans that were not waited for, while they still may ask for the GIL."""
    for pending in list(_under_way):
        pending._scan = None


def begin(prepare: Callable[[], Request], options: ScanOptions) -> PendingScan:
    """Start what `prepare()` describes; an error in it, on any rank, is one on all. Collective."""
    comm = options.get("comm")
    comm = None if options.get("local") else world() if comm is None else comm
    handle = handle_of(comm)
    request, failure = None, None
    try:
        request = prepare()
        if request.view.groups is not None:
            refuse_repeats(
                request.operators, "groups", "Or select each group, and reduce it alone."
            )
        core_options = to_core(options)
        for_own_selections(request, core_options["shuffle"])
        if core_options["shuffle"] == "to-all" and comm is not None and comm.Get_size() > 1:
            refuse_repeats(
                request.operators,
                "selections that differ between ranks (shuffle='to-all')",
                "Or reduce with local=True on each rank.",
            )
        described = _core.ScanRequest(**request.core, **core_options)
    except Exception as error:
        failure = error
    alone = options.get("mode") == "independent"
    ranks = _core.ScanRanks(handle, core_options["stall_timeout"] if failure is None else 10.0)
    try:
        several = comm is not None and comm.Get_size() > 1
        digests = masks_of(request) if request is not None and several and not alone else []
        _agree(ranks, failure, alone, digests)
        if failure is not None:
            raise failure
        if request is None:
            raise AssertionError("bug in Fluvial: no request and no failure")
        scan = _core.Scan(described, ranks)
    except BaseException:
        ranks.close()
        raise
    if alone:
        ranks.close()  # from now on each rank goes its own way
    return PendingScan(scan, request, None if alone else ranks, core_options)


def _agree(
    ranks: _core.ScanRanks, failure: Exception | None, alone: bool, masks: list[str]
) -> None:
    """Raise on this rank what failed on another, and where modes or arrays differ. Collective.

    `alone`: of an independent scan, which would leave the ranks of a collective one waiting.
    `masks`: digests of arrays that are conditions.
    """
    said: dict[str, object] = {"alone": alone, "masks": masks}
    if failure is not None:
        said = {"failed": [type(failure).__name__, str(failure)]}
    of_all = [json.loads(bytes(one)) for one in ranks.allgather(json.dumps(said).encode())]
    for rank, theirs in enumerate(of_all):
        if "failed" in theirs:
            if failure is not None:
                return
            kind, message = theirs["failed"]
            known = getattr(_core, kind, None)
            if isinstance(known, type) and issubclass(known, _core.Error):
                raise known(f"{message} (on rank {rank})")
            raise InvalidArgument(f"the reduction failed on rank {rank}: {kind}: {message}")
    independent = sum(theirs["alone"] for theirs in of_all)
    if 0 < independent < len(of_all):
        raise InvalidArgument(
            f"the ranks differ in the mode: got 'independent' on {independent} and "
            f"'collective' on {len(of_all) - independent} of {len(of_all)}; allowed: one for all. "
            "Or reduce with local=True on those ranks that ask alone."
        )
    for rank, theirs in enumerate(of_all):
        if theirs["masks"] != of_all[0]["masks"]:
            raise InvalidArgument(
                "the ranks differ in the arrays that are conditions: got other elements, or those "
                f"of another selection, on rank {rank}; allowed: the same as on rank 0. Where "
                "ranks select on their own, give the array of the whole dataset first: "
                "t.where(array).isel(…)."
            )


def _of_all_ranks(request: Request, ranks: _core.ScanRanks | None, shuffle: str) -> Request:
    """Return the request with the result's kept axes, which hold all ranks' selections."""
    if ranks is None or shuffle != "to-one":
        return request
    start, count = request.core["selection"][:2]
    ranges = [(s, s + n) for s, n in zip(start, count, strict=True)] if all(count) else None
    of_all = [json.loads(bytes(one)) for one in ranks.allgather(json.dumps(ranges).encode())]
    ranges = functools.reduce(_covering, of_all)
    view, frame = request.view, request.frame
    for axis, dim in enumerate(view.dims):
        if dim in frame.dims:
            begin, end = (0, 0) if ranges is None else ranges[axis]
            view = view.replace(dim, range(begin, end))
            if dim in frame.labels:
                frame.coords[dim] = frame.labels[dim][begin:end]
    return request._replace(view=view)


_Ranges = list[tuple[int, int]] | None


def _covering(a: _Ranges, b: _Ranges) -> _Ranges:
    if a is None or b is None:
        return b if a is None else a
    pairs = zip(a, b, strict=True)
    return [(min(begin, other), max(end, last)) for (begin, end), (other, last) in pairs]
