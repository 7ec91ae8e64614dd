# SPDX-License-Identifier: Apache-2.0
"""A pool's scheduler in simulated time: tasks are added while others run, and end when they say."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from .. import _core
from .timeline import EVENT, Timeline

Token = TypeVar("Token")


@dataclass(frozen=True)
class SimulatedTask:
    """What the scheduler is told of a task, and how long that takes."""

    kind: str
    ranks: int
    seconds: float
    cost: float | None = None
    priority: float = 0.0
    near: int | None = None
    strict: bool = False


class SimulatedRanks(Generic[Token]):
    """Ranks of a pool: the lead, number 0, runs no tasks unless it is the only one.

    Attributes
    ----------
    now : float
        The time in simulated seconds.
    workers : int
        How many ranks run tasks.

    Examples
    --------
    >>> ranks = SimulatedRanks(4)
    >>> for name, width in (("a", 2), ("b", 2), ("c", 1)):
    ...     ranks.add(SimulatedTask("task", width, 1.0), name)
    >>> ranks.next_ends(), ranks.now, ranks.next_ends(), ranks.now
    (['a', 'c'], 1.0, ['b'], 2.0)
    """

    def __init__(self, ranks: int) -> None:
        self.workers = max(ranks - 1, 1)
        self.now = 0.0
        self._first = ranks - self.workers
        self._scheduler = _core.TaskScheduler(self.workers)
        self._tasks: list[SimulatedTask] = []
        self._tokens: dict[int, Token] = {}
        self._ends: list[tuple[float, int]] = []
        self._kinds: dict[str, int] = {}
        self._events: list[list[tuple[float, float, int, int]]] = [[] for _ in range(self.workers)]
        self._ended = 0

    def add(self, task: SimulatedTask, token: Token) -> None:
        """Submit a task now; `next_ends` returns `token` when it has ended."""
        number = len(self._tasks)
        self._tasks.append(task)
        self._tokens[number] = token
        kind = self._kinds.setdefault(task.kind, len(self._kinds))
        near = None if task.near is None else task.near - self._first
        if near is not None and not 0 <= near < self.workers:
            raise _core.InvalidArgument(
                f"the place of a task: got rank {task.near}; allowed: {self._first} to "
                f"{self._first + self.workers - 1}, the ranks that run tasks"
            )
        self._scheduler.add(
            number, task.ranks, task.priority, task.cost, kind, near, task.strict, self.now
        )

    def next_ends(self) -> list[Token]:
        """Let the time go on to the next end of tasks, and return what ended then."""
        self._begin()
        if not self._ends:
            return []
        self.now = self._ends[0][0]
        ended = []
        while self._ends and self._ends[0][0] <= self.now:
            _, number = heapq.heappop(self._ends)
            self._scheduler.finish(number, self._tasks[number].seconds)
            self._ended += 1
            ended.append(self._tokens.pop(number))
        return ended

    def _begin(self) -> None:
        for number, ranks in self._scheduler.next(self.now):
            task = self._tasks[number]
            end = self.now + task.seconds
            heapq.heappush(self._ends, (end, number))
            for rank in ranks:
                self._events[rank].append((self.now, end, self._kinds[task.kind], 1))

    def timeline(self) -> Timeline:
        """Return what each rank has done until now."""
        ranks = {
            self._first + rank: np.array(events, EVENT) for rank, events in enumerate(self._events)
        }
        busy = sum(float((events["end"] - events["begin"]).sum()) for events in ranks.values())
        return Timeline(list(self._kinds), self._ended, busy, ranks)
