# SPDX-License-Identifier: Apache-2.0
"""Pools of ranks that run tasks."""

from __future__ import annotations

import concurrent.futures
import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .. import _core
from ..base.messages import shown
from ..mpi.communicator import Communicator, handle_of, world
from .functions import function_bytes, name_of
from .future import Future, Outcome
from .job_end import abort_at_exit
from .journal import Journal
from .keyed import KeyedTasks, Settled
from .options import TaskOptions
from .parallel import is_parallel
from .payload import packed, unpacked
from .progress import Progress
from .started_job import StartedJob
from .submitting import Submitting
from .task import Task, as_given
from .tasks import packed_error, run_task
from .timeline import Timeline, checked_name

_LOOK_EVERY_S = 0.5  # whether the program has ended without shutdown()


class Pool(Submitting):
    """The ranks of an MPI job as a `concurrent.futures.Executor`.

    Every rank of `comm` makes it (collective). Rank 0 leads: its program goes on, and submits
    tasks. On all others the constructor runs tasks until the lead shuts the pool down, and returns
    then: ``leads`` is False there. In a serial program `max_workers` ranks are started, as an MPI
    job on this machine; without that number one thread of the process runs the tasks.

    Parameters
    ----------
    max_workers
        How many ranks run tasks, if the program is serial. In an MPI job it is all but one, or all.
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
    journal
        A file that keeps the results of finished tasks that have a `key` (`with_options`); it is
        made when it is not there. Their futures are done at once when the program runs again,
        however it ended.
    lead_works
        Whether the rank that leads runs tasks, too, in a thread beside the program's: worth it in
        small jobs. While a task holds Python's interpreter there, others are served more slowly.
    trace
        Whether to note what each rank does when, for `timeline`; or a file for that, which is
        written when the pool has ended: a picture (.png, .svg, .pdf), or a trace (.json) for
        ui.perfetto.dev and ``fluvial trace``. The same on all ranks.
    progress
        Whether the lead says on standard error how far it is: twice a second in one line on a
        terminal, and at the end.

    Raises
    ------
    Error
        On all ranks, when the initializer raises on one, where that is raised itself.
    InvalidArgument
        On all ranks, when they make different pools; when MPI was not initialised for several
        threads (MPI_THREAD_MULTIPLE, mpi4py's default).
    DamagedFile
        When the journal is not as it was left; on ranks that do not lead, Error.

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
        journal: str | os.PathLike[str] | None = None,
        lead_works: bool = False,
        trace: bool | str | os.PathLike[str] = False,
        progress: bool = False,
    ) -> None:
        comm = world() if comm is None else comm
        if max_workers is not None and max_workers < 1:
            raise _core.InvalidArgument(
                f"max_workers is out of range: got {shown(max_workers)}; allowed: 1 or more"
            )
        if initializer is not None and not callable(initializer):
            raise _core.WrongType(f"initializer: got {shown(initializer)}; allowed: a callable")
        if not _core.threads_may_call_mpi():
            raise _core.InvalidArgument(
                "a pool needs several threads that call MPI: got a lower thread level; allowed: "
                "MPI_THREAD_MULTIPLE. Let mpi4py initialise MPI, as it does by default"
            )
        self._trace_file = None if isinstance(trace, bool) else checked_name(trace)
        self._progress = Progress() if progress else None
        self._pool = self
        self._options = TaskOptions()
        self._lock = threading.Lock()
        self._futures: dict[int, Future] = {}
        self._shipped: weakref.WeakKeyDictionary[Any, bytes] = weakref.WeakKeyDictionary()
        self._closing = self._cancelling = False
        self._submitted = 0
        self._failure: BaseException | None = None
        self._core: _core.TaskPool | StartedJob
        settings = (stall_timeout, stuck_after, lead_works, trace is not False)
        self._keyed = KeyedTasks(_opened(comm, journal))
        try:
            if comm is None and max_workers is not None:
                start = function_bytes((initializer, initargs))
                self._core = StartedJob(max_workers, settings, start)
            else:
                handle = handle_of(comm)
                if initializer is not None:
                    _initialize(comm, functools.partial(initializer, *initargs), lead_works)
                self._core = _core.TaskPool(handle, run_task, *settings)
        except BaseException:
            self._keyed.close()
            raise
        self._thread: threading.Thread | None = None
        try:
            if self.leads:
                self._thread = threading.Thread(target=self._serve, name="fluvial-pool")
                self._thread.start()
            else:
                self._core.close()
        except _core.PeerLost:
            abort_at_exit()
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

    def timeline(self) -> Timeline:
        """Return what each rank has done until now, on the rank that leads; also after the end.

        Raises
        ------
        InvalidArgument
            On other ranks, and without `trace`.
        PeerLost
            When the job that was started for this pool has broken off.
        """
        found = self._core.timeline()
        if found is None:
            raise _core.PeerLost(
                "there is no timeline: got a job that has broken off; allowed: a pool that runs, "
                "or was shut down"
            )
        return Timeline.of(*found)

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

    def submit_with(
        self,
        options: TaskOptions,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        further: bool = False,
    ) -> Future:
        """Submit a task; `further`: another task has asked for it."""
        if not callable(function):
            raise _core.WrongType(f"a task's function: got {shown(function)}; allowed: a callable")
        wanted = options.for_core(name_of(function))
        if wanted["ranks"][-1] > 1 and not is_parallel(function):
            raise _core.InvalidArgument(
                f"{name_of(function)!r} is a serial function: got {options.ranks} ranks; allowed: "
                "1 rank. Declare it with @fluvial.parallel: then it gets the communicator of its "
                "team before its arguments"
            )
        future = Future(self._core)
        future.key, future.function = options.key_of(arguments, keywords), name_of(function)
        if (known := self._keyed.claim(future)) is not None:
            future.settle(known)
            return future
        try:
            self._send(future, (self._bytes_of(function), arguments, keywords), wanted, further)
        except BaseException as error:
            future.settle(Outcome(error=error))  # the key is free again
            if isinstance(error, _core.Error) or not isinstance(error, Exception):
                raise
        return future

    def _send(self, future: Future, call: Any, wanted: dict[str, Any], further: bool) -> None:
        inputs: list[Future] = []
        parts = packed(call, functools.partial(self._reference, inputs, {}))
        tasks = [self._task_of(input) for input in inputs]
        with self._lock:
            if self._closing and not further:
                raise _core.InvalidArgument(
                    "a task cannot be submitted: got a pool that was shut down; allowed: a pool "
                    "before shutdown()"
                )
            future.task = self._core.submit(parts, tasks, wanted)
            self._futures[future.task.number] = future
            self._submitted += 1

    def _task_of(self, future: Future) -> Any:
        if future.task is None:
            future.task = self._core.known([self._keyed.result_of(future)])
        return future.task

    def _reference(
        self, inputs: list[Future], further: dict[int, Future], thing: object
    ) -> int | None:
        if isinstance(thing, Task):
            if id(thing) not in further:
                further[id(thing)] = self._submit_further(thing)
            thing = further[id(thing)]
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

    def _submit_further(self, asked: object) -> Future:
        if isinstance(asked, Task):
            return self.submit_with(
                asked.options, asked.function, asked.arguments, asked.keywords, further=True
            )
        return self.submit_with(TaskOptions(), as_given, (asked,), {}, further=True)

    def _go_on(self, future: Future, message: bytearray) -> None:
        """Submit what a task has returned."""
        try:
            other = self._task_of(self._submit_further(unpacked(message)))
        except Exception as error:
            other = self._core.failed(packed_error(error))
        self._core.follow(future.task, other)

    def _bytes_of(self, function: Callable[..., Any]) -> bytes:
        """Return the function by name, or by value where it has none that others know."""
        try:
            known = self._shipped.get(function)
        except TypeError:  # cannot be referred to weakly, or has no hash
            return function_bytes(function)
        if known is None:
            known = self._shipped[function] = function_bytes(function)
        return known

    def _serve(self) -> None:
        """In a thread of its own: turns of the server, and what futures are told."""
        try:
            while not self._ended():
                self._take(self._core.wait_for_some(_LOOK_EVERY_S))
            self._core.close()
            self._report()
        except BaseException as error:
            self._failure = error
            with self._lock:
                self._closing = True
                left, self._futures = self._futures, {}
            for future in left.values():
                future.settle(Outcome.of(None, (type(error).__name__, str(error), -1, b"")))
            if isinstance(error, _core.PeerLost) and isinstance(self._core, _core.TaskPool):
                abort_at_exit()
        finally:
            self._keyed.close()

    def _take(self, told: list[Any]) -> None:
        """Tell futures what the core says; what has a key is in the journal first."""
        settled = []
        for number, result, failure, message in told:
            with self._lock:
                future = self._futures[number] if message else self._futures.pop(number, None)
            if future is not None and message:
                self._go_on(future, message)
            elif future is not None:
                settled.append(Settled(future, result, Outcome.of(result, failure)))
        for one in self._keyed.keep(settled):
            one.future.settle(one.outcome)
        if self._progress is not None:
            self._progress.show([one.outcome for one in settled], self._submitted)

    def _report(self) -> None:
        """All is done: say so, and keep the timeline, where that was asked for."""
        if self._progress is not None:
            self._progress.end(self._submitted)
        if self._trace_file is not None:
            self.timeline().save(self._trace_file)

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


def _opened(comm: Communicator | None, path: str | os.PathLike[str] | None) -> Journal | None:
    """Open a pool's journal where that leads; an error on all ranks when it fails."""
    journal, failed = None, None
    if path is not None and (comm is None or comm.rank == 0):
        try:
            journal = Journal(path)
        except Exception as error:
            failed = error
    said = comm.bcast(failed and str(failed)) if comm is not None else None
    if failed is not None:
        raise failed
    if said:
        raise _core.Error(f"rank 0: {said}")
    return journal


def _initialize(
    comm: Communicator | None, initializer: Callable[[], object], lead_works: bool
) -> None:
    """Call it on each rank that runs tasks; an error on all when it fails on one."""
    failed: Exception | None = None
    if comm is None or comm.size == 1 or comm.rank > 0 or lead_works:
        try:
            initializer()
        except Exception as error:
            failed = error
    found = [failed is not None] if comm is None else comm.allgather(failed is not None)
    if failed is not None:
        raise failed
    if any(found):
        raise _core.Error(f"rank {found.index(True)}: the initializer of a pool raised an error")
