# SPDX-License-Identifier: Apache-2.0
"""Pools of ranks that run tasks."""

from __future__ import annotations

import atexit
import concurrent.futures
import dataclasses
import functools
import itertools
import os
import pickle
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .. import _core
from ..base.messages import shown
from ..mpi.communicator import Communicator, handle_of, world
from .future import Future
from .options import TaskOptions
from .parallel import is_parallel
from .payload import packed
from .started_job import StartedJob
from .tasks import run_task

_LOOK_EVERY_S = 0.5  # whether the program has ended without shutdown()


class _Submitting(concurrent.futures.Executor):
    """What submits tasks with the same options."""

    _pool: Pool
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
        return self._pool._submit(self._options, fn, args, kwargs)

    def map(
        self,
        fn: Callable[..., Any],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        **unknown: Any,
    ) -> Iterator[Any]:
        """As `concurrent.futures.Executor.map`: `chunksize` calls are one task."""
        if unknown:
            raise TypeError(f"map() got unexpected keyword arguments: {sorted(unknown)}")
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        if chunksize == 1 or is_parallel(fn):
            return super().map(fn, *iterables, timeout=timeout)
        calls = zip(*iterables, strict=False)
        chunks = iter(lambda: list(itertools.islice(calls, chunksize)), [])
        results = super().map(functools.partial(_call_all, fn), chunks, timeout=timeout)
        return itertools.chain.from_iterable(results)

    def with_options(self, **options: Any) -> _Submitting:
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
        """
        try:
            changed = dataclasses.replace(self._options, **options)
        except TypeError:
            known = [field.name for field in dataclasses.fields(TaskOptions)]
            wrong = next(name for name in options if name not in known)
            raise _core.UnknownName(
                f"no option of a task has this name: got {wrong!r}; allowed: {', '.join(known)}. "
                + _core.did_you_mean(wrong, known)
            ) from None
        changed.for_core("")
        return _WithOptions(self._pool, changed)


class _WithOptions(_Submitting):
    def __init__(self, pool: Pool, options: TaskOptions) -> None:
        self._pool = pool
        self._options = options

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Shut the pool down."""
        self._pool.shutdown(wait, cancel_futures=cancel_futures)


