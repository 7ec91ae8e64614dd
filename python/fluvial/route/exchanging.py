# SPDX-License-Identifier: Apache-2.0
"""Data that moves along the paths of a plan."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import (
    check_options,
    to_array,
    to_bool,
    to_float,
    to_int,
    to_mapping,
    to_text,
    wrong_type,
)
from ..mpi.communicator import Communicator, handle_of
from .planning import Plan, to_position

STALL_TIMEOUT_S = 300.0
"""Of an exchange, unless something else is given."""
_WINDOW_MAX = 2**30


class MovingOptions(TypedDict, total=False):
    """Options of `exchange` that do not choose how a message is moved."""

    stall_timeout: float
    reroute_after: float | None
    checksum: bool
    strict: bool


class ExchangeOptions(MovingOptions, total=False):
    """All options of `exchange`."""

    paths: int | None
    window: int | None
    costs: str


class PathUse(NamedTuple):
    """What one path of a flow has carried."""

    ranks: tuple[int, ...]
    """The source, the proxies, the destination."""
    windows: int
    """1 for a message that went whole."""
    bytes: int
    given_up: bool
    """Whether it stood still, and the rest of it went another way."""
    instead: bool
    """Whether it is none of the plan's: direct, for paths that were given up."""


class Exchanged(dict[int, np.ndarray]):
    """What has come on this rank, by flow, and by which paths; what `exchange` returns."""

    def __init__(
        self, arrived: Mapping[int, np.ndarray], paths: Mapping[int, list[PathUse]]
    ) -> None:
        super().__init__(arrived)
        self.paths = dict(paths)
        """What each path has carried, of the flows that begin or end on this rank."""

    def explain(self) -> str:
        """Return a line a path: what it carried of its flow, and where it was given up.

        Examples
        --------
        >>> import fluvial as fl
        >>> plan = fl.route.plan("torus:4x4", [(0, 0)])
        >>> print(fl.route.exchange(None, plan, {0: [1.0, 2.0]}).explain())
        flow 0 by ranks 0: 16 bytes (100 %) in 1 window
        """
        lines = []
        for flow, paths in self.paths.items():
            size = sum(path.bytes for path in paths)
            for path in paths:
                lines.append(f"flow {flow} by ranks {_words_of(path, size)}")
        return "\n".join(lines)


def _words_of(path: PathUse, size: int) -> str:
    share = 100 * path.bytes / size if size > 0 else 100
    way = " → ".join(map(str, path.ranks))
    windows = "1 window" if path.windows == 1 else f"{path.windows} windows"
    end = ", given up" if path.given_up else ", instead of paths that were given up"
    rest = end if path.given_up or path.instead else ""
    return f"{way}: {path.bytes} bytes ({share:.3g} %) in {windows}{rest}"


def exchange(
    comm: Communicator | None,
    plan: Plan,
    data: Mapping[int, npt.ArrayLike] | None = None,
    *,
    paths: int | None = None,
    window: int | None = None,
    costs: str = "mpi",
    stall_timeout: float = 300.0,
    reroute_after: float | None = None,
    checksum: bool = False,
    strict: bool = False,
) -> Exchanged:
    """Move the flows of a plan between ranks, each by as many paths as pay. Collective, blocking.

    Ranks that are proxies pass data on within this call, and hold 4 windows of each path that they
    forward at most. A rank that waits serves its streams meanwhile. Beside the data the ranks
    agree on the plan; the first exchange duplicates `comm`, and the duplicate goes with it.

    Parameters
    ----------
    comm
        An mpi4py communicator, whose ranks run on the hosts that ``plan.topology.host_of_rank``
        says. None: this process alone.
    plan
        The same on all ranks. A flow goes from the first rank of its first host to the first rank
        of its last.
    data
        Of each flow that begins on this rank, by its position in ``plan.flows``: an array, whose
        elements are sent row by row, the last axis fastest, as ``tobytes()`` has them. An array
        that lies otherwise in memory, such as one in Fortran order, is copied first. Sizes may
        differ from what was planned for.
    paths, window
        Of each flow: so many paths, and bytes of a window; chosen by the model unless given. The
        same on all ranks.
    costs
        Of the software, as in `Plan.predict`. The same on all ranks.
    stall_timeout
        Seconds without any movement on this rank after which it gives up.
    reroute_after
        Seconds without any movement on a path by way of a proxy after which what it has not
        delivered goes direct; a quarter of `stall_timeout` unless given, 10 at most.
    checksum
        Whether the bytes that come are compared with those that were sent, the same on all ranks: a
        pass over the data at both ends, and an agreement of all ranks at the end, for which a rank
        waits `stall_timeout` at most.
    strict
        Where the hosts of the topology have names, ranks compare these with their own hosts'. If
        one runs elsewhere, all flows go direct, and rank 0 warns; with `strict` on any rank all
        raise.

    Returns
    -------
    Exchanged
        A dict with the bytes of each flow that ends on this rank, as arrays of uint8:
        ``.view(dtype)`` makes elements of them. Its `paths` and `explain()` say which paths were
        used, and what each carried.

    Raises
    ------
    InvalidArgument
        On all ranks: their networks, plans or options differ, the data of a flow is missing or on
        another rank, a flow begins or ends at a host without ranks, or with `strict` a rank runs
        elsewhere.
    TimedOut
        Nothing has moved for `stall_timeout`; the exchange is lost, and where it was one of direct
        messages `comm` takes no further one: go on with ``comm.Dup()``.
    PeerLost, PeerStalled
        Before anything moves: a rank of this host has died, or one has been stopped for longer than
        `stall_timeout`, 2 s at least. A rank that runs is waited for. What a rank raises before it
        comes to move anything is raised on all that wait for it.
    DamagedMessage
        On all ranks: a checksum differs.

    Examples
    --------
    >>> import fluvial as fl
    >>> plan = fl.route.plan("torus:4x4", [(0, 0)])
    >>> fl.route.exchange(None, plan, {0: [1.0, 2.0]})[0].view("f8")
    array([1., 2.])
    """
    return exchange_by(
        comm,
        lambda: prepared(
            plan,
            data,
            paths=paths,
            window=window,
            costs=costs,
            stall_timeout=stall_timeout,
            reroute_after=reroute_after,
            checksum=checksum,
            strict=strict,
        ),
        stall_timeout,
    )


