# SPDX-License-Identifier: Apache-2.0
"""How many paths and which windows are fastest here: found while data is moved, and kept.

This is a search of many choices, which ends, and no `Trial` (base/trial.hpp), which takes the
faster of two ways on one rank and tries both again: all ranks must choose alike, so what is found
has to stay, and can be handed to the next program.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple, Unpack

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import check_options, to_int, to_mapping, wrong_type
from ..mpi.communicator import Communicator, handle_of
from .exchanging import (
    STALL_TIMEOUT_S,
    Exchanged,
    MovingOptions,
    exchange,
    limit_or_default,
    to_bytes,
)
from .planning import Plan

_DIRECT_BYTES = 8192
_WINDOW_MIN, _WINDOW_MAX = 2**10, 2**20
_GRID_WINDOWS = (2**12, 2**14, 2**16, 2**18)
_NEAR_WINDOWS = (2, 0.5, 1)
"""Times the best window."""
_NEAR_PATHS = (0, 1, -1, 2, -2, 3, -3)
"""More than the best number of paths."""
_WINDOW_AFTER_DIRECT = 2**14
"""Where the search begins with windows when the model says that direct is fastest."""
_NEVER_NS = 2**62
"""Of an exchange that failed."""
_BETTER = 0.98
"""A choice replaces another one if it takes so much of its time, or less: noise does not."""


class Choice(NamedTuple):
    """How a message is moved."""

    paths: int
    """1: direct, where the plan has the network's own route."""
    window: int
    """Bytes."""