class Pool(_Submitting):
    """The ranks of an MPI job as a `concurrent.futures.Executor`.

    Every rank of `comm` makes it (collective). Rank 0 leads: its program goes on, and submits
    tasks. On all others the constructor runs tasks until the lead shuts the pool down, and returns
    then: ``leads`` is False there. In a serial program `max_workers` ranks are started, as an MPI
    job on this machine; without that number one thread of the process runs the tasks.

    Parameters
    ----------
    max_workers
        How many ranks run tasks, if the program is serial. In an MPI job it is all but one.
    comm
        An mpi4py communicator; by default all ranks of the job.
    initializer, initargs
        Called on each rank that runs tasks, before the first.
    stall_timeout
        Seconds without a heartbeat after which a rank is lost, as one that has died is. Its tasks
        fail (or are tried again), and the pool goes on with the rest.
    stuck_after
        Seconds that ranks have to come back from a task that has failed on another rank; then they
        are lost, too.

    Raises
    ------
    Error
        On all ranks, when the initializer raises on one, where that is raised itself.
    InvalidArgument
        On all ranks, when they make different pools; when MPI was not initialised for several
        threads (MPI_THREAD_MULTIPLE, mpi4py's default).

    Examples
    --------
    >>> import fluvial as fl
    >>> with fl.Pool() as pool:
    ...     if pool.leads:
    ...         product = pool.submit(pow, 2, 5)
    ...         print(pool.submit(sum, [product, 10]).result())
    42
    """

    def __init__(
        self,
        max_workers: int | None = None,
        *,
        comm: Communicator | None = None,
        initializer: Callable[..., object] | None = None,
        initargs: tuple[Any, ...] = (),
        stall_timeout: float = 30.0,
        stuck_after: float = 30.0,
    ) -> None:
        comm = world() if comm is None else comm
        if max_workers is not None and max_workers < 1:
            raise _core.InvalidArgument(
                f"max_workers is out of range: got {shown(max_workers)}; allowed: 1 or more"
            )
        if not _core.threads_may_call_mpi():
            raise _core.InvalidArgument(
                "a pool needs several threads that call MPI: got a lower thread level; allowed: "
                "MPI_THREAD_MULTIPLE. Let mpi4py initialise MPI, as it does by default"
            )
        self._pool = self
        self._options = TaskOptions()
        self._lock = threading.Lock()
        self._futures: dict[int, Future] = {}
        self._shipped: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()
        self._closing = self._cancelling = False
        self._failure: BaseException | None = None
        self._core: _core.TaskPool | StartedJob
        if comm is None and max_workers is not None:
            start = _function_bytes((initializer, initargs))
            self._core = StartedJob(max_workers, stall_timeout, stuck_after, start)
        else:
            handle = handle_of(comm)
            if initializer is not None:
                _initialize(comm, functools.partial(initializer, *initargs))
            self._core = _core.TaskPool(handle, run_task, stall_timeout, stuck_after)
        self._thread: threading.Thread | None = None
        try:
            if self.leads:
                self._thread = threading.Thread(target=self._serve, name="fluvial-pool")
                self._thread.start()
            else:
                self._core.close()
        except _core.PeerLost:
            _abort_at_exit()
            raise

    @property
    def leads(self) -> bool:
        """True on the rank that submits tasks."""
        return bool(self._core.leads)

    @property
    def rank(self) -> int:
        """The number of this rank in the pool."""
        return int(self._core.rank)

    @property
    def size(self) -> int:
        """Number of ranks, the lead included."""
        return int(self._core.size)

    @property
    def workers(self) -> int:
        """Number of ranks that run tasks: the most that one can have."""
        return int(self._core.workers)

    def __repr__(self) -> str:
        state = "shut down" if self._closing or not self.leads else f"{len(self._futures)} tasks"
        return f"<fluvial.Pool of {self.workers} workers, {state}>"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the pool when its tasks are done; the other ranks' constructors return then.

        Parameters
        ----------
        wait
            Block until that has happened.
        cancel_futures
            Cancel the tasks that have not begun.

        Raises
        ------
        PeerLost, PeerStalled
            When a rank was lost. MPI cannot end such a job in order: the process aborts it at its
            exit, after everything else.
        """
        if not self.leads:
            return
        with self._lock:
            self._closing = True
            self._cancelling = self._cancelling or cancel_futures
        self._core.wake()
        if wait and self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure

    def _submit(
        self,
        options: TaskOptions,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> Future:
        if not callable(function):
            raise _core.WrongType(f"a task's function: got {shown(function)}; allowed: a callable")
        wanted = options.for_core(_name_of(function))
        if wanted["ranks"][-1] > 1 and not is_parallel(function):
            raise _core.InvalidArgument(
                f"{_name_of(function)!r} is a serial function: got {options.ranks} ranks; allowed: "
                "1 rank. Declare it with @fluvial.parallel: then it gets the communicator of its "
                "team before its arguments"
            )
        inputs: list[Future] = []
        parts = packed(
            (self._bytes_of(function), arguments, keywords),
            functools.partial(self._reference, inputs),
        )
        future = Future(self._core)
        with self._lock:
            if self._closing:
                raise _core.InvalidArgument(
                    "a task cannot be submitted: got a pool that was shut down; allowed: a pool "
                    "before shutdown()"
                )
            future.task = self._core.submit(parts, [input.task for input in inputs], wanted)
            self._futures[future.task.number] = future
        return future

    def _reference(self, inputs: list[Future], thing: object) -> int | None:
        if not isinstance(thing, concurrent.futures.Future):
            return None
        if not isinstance(thing, Future) or thing.core is not self._core:
            raise _core.InvalidArgument(
                f"an input of a task: got {shown(thing)}; allowed: futures of the same pool. "
                "Pass its result() instead"
            )
        if thing not in inputs:
            inputs.append(thing)
        return inputs.index(thing)

    def _bytes_of(self, function: Callable[..., Any]) -> bytes:
        """Return the function by name, or by value where it has none that others know."""
        try:
            known = self._shipped.get(function)
        except TypeError:  # cannot be referred to weakly, or has no hash
            return _function_bytes(function)
        if known is None:
            known = self._shipped[function] = _function_bytes(function)
        return known

    def _serve(self) -> None:
        """In a thread of its own: turns of the server, and what futures are told."""
        try:
            while not self._ended():
                for number, result, failure in self._core.wait_for_some(_LOOK_EVERY_S):
                    with self._lock:
                        future = self._futures.pop(number, None)
                    if future is not None:
                        future.settle(result, failure)
            self._core.close()
        except BaseException as error:
            self._failure = error
            with self._lock:
                self._closing = True
                left, self._futures = self._futures, {}
            for future in left.values():
                future.settle(None, (type(error).__name__, str(error), -1, b""))
            if isinstance(error, _core.PeerLost) and isinstance(self._core, _core.TaskPool):
                _abort_at_exit()

    def _ended(self) -> bool:
        with self._lock:
            self._closing = self._closing or not threading.main_thread().is_alive()
            closing, cancelling = self._closing, self._cancelling
            self._cancelling = False
            left = list(self._futures.values())
        if cancelling:
            for future in left:
                future.cancel()
        return closing and all(future.done() for future in left)


def _initialize(comm: Communicator | None, initializer: Callable[[], object]) -> None:
    """Call it on each rank that runs tasks; an error on all when it fails on one."""
    failed: Exception | None = None
    if comm is None or comm.size == 1 or comm.rank > 0:
        try:
            initializer()
        except Exception as error:
            failed = error
    found = [failed is not None] if comm is None else comm.allgather(failed is not None)
    if failed is not None:
        raise failed
    if any(found):
        raise _core.Error(f"rank {found.index(True)}: the initializer of a pool raised an error")


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _function_bytes(function: object) -> bytes:
    try:
        by_name = pickle.dumps(function)
        if b"__main__" not in by_name:
            return by_name
    except (pickle.PicklingError, AttributeError, TypeError):
        pass
    try:
        import cloudpickle
    except ImportError:
        raise _core.InvalidArgument(
            f"cannot send a function to other ranks: got {shown(function)}; allowed: one of a "
            "module that they can import, or, with cloudpickle (`pip install cloudpickle`), any"
        ) from None
    by_value: bytes = cloudpickle.dumps(function)
    return by_value


def _call_all(function: Callable[..., Any], calls: list[tuple[Any, ...]]) -> list[Any]:
    return [function(*arguments) for arguments in calls]


@functools.cache
def _abort_at_exit() -> None:
    """Have this process abort the job when it exits: MPI_Finalize would wait for lost ranks."""

    def abort() -> None:
        from mpi4py import MPI

        if MPI.Is_initialized() and not MPI.Is_finalized():
            print("fluvial: a rank of a pool was lost; ending the MPI job", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            MPI.COMM_WORLD.Abort(1)
            os._exit(1)

    atexit.register(abort)
