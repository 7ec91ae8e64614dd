# SPDX-License-Identifier: Apache-2.0
"""What submits tasks to a pool, each with the same options."""

from __future__ import annotations

import abc
import concurrent.futures
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .future import Future
from .options import TaskOptions, changed_options
from .parallel import is_parallel


class Submitting(concurrent.futures.Executor):
    """What submits tasks with the same options."""

    _pool: Submitting
    _options: TaskOptions

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Submit ``fn(*args, **kwargs)`` as a task, and return its future at once.

        Futures of the pool among the arguments, also in lists, dicts and other objects, are its
        inputs: the task begins when they are done, and gets their results in their places. When one
        of them fails, so does this one, by the same. NumPy arrays travel as they lie in memory.

        Raises
        ------
        InvalidArgument
            Before anything runs: for several ranks of a function that is not `parallel`, for more
            than the pool has, on a rank that does not lead, and after `shutdown`.
        """
        return self._pool.submit_with(self._options, fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        **unknown: Any,
    ) -> Iterator[Any]:
        """As `Executor.map` does; `chunksize` calls are one task, unless it has a key."""
        if unknown:
            raise TypeError(f"map() got unexpected keyword arguments: {sorted(unknown)}")
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if chunksize == 1 or is_parallel(fn) or self._options.key is not None:
            return super().map(fn, *iterables, timeout=timeout)
        calls = zip(*iterables, strict=False)
        chunks = iter(lambda: list(itertools.islice(calls, chunksize)), [])
        results = super().map(functools.partial(_call_all, fn), chunks, timeout=timeout)
        return itertools.chain.from_iterable(results)

    def with_options(self, **options: Any) -> Submitting:
        """Return an executor that submits to the same pool with these options.

        Parameters
        ----------
        ranks
            How many ranks run the task together, if its function is `parallel`: a number, or a
            ``range`` or several numbers of which the pool chooses one when it starts.
        priority
            Tasks of a higher one start first, and are not delayed by others.
        near, on_host, strict
            A rank of the pool that the task should run on, or on whose host; with `strict` it waits
            for that place.
        cost
            Estimated seconds, for the order in which tasks start; learned where it is not given.
        timeout
            Seconds after its start at which the future raises TimedOut; the function is not
            interrupted.
        retries
            How often it is tried again when it has failed, elsewhere first.
        kind
            Tasks of one kind take alike long; by default those of one function do.
        key
            What the task is called in the pool's journal, where its result is kept: a program that
            starts again does not run it again. Text, or a function that makes it of the task's
            arguments, such as ``"run {} {}".format``. A key stands for one task.
        """
        return WithOptions(self._pool, changed_options(self._options, options))

    @abc.abstractmethod
    def submit_with(
        self,
        options: TaskOptions,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Future:
        """Submit a task with other options."""


class WithOptions(Submitting):
    """Submits to a pool with other options than the pool itself."""

    def __init__(self, pool: Submitting, options: TaskOptions) -> None:
        self._pool = pool
        self._options = options

    def submit_with(self, *arguments: Any) -> Future:
        """Submit a task with other options."""
        return self._pool.submit_with(*arguments)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut the pool down."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _call_all(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    return [function(*arguments) for arguments in calls]