class Search:
    """The search for the fastest choice for messages of one size. Local.

    First a coarse grid is tried: the guess, direct, and all, half and two of the paths with four
    sizes of windows. Then the neighbours of the best choice so far: windows of half and of twice
    the size, and up to three paths more or less. When none of them is faster, the best stays.
    """

    def __init__(self, paths_max: int, guess: Choice, size: int) -> None:
        self._paths_max = paths_max
        self._size = size
        self.times: dict[Choice, float] = {}
        """The least seconds that each choice has taken."""
        self.best = guess
        self._wanted = [guess, Choice(1, guess.window)]
        for paths in sorted({2, (paths_max + 1) // 2, paths_max} - {1}, reverse=True):
            for window in _GRID_WINDOWS:
                if paths <= paths_max and window < size:
                    self._wanted.append(Choice(paths, window))

    @property
    def settled(self) -> bool:
        """Whether nothing is left to try."""
        return self._next() is None

    def choose(self) -> Choice:
        """Return what to use for the next message."""
        return self._next() or self.best

    def learn(self, choice: Choice, seconds: float) -> None:
        """Take in how long a message has taken."""
        known = self.times.get(choice, math.inf)
        self.times[choice] = min(known, seconds)
        best = self.times.get(self.best, math.inf)
        if choice == self.best or self.times[choice] < _BETTER * best:
            self.best = choice

    def _next(self) -> Choice | None:
        for choice in (*self._wanted, *self._neighbours()):
            if choice not in self.times:
                return choice
        return None

    def _neighbours(self) -> list[Choice]:
        """Return those of the best choice; a direct message has no windows."""
        paths, window = self.best
        if paths == 1:
            return []
        near = [
            Choice(paths + more, int(window * times))
            for times in _NEAR_WINDOWS
            for more in _NEAR_PATHS
        ]
        return [
            choice
            for choice in near
            if 2 <= choice.paths <= self._paths_max
            and _WINDOW_MIN <= choice.window <= min(_WINDOW_MAX, self._size)
        ]


class Tuner:
    """Exchanges of one plan that become faster: it tries numbers of paths and sizes of windows.

    It begins with the choice of the model. Each exchange is timed, and one with another choice is
    tried until none near the best is faster; what was found is kept for messages of the same size,
    up to a factor of two. How long an exchange took on other ranks, the next one learns. Messages
    of 8 KiB or less go direct.

    Parameters
    ----------
    plan
        The same on all ranks.
    costs
        Of the software, as in `exchange`: where the search begins.
    known
        What `known` of an earlier one was: the search for these sizes is over. The same on all
        ranks.

    Examples
    --------
    >>> import fluvial as fl
    >>> tuner = fl.route.Tuner(fl.route.plan("bgq:4x4x4x4x2", [(0, 426)]))
    >>> tuner.choice(2**24)
    Choice(paths=9, window=65536)
    """

    def __init__(
        self, plan: Plan, *, costs: str = "mpi", known: Mapping[int, tuple[int, int]] | None = None
    ) -> None:
        if not isinstance(plan, Plan):
            raise wrong_type("plan", plan, "what fluvial.route.plan returns")
        if plan.flows:
            plan.predict(0, costs=costs)  # wrong ones are refused here, before ranks wait for it
        given = to_mapping(known, "known", "what `known` of another tuner was")
        self._plan = plan
        self._costs = costs
        self._searches: dict[int, Search] = {}
        self._last: tuple[int, Choice, int] | None = None
        """Size, choice and nanoseconds of the last exchange, of which nothing is learned yet."""
        self._known = dict(_known(size, found) for size, found in given.items())

    @property
    def known(self) -> dict[int, Choice]:
        """The fastest choice by size of message, a power of two, of those that are settled."""
        settled = {size: search.best for size, search in self._searches.items() if search.settled}
        return {**self._known, **settled}

    def choice(self, size: int) -> Choice:
        """Return how the next message of so many bytes would be moved. Local."""
        bucket = _bucket(to_int(size, "size", 0))
        return self._known.get(bucket) or self._search(bucket).choose()

    def exchange(
        self,
        comm: Communicator | None,
        data: Mapping[int, npt.ArrayLike] | None = None,
        **options: Unpack[MovingOptions],
    ) -> Exchanged:
        """Move the flows of the plan as `fl.route.exchange`, and learn from it. Collective.

        Beside what that does, an allreduce: of the bytes of the largest flow, and of how long the
        slowest rank took for the exchange before. `paths` and `window` are not options of it.

        Raises
        ------
        InvalidArgument
            On all ranks: one has passed `paths` or `window`; and as `fl.route.exchange`.
        """
        given: dict[int, np.ndarray] = {}

        def prepare() -> list[int]:
            if options.keys() & {"paths", "window"}:
                raise InvalidArgument(
                    "paths and window are what a tuner chooses: got them as options. Call "
                    "fl.route.exchange to choose them yourself"
                )
            check_options(options, MovingOptions.__annotations__, "of a tuner's exchange")
            arrays = to_mapping(data, "data", "a dict of arrays by flow")
            given.update((flow, to_bytes(array)) for flow, array in arrays.items())
            largest = max((array.size for array in given.values()), default=0)
            return [largest, 0 if self._last is None else self._last[2]]

        limit = limit_or_default(options.get("stall_timeout", STALL_TIMEOUT_S))
        size, nanoseconds = _core.largest_of_each(handle_of(comm), limit, 2, prepare)
        self._learn(nanoseconds)
        if size <= _DIRECT_BYTES or not self._paths_max():
            return exchange(comm, self._plan, given, costs=self._costs, **options)
        return self._timed(comm, given, _bucket(size), options)

    def _learn(self, nanoseconds: int) -> None:
        """Take in how long the last exchange took on the slowest rank."""
        if self._last is not None:
            bucket, choice, _ = self._last
            self._search(bucket).learn(choice, nanoseconds * 1e-9)
            self._last = None

    def _timed(
        self,
        comm: Communicator | None,
        given: dict[int, np.ndarray],
        bucket: int,
        options: MovingOptions,
    ) -> Exchanged:
        choice = self.choice(bucket)
        # All ranks have tried it, and learn the same, also where it fails on one of them.
        self._last = bucket, choice, _NEVER_NS
        begin = time.perf_counter_ns()
        try:
            moved = exchange(
                comm, self._plan, given, paths=choice.paths, window=choice.window, **options
            )
        except InvalidArgument:  # on all ranks, before anything moved
            self._last = None
            raise
        took = time.perf_counter_ns() - begin
        self._last = None if bucket in self._known else (bucket, choice, took)
        return moved

    def _paths_max(self) -> int:
        return max(map(len, self._plan.paths), default=0)

    def _search(self, bucket: int) -> Search:
        if bucket not in self._searches:
            flow = max(range(len(self._plan.paths)), key=lambda i: len(self._plan.paths[i]))
            found = self._plan.predict(bucket, flow, costs=self._costs)
            window = _WINDOW_AFTER_DIRECT if found.direct else int(found.window)
            self._searches[bucket] = Search(self._paths_max(), Choice(found.paths, window), bucket)
        return self._searches[bucket]


def _bucket(size: int) -> int:
    """Return the power of two that is nearest by ratio."""
    return 1 << round(math.log2(max(1, size)))


def _known(size: object, found: object) -> tuple[int, Choice]:
    """Return a size and a choice of what an earlier tuner has found."""
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise wrong_type("an entry of known", found, "(paths, window)")
    paths, window = found
    return (
        to_int(size, "a size in known", 1),
        Choice(to_int(paths, "paths in known", 1), to_int(window, "a window in known", 1)),
    )
