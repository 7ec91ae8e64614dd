# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a pool say when they make it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from .. import _core
from ..base.arguments import to_bool, to_float, to_int, to_path, wrong_type
from ..base.messages import shown
from ..mpi.communicator import Communicator, check_communicator
from ..mpi.together import Together
from .options import amounts
from .task_core import CoreSettings
from .timeline import checked_name

_RANKS_MAX = 2**31 - 1  # of an MPI job
_BY_HOST = 0  # as the core says it
_STALL_TIMEOUT_MIN_S = 0.2  # of the core


@dataclass(frozen=True)
class Settings:
    """As `Pool` takes them, checked."""

    max_workers: int | None
    initializer: Callable[..., object] | None
    initargs: tuple[object, ...]
    stall_timeout: float
    stuck_after: float
    journal: str | None
    lead_works: bool
    servers: int
    audits: bool
    traces: bool
    trace_file: str | None
    progress: bool
    resources: dict[str, float]

    @property
    def of_core(self) -> CoreSettings:
        """What the core's pool takes."""
        return (
            self.stall_timeout,
            self.stuck_after,
            self.resources,
            self.lead_works,
            self.servers,
            self.audits,
            self.traces,
        )

    def told(self) -> str:
        """Return in words what must be the same on all ranks."""
        told = [] if self.initializer is None else ["initializer: one"]
        for name, value, default in (
            ("stall_timeout", self.stall_timeout, 30.0),
            ("stuck_after", self.stuck_after, 30.0),
            ("lead_works", self.lead_works, False),
            ("servers", self.servers or "host", 1),
            ("audit", self.audits, False),
            ("trace", self.traces, False),
        ):
            told += [] if value == default else [f"{name}={value}"]
        return ", ".join(told) or "none"


class Given(TypedDict):
    """The arguments of `Pool` before they are checked: what a check converts may be any object."""

    max_workers: object
    initializer: Callable[..., object] | None
    initargs: object
    stall_timeout: object
    stuck_after: object
    journal: str | os.PathLike[str] | None
    lead_works: object
    servers: object
    audit: object
    trace: bool | str | os.PathLike[str]
    progress: object
    resources: Mapping[str, float] | None


def agreed(comm: Communicator | None, given: Given) -> Settings:
    """Return what the caller gave to `Pool`; what is wrong on one rank is an error on all.

    Collective over `comm`, and waits for its ranks however long they take to come.
    """
    if comm is not None:
        check_communicator(comm)
    ranks = Together(comm, math.inf, "make a pool", setting_up=True)
    return ranks.alike("the options of a pool", lambda: checked(**given), Settings.told)


def checked(
    *,
    max_workers: object,
    initializer: Callable[..., object] | None,
    initargs: object,
    stall_timeout: object,
    stuck_after: object,
    journal: str | os.PathLike[str] | None,
    lead_works: object,
    servers: object,
    audit: object,
    trace: bool | str | os.PathLike[str],
    progress: object,
    resources: Mapping[str, float] | None,
) -> Settings:
    """Return the settings; WrongType or InvalidArgument names the one that cannot be used."""
    if not _core.threads_may_call_mpi():
        raise _core.InvalidArgument(
            "a pool needs several threads that call MPI: got a lower thread level; allowed: "
            "MPI_THREAD_MULTIPLE. Let mpi4py initialise MPI, as it does by default"
        )
    if initializer is not None and not callable(initializer):
        raise wrong_type("initializer", initializer, "a callable, or None")
    if not isinstance(initargs, Sequence) or isinstance(initargs, str | bytes):
        raise wrong_type("initargs", initargs, "a tuple of the initializer's arguments")
    if max_workers is not None:
        max_workers = to_int(max_workers, "max_workers", 1, _RANKS_MAX)
    return Settings(
        max_workers,
        initializer,
        tuple(initargs),
        _at_least(_STALL_TIMEOUT_MIN_S, to_float(stall_timeout, "stall_timeout"), "stall_timeout"),
        _at_least(math.ulp(0.0), to_float(stuck_after, "stuck_after"), "stuck_after"),
        None if journal is None else to_path(journal, "journal"),
        to_bool(lead_works, "lead_works"),
        _number_of(servers),
        to_bool(audit, "audit"),
        trace is not False,
        None if isinstance(trace, bool) else checked_name(_path_of(trace)),
        to_bool(progress, "progress"),
        _amounts({} if resources is None else resources),
    )


def _path_of(trace: object) -> str:
    try:
        return to_path(trace, "trace")
    except _core.WrongType:
        raise wrong_type("trace", trace, "True, False, or the path of a file") from None


def _at_least(least: float, seconds: float, name: str) -> float:
    if not seconds >= least:
        allowed = "more than 0 s" if least < _STALL_TIMEOUT_MIN_S else f"{least:g} s or more"
        raise _core.InvalidArgument(
            f"{name} is out of range: got {seconds:g} s; allowed: {allowed}. Infinity waits for "
            "ever"
        )
    return seconds


def _amounts(resources: Mapping[str, float]) -> dict[str, float]:
    """Return what each host has, by name."""
    found = amounts(resources)
    for name, amount in found.items():
        if not amount >= 0:
            raise _core.InvalidArgument(
                f"the amount of the resource {shown(name)} is out of range: got {amount:g}; "
                "allowed: 0 or more"
            )
    return found


def _number_of(servers: object) -> int:
    if isinstance(servers, str):
        if servers != "host":
            raise _core.InvalidArgument(
                f"servers is not known: got {shown(servers)}; allowed: a number, or 'host' for one "
                "on each host"
            )
        return _BY_HOST
    return to_int(servers, "servers", 1, _RANKS_MAX)
