# SPDX-License-Identifier: Apache-2.0
"""What submits tasks to a pool, each with the same options."""

from __future__ import annotations

import abc
import concurrent.futures
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TypeVar, Unpack

from .. import _core
from .cancellation import CancelFutures
from .executorlib_options import NAME as RESOURCE_DICT
from .executorlib_options import InFolder, options_of, takes_resource_dict
from .functions import for_many_calls, name_of
from .future import Future
from .interrupting import calls_users
from .joblib_backend import joblib_backend
from .mapping import Results, as_they_come, check_sizes, in_order, one_by_one
from .options import OptionChanges, TaskOptions, changed_options
from .parallel import is_parallel
from .task import Task

if TYPE_CHECKING:
    from joblib.parallel import ParallelBackendBase

Call = TypeVar("Call")
R = TypeVar("R")


class Submitting(concurrent.futures.Executor):
    """What submits tasks with the same options."""

    _pool: Submitting
    _options: TaskOptions

    def __reduce__(self) -> NoReturn:
        """Refuse: a pool is the lead's."""
        raise TypeError(
            f"a pool cannot be sent to a task: got {self!r}, as an argument or a name that its "
            "function uses; allowed: a task that returns further tasks (fluvial.task)"
        )

    def submit(self, fn: Callable[..., R], /, *args: object, **kwargs: object) -> Future[R]:
        """Submit ``fn(*args, **kwargs)`` as a task, and return its future at once.

        Futures of the pool among the arguments, also in lists, dicts and other objects, are its
        inputs: the task begins when they are done, and gets their results in their places. When one
        of them fails, so does this one, by the same. NumPy arrays travel as they lie in memory.
        What cannot be pickled is the future's error.

        As executorlib's executors do, this takes ``resource_dict={"cores": 4, …}``, which stands
        for options (`with_options`), unless the function has such a parameter itself.

        Raises
        ------
        InvalidArgument
            Before anything runs: for several ranks of a function that is not `parallel`, for more
            than the pool has, on a rank that does not lead, in a child by fork, and after
            `shutdown`.
        PeerLost
            When the job that was started for this pool has broken off.
        """
        if RESOURCE_DICT in kwargs and not takes_resource_dict(fn):
            changes, folder = options_of(kwargs.pop(RESOURCE_DICT))
            called = fn if folder is None else InFolder(fn, folder)
            options = changed_options(self._options, changes)
            return self._pool.submit_with(options, called, args, kwargs)
        return self._pool.submit_with(self._options, fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., R],
        *iterables: Iterable[object],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
        unordered: bool = False,
    ) -> Iterator[R]:
        """As `Executor.map` does; `chunksize` calls are one task, unless it has a key.

        All calls are of the function as it is now: it is written once, with the names and the data
        that go with a function that ranks cannot import.

        Parameters
        ----------
        buffersize
            Take calls from the iterables only when fewer than this many tasks have results that
            were not taken, for inputs without end; by default all are submitted at once.
        unordered
            Return results as they come.
        """
        calls = zip(*iterables, strict=False)
        return self.starmap(fn, calls, timeout, chunksize, buffersize, unordered)

    def starmap(
        self,
        fn: Callable[..., R],
        iterable: Iterable[Iterable[object]],
        timeout: float | None = None,
        chunksize: int = 1,
        buffersize: int | None = None,
        unordered: bool = False,
    ) -> Iterator[R]:
        """As `map`, of arguments that are tuples already, as mpi4py's executors have it."""
        check_sizes(chunksize, buffersize, unordered)
        fn = for_many_calls(fn)
        calls: Iterator[tuple[object, ...]] = map(tuple, iterable)
        if chunksize == 1 or is_parallel(fn) or self._options.key is not None:
            return _results(
                lambda call: self.submit(fn, *call), calls, timeout, buffersize, unordered
            )
        chunks = iter(functools.partial(_chunk, iter(calls), chunksize), [])
        named = self if self._options.kind else self.with_options(kind=name_of(fn))
        many = _results(
            lambda chunk: named.submit(_call_all, fn, chunk), chunks, timeout, buffersize, unordered
        )
        return one_by_one(many)

    def joblib_backend(self) -> ParallelBackendBase:
        """Return a backend that runs joblib's (and scikit-learn's) parallel calls as tasks.

        Examples
        --------
        ::

            with fl.Pool(4) as pool, joblib.parallel_config(pool.joblib_backend()):
                roots = joblib.Parallel()(joblib.delayed(math.sqrt)(i) for i in range(100))

        Raises
        ------
        InvalidArgument
            When joblib is not installed.
        """
        return joblib_backend(self.submit, self._pool.workers)

    def with_options(self, **options: Unpack[OptionChanges]) -> Submitting:
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
            for that place. A future stands for the (first) rank that ran its task, which is waited
            for.
        cost
            Estimated seconds, for the order in which tasks start; learned where it is not given.
        timeout
            Seconds after its start at which the future raises TimedOut, and the task is cancelled
            as by ``cancel(running=True)``.
        retries
            How often it is tried again when it has failed, elsewhere first.
        kind
            Tasks of one kind take alike long; by default those of one function do.
        key
            What the task is called in the pool's journal, where its result is kept: a program that
            starts again does not run it again. Text, or a function that makes it of the task's
            arguments, such as ``"run {} {}".format``. A key stands for one task.
        exclusive
            The task runs on one host, where no other task runs meanwhile.
        resources
            What it takes of a host's resources (`Pool`), by name, for all its ranks together, which
            then are on one host: ``{"gpu": 1, "memory": 4e9}``.
        keep
            The result stays on the (first) rank that ran the task. Tasks that have its future as
            input start there if they can, or else get it from there; ``result()`` fetches it, when
            that rank is not in a task. It is freed with its last future, and lost with its rank:
            then what wants it raises PeerLost. With "parts" what each rank of the team returns
            stays there: ``future.parts``, `own_part`; the future itself stands for the first.
        fresh
            A task of several ranks gets a communicator that is made for it and freed after it.
            Otherwise the team's is kept, and a later task of the same ranks meets messages and
            attributes that one has left in it.
        """
        return WithOptions(self._pool, changed_options(self._options, options))

    def together(self, *tasks: Task[R]) -> Future[list[R]]:
        """Submit tasks (`fl.task`) that start at the same time, each on ranks of its own.

        For tasks that wait for each other, as the writer and the reader of a stream do. None starts
        before all have their inputs and there are ranks for all; their ranks are used again when
        all have come back. When one fails before they start, so do the others. The future is that
        of the list of their results; of this executor's options its key alone counts, which stands
        for all of them.

        Examples
        --------
        >>> import fluvial as fl
        >>> with fl.Pool() as pool:
        ...     print(pool.together(fl.task(abs, -3)).result())
        [3]

        Raises
        ------
        InvalidArgument
            When one has a range of widths, a place, retries or a key, and when all together want
            more ranks than the pool has.
        WrongType
            When one is no `fl.task`.
        """
        return self._pool.submit_together(self._options, tasks)

    @abc.abstractmethod
    def shutdown(self, wait: bool = True, *, cancel_futures: CancelFutures = False) -> None:
        """Shut the pool down."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Shut the pool down, and wait for its tasks; those that Ctrl-C has left are cancelled."""
        if isinstance(error, KeyboardInterrupt):
            self._end_interrupted(error)
            return
        try:
            self.shutdown()
        except KeyboardInterrupt as interrupt:
            self._end_interrupted(interrupt)
            raise

    def _end_interrupted(self, interrupt: KeyboardInterrupt) -> None:
        try:
            self.shutdown(cancel_futures="running")
        except _core.Error as failure:  # it must not stand for the interruption
            interrupt.add_note(f"{type(failure).__name__}: {failure}")

    @property
    @abc.abstractmethod
    def workers(self) -> int:
        """Number of ranks that run tasks: the most that one can have."""

    @property
    def _max_workers(self) -> int:
        """What executors of the standard library have; dask looks how many tasks to submit."""
        return self.workers

    @abc.abstractmethod
    def submit_with(
        self,
        options: TaskOptions,
        function: Callable[..., R],
        arguments: tuple[object, ...],
        keywords: dict[str, object],
    ) -> Future[R]:
        """Submit a task with other options."""

    @abc.abstractmethod
    def submit_together(self, options: TaskOptions, tasks: tuple[Task[R], ...]) -> Future[list[R]]:
        """Submit tasks that start together."""


