# SPDX-License-Identifier: Apache-2.0
"""Results of many calls, in their order or as they come."""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_int
from .cancellation import cancel_together
from .future import Future, limit_of

Call = TypeVar("Call")
R = TypeVar("R")
Results: TypeAlias = Generator[R, None, None]
"""Closing it cancels what has not been returned."""


def check_sizes(chunksize: int, buffersize: int | None, unordered: bool) -> None:
    """Raise InvalidArgument or WrongType when `Pool.map` cannot have them."""
    for name, value in (("chunksize", chunksize), ("buffersize", buffersize)):
        if name == "buffersize" and value is None:
            continue
        to_int(value, name, 1)
    if unordered and buffersize is not None:
        raise InvalidArgument(
            f"buffersize: got {buffersize} for results that come in any order; allowed: None there"
        )


def in_order(
    submit: Callable[[Call], Future[R]],
    calls: Iterable[Call],
    timeout: float | None,
    buffersize: int | None,
) -> Results[R]:
    """Submit them, at once or `buffersize` ahead of what was taken, and return their results."""
    timeout = limit_of(timeout)
    left = iter(calls)
    futures = deque(submit(call) for call in itertools.islice(left, buffersize))
    end = None if timeout is None else time.monotonic() + timeout

    def results() -> Results[R]:
        try:
            while futures:
                wait = None if end is None else max(end - time.monotonic(), 0.0)
                result = futures[0].result(wait)
                futures.popleft()
                futures.extend(submit(call) for call in itertools.islice(left, 1))
                yield result
        finally:
            cancel_together(futures)

    return results()


def as_they_come(
    submit: Callable[[Call], Future[R]], calls: Iterable[Call], timeout: float | None
) -> Results[R]:
    """Submit them at once, and return the result that comes first."""
    timeout = limit_of(timeout)
    futures = [submit(call) for call in calls]
    arriving = _Arriving(futures)

    def results() -> Results[R]:
        end = None if timeout is None else time.monotonic() + timeout
        try:
            for _ in futures:
                yield arriving.next(end).result()
        finally:
            cancel_together(futures)

    return results()


class _Arriving(Generic[R]):
    """Futures in the order in which they are done; the thread that waits for the next one serves.

    That of `concurrent.futures.as_completed` does not.
    """

    def __init__(self, futures: Sequence[Future[R]]) -> None:
        self._left = self._total = len(futures)
        self._done: deque[Future[R]] = deque()
        self._some = _core.ServingEvent()
        for future in futures:
            future.add_done_callback(self._add)

    def _add(self, future: Future[R]) -> None:
        self._done.append(future)
        self._some.set()

    def next(self, end: float | None) -> Future[R]:
        """Return the next one; TimeoutError when none is there at the time `end`."""
        while not self._done:
            self._some.clear()
            if self._done:
                break
            left = math.inf if end is None else end - time.monotonic()
            if left < 0:
                raise TimeoutError(f"{self._left} (of {self._total}) futures unfinished")
            self._some.wait(left)
        self._left -= 1
        return self._done.popleft()


def one_by_one(chunks: Results[list[R]]) -> Results[R]:
    """Return the results of chunks of calls."""
    with contextlib.closing(chunks):
        for results in chunks:
            yield from results