def exchange_by(
    comm: Communicator | None, prepare: Callable[[], tuple[object, ...]], stall_timeout: float
) -> Exchanged:
    """Move what `prepare` returns; what it raises on one rank is raised on all."""
    limit = limit_or_default(stall_timeout)
    arrived, used, warning = _core.exchange_routes(handle_of(comm), limit, prepare)
    if warning:
        warnings.warn(warning, UserWarning, stacklevel=3)
    return exchanged_of(arrived, used)


def exchanged_of(arrived: dict[int, np.ndarray], used: dict[int, list[tuple]]) -> Exchanged:
    """Return what the core says of an exchange."""
    paths = {flow: [PathUse(*path) for path in found] for flow, found in used.items()}
    return Exchanged(arrived, paths)


def prepared(
    plan: Plan,
    data: Mapping[int, npt.ArrayLike] | None,
    **options: Unpack[ExchangeOptions],
) -> tuple[object, ...]:
    """Return what the core needs; what this raises on one rank is raised on all."""
    if not isinstance(plan, Plan):
        raise wrong_type("plan", plan, "what fluvial.route.plan returns")
    check_options(options, ExchangeOptions.__annotations__, "of an exchange")
    transfer = to_transfer(**options)
    given = {
        to_position(flow, "a flow in data", plan): to_bytes(array)
        for flow, array in to_mapping(data, "data", "a dict of arrays by flow").items()
    }
    return plan._core, given, transfer


def to_transfer(
    paths: int | None = None,
    window: int | None = None,
    costs: str = "mpi",
    stall_timeout: float = STALL_TIMEOUT_S,
    reroute_after: float | None = None,
    checksum: bool = False,
    strict: bool = False,
) -> tuple[object, ...]:
    """Return how a transfer goes, as the core reads it."""
    return (
        0 if paths is None else to_int(paths, "paths", 1, 1024),
        0 if window is None else to_int(window, "window", 1, _WINDOW_MAX),
        to_text(costs, "costs"),
        _to_limit(stall_timeout, "stall_timeout"),
        0.0 if reroute_after is None else _to_limit(reroute_after, "reroute_after"),
        to_bool(checksum, "checksum"),
        to_bool(strict, "strict"),
    )


def limit_or_default(stall_timeout: float) -> float:
    """Return how long ranks are waited for to hear what is wrong with `stall_timeout`."""
    known = isinstance(stall_timeout, int | float) and stall_timeout > 0
    return float(stall_timeout) if known else STALL_TIMEOUT_S


def _to_limit(value: float, name: str) -> float:
    """Return seconds above 0."""
    limit = to_float(value, name)
    if not limit > 0:
        raise InvalidArgument(f"{name} is out of range: got {limit}; allowed: above 0 s")
    return limit


def to_bytes(array: npt.ArrayLike) -> np.ndarray:
    """Return the elements of an array row by row; without a copy where they lie so in memory."""
    if isinstance(array, memoryview) and not array.c_contiguous:
        array = array.tobytes()
    if isinstance(array, bytes | bytearray | memoryview):
        array = np.frombuffer(array, np.uint8)
    values = to_array(array, "data")
    if values.dtype.hasobject:
        raise wrong_type("data", array, "an array of numbers")
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)