class WithOptions(Submitting):
    """Submits to a pool with other options than the pool itself."""

    def __init__(self, pool: Submitting, options: TaskOptions) -> None:
        self._pool = pool
        self._options = options

    @property
    def workers(self) -> int:
        """Number of ranks of the pool that run tasks."""
        return self._pool.workers

    def submit_with(
        self,
        options: TaskOptions,
        function: Callable[..., R],
        arguments: tuple[object, ...],
        keywords: dict[str, object],
    ) -> Future[R]:
        """Submit a task with other options."""
        return self._pool.submit_with(options, function, arguments, keywords)

    def submit_together(self, options: TaskOptions, tasks: tuple[Task[R], ...]) -> Future[list[R]]:
        """Submit tasks that start together."""
        return self._pool.submit_together(options, tasks)

    def shutdown(self, wait: bool = True, *, cancel_futures: CancelFutures = False) -> None:
        """Shut the pool down."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


def _results(
    submit: Callable[[Call], Future[R]],
    calls: Iterable[Call],
    timeout: float | None,
    buffersize: int | None,
    unordered: bool,
) -> Results[R]:
    if unordered:
        return as_they_come(submit, calls, timeout)
    return in_order(submit, calls, timeout, buffersize)


def _chunk(calls: Iterator[Call], size: int) -> list[Call]:
    return list(itertools.islice(calls, size))


@calls_users
def _call_all(function: Callable[..., R], calls: list[tuple[object, ...]]) -> list[R]:
    results = []
    for arguments in calls:  # a comprehension would be a function of its own
        results.append(function(*arguments))
    return results
