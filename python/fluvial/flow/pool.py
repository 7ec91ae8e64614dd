# SPDX-License-Identifier: Apache-2.0
"""Pools of ranks that run tasks."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

from .. import _core
from ..base.made_here import MadeHere
from ..mpi.communicator import Communicator
from .cancellation import CancelFutures, Cancellation, checked_cancellation
from .core_calls import CoreCalls
from .exported_calls import ExportedCalls
from .functions import name_of
from .future import AnyFuture, Future, Outcome
from .job_end import abort_at_exit
from .joint_failures import JointFailures
from .keyed import KeyedTasks, Settled
from .options import TaskOptions, checked_options
from .payload import unpacked
from .progress import Account
from .serving_thread import ServingThread
from .settings import Given, agreed
from .starting import all_ranks, opened_journal, started_core
from .submitting import Submitting
from .task import Task, as_given, checked_together
from .task_core import CoreCall, Report, TaskState
from .tasks import packed_error
from .timeline import Timeline

R = TypeVar("R")


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
        Called on each rank that runs tasks, before the first; also on servers but the lead.
    stall_timeout
        Seconds without a heartbeat after which a rank is lost, as one that has died is. Its tasks
        fail (or are tried again), and the pool goes on with the rest.
    stuck_after
        Seconds that ranks have to come back from a task that has failed on another rank, or has
        outlived its `timeout`; then they are lost, too.
    journal
        A file that keeps the results of finished tasks that have a `key` (`with_options`); it is
        made when it is not there. Their futures are done at once when the program runs again,
        however it ended.
    lead_works
        Whether the rank that leads runs tasks, too, in a thread beside the program's: worth it in
        small jobs. While a task holds Python's interpreter there, others are served more slowly.
    servers
        How many ranks serve the others, the lead among them; ``"host"`` for one on each host. Those
        other than the lead run no tasks: each passes on what the lead sends to a group of ranks,
        and what these report. For jobs of hundreds of ranks, and to notice ranks that are lost on
        other hosts where no heartbeats come through. The same on all ranks.
    audit
        Whether a task of several ranks fails that leaves a message in its team's communicator,
        where a later task would receive it. The same on all ranks.
    trace
        Whether to note what each rank does when, for `timeline`; or a file for that, which is
        written when the pool has ended: a picture (.png, .svg, .pdf), or a trace (.json) for
        ui.perfetto.dev and ``fluvial trace``. The same on all ranks.
    resources
        What each host has beside ranks, by name, of which tasks ask for amounts: ``{"gpu": 2,
        "memory": 64e9}``. The pool counts them; which GPU a task uses is its own affair. The same
        on all ranks.
    progress
        Whether the lead says on standard error how far it is, and how many ranks are busy: on a
        terminal in one line, elsewhere in a line every five seconds, and at the end.

    Raises
    ------
    Error
        On all ranks, when the initializer raises on one, where that is raised itself.
    InvalidArgument
        On all ranks, when they make different pools, or one of them is given what cannot be used
        (WrongType for a wrong type); when MPI was not initialised for several threads
        (MPI_THREAD_MULTIPLE, mpi4py's default); in a task, for all ranks of its job.
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
        initargs: tuple[object, ...] = (),
        stall_timeout: float = 30.0,
        stuck_after: float = 30.0,
        journal: str | os.PathLike[str] | None = None,
        lead_works: bool = False,
        servers: int | Literal["host"] = 1,
        audit: bool = False,
        trace: bool | str | os.PathLike[str] = False,
        progress: bool = False,
        resources: Mapping[str, float] | None = None,
    ) -> None:
        comm = all_ranks() if comm is None else comm
        given: Given = {
            "max_workers": max_workers,
            "initializer": initializer,
            "initargs": initargs,
            "stall_timeout": stall_timeout,
            "stuck_after": stuck_after,
            "journal": journal,
            "lead_works": lead_works,
            "servers": servers,
            "audit": audit,
            "trace": trace,
            "progress": progress,
            "resources": resources,
        }
        settings = agreed(comm, given)
        self._made = MadeHere()
        self._pool = self
        self._options = TaskOptions()
        self._lock = threading.Lock()
        self._futures: dict[int, AnyFuture] = {}
        self._joint = JointFailures()
        self._closing = False
        self._cancellation = Cancellation()
        self._submitted = 0
        self._failure: BaseException | None = None
        self._broken: BaseException | None = None  # what ended it before shutdown()
        self._keyed = KeyedTasks(opened_journal(comm, settings.journal))
        try:
            self._core = started_core(comm, settings)
        except BaseException:
            self._keyed.close()
            raise
        self._account = Account(settings, self._core)
        self._calls = CoreCalls(self._core, self._keyed, self._submit_further)
        self.exported_calls = ExportedCalls(self._core)
        """Submits tasks in C++ that have no futures."""
        self._thread: ServingThread | None = None
        try:
            if self.leads:
                self._thread = ServingThread(self._serve, self._core)
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
        self._core.check_process()
        return Timeline.told(self._core.timeline())

    def __repr__(self) -> str:
        state = "shut down" if self._closing or not self.leads else f"{len(self._futures)} tasks"
        return f"<fluvial.Pool of {self.workers} workers, {state}>"

    def shutdown(self, wait: bool = True, *, cancel_futures: CancelFutures = False) -> None:
        """End the pool when its tasks are done; the other ranks' constructors return then.

        Parameters
        ----------
        wait
            Block until that has happened.
        cancel_futures
            Cancel the tasks that have not begun; with "running" also those that run, as
            ``future.cancel(running=True)`` does.

        Raises
        ------
        InvalidArgument
            When `cancel_futures` is something else.
        PeerLost, PeerStalled
            When a rank was lost. MPI cannot end such a job in order: the process aborts it at its
            exit, after everything else.
        """
        checked_cancellation(cancel_futures)
        if not self.leads or self._made.inherited:
            return
        with self._lock:
            self._closing = True
            left = list(self._futures.values())
        self._cancellation.ask(cancel_futures)
        # Not by the other thread alone: in a serial program that is the one that runs a task.
        self._cancellation.apply(left, self.exported_calls, wait=True)
        self._core.wake()
        if wait and self._thread is not None and not self._thread.is_current:
            self._thread.wait()
            failure, self._failure = self._failure, None
            if failure is not None:
                raise failure

    def submit_with(
        self,
        options: TaskOptions,
        function: Callable[..., R],
        arguments: tuple[object, ...],
        keywords: dict[str, object],
        further: bool = False,
    ) -> Future[R]:
        """Submit a task; `further`: another task has asked for it."""
        checked_options(options, function)
        future: Future[R] = Future(self._core)
        if not further:
            self._check_open()
        future.key, future.function = options.key_of(arguments, keywords), name_of(function)
        if (known := self._keyed.claim(future)) is not None:
            future.settle(known)
            return future
        try:
            self._send(future, Task(function, arguments, keywords, options), further)
        except BaseException as error:
            future.settle(Outcome(error=error))  # the key is free again
            if isinstance(error, _core.Error) or not isinstance(error, Exception):
                raise
        return future

    def submit_together(self, options: TaskOptions, tasks: tuple[Task[R], ...]) -> Future[list[R]]:
        """Submit tasks that start together; see `together`."""
        future: Future[list[R]] = Future(self._core)
        future.function = checked_together(options, tasks)
        future.key = options.key_of((), {})
        self._check_open()
        if (known := self._keyed.claim(future)) is not None:
            future.settle(known)
            return future
        try:
            members = self._send_together(tasks)
            future.first, future.members = members[0].task, members
            # Before all others: it is what makes their results known, and takes no time.
            options = TaskOptions(priority=math.inf, kind="together")
            self._send(future, Task(as_given, (members,), {}, options), False)
        except BaseException as error:
            future.settle(Outcome(error=error))  # the key is free again
            raise
        return future

    def _send_together(self, tasks: tuple[Task, ...]) -> list[AnyFuture]:
        calls = [self._calls.of(task) for task in tasks]
        members: list[AnyFuture] = [Future(self._core) for _ in tasks]
        with self._lock:
            self._check_open()
            states = self._core.submit_together(calls)
            for member, state, call in zip(members, states, calls, strict=True):
                self._keep(member, state, call)
        return members

    def _send(self, future: AnyFuture, task: Task, further: bool) -> None:
        message = self._calls.of(task)
        with self._lock:
            if not further:
                self._check_open()
            self._keep(future, self._core.submit(*message), message)

    def _check_open(self) -> None:
        self._core.check_process()
        if self._broken is not None:
            raise self._broken
        if self._closing:
            raise _core.InvalidArgument(
                "a task cannot be submitted: got a pool that was shut down; allowed: a pool "
                "before shutdown()"
            )

    def _keep(self, future: AnyFuture, task: TaskState, call: CoreCall) -> None:
        future.task = task
        self._account.add(task, call[2]["ranks"])
        self._futures[task.number] = future
        self._submitted += 1

    def _submit_further(self, asked: object) -> AnyFuture:
        if isinstance(asked, Task):
            return self.submit_with(
                asked.options, asked.function, asked.arguments, asked.keywords, further=True
            )
        return self.submit_with(TaskOptions(), as_given, (asked,), {}, further=True)

    def _go_on(self, future: AnyFuture, message: bytearray) -> None:
        """Submit what a task has returned."""
        try:
            asked = unpacked(message)
            if future.for_journal and isinstance(asked, Task):
                asked = asked.with_options(keep=False)
            further = self._submit_further(asked)
            further.for_journal = future.for_journal
            other = self._calls.state_of(further)
        except Exception as error:
            other = self._core.failed(packed_error(error))
        self._core.follow(self._calls.state_of(future), other)

    def _serve(self) -> None:
        """In a thread of its own: turns of the server, and what futures are told."""
        try:
            while not self._ended():
                self._take(self._core.wait_for_some(self._account.turn_s))
            self._core.close()
        except BaseException as error:
            self._break_off(error)
        finally:
            self._keyed.close()
            failed = self._account.end(self._submitted, self.timeline)
            self._failure = self._failure or failed

    def _break_off(self, error: BaseException) -> None:
        with self._lock:
            self._failure = error
            if not self._closing:
                self._closing, self._broken = True, error
            left, self._futures = self._futures, {}
        lost = Outcome.of(None, (type(error).__name__, str(error), -1, b""))
        for future in (*left.values(), *self._joint.let_go()):
            future.settle(lost)
        self.exported_calls.fail(error)
        self._account.take([lost] * len(left), self._submitted)
        if isinstance(error, _core.PeerLost) and isinstance(self._core, _core.TaskPool):
            abort_at_exit()

    def _take(self, told: list[Report]) -> None:
        """Tell futures what the core says; what has a key is in the journal first."""
        settled = []
        for number, result, failure, message in self.exported_calls.take(told):
            with self._lock:
                future = self._futures[number] if message else self._futures.pop(number, None)
                if not message:
                    self._account.remove(number)
            if future is not None and message:
                self._go_on(future, message)
            elif future is not None:
                settled.append(Settled(future, result, Outcome.of(result, failure, future.key)))
        settled = self._joint.without(settled)
        try:
            kept = self._keyed.keep(settled)
        except BaseException as error:  # they are no futures of the pool's any more
            for one in settled:
                one.future.settle(Outcome(error=error))
            raise
        for one in kept:
            one.future.settle(one.outcome)
        late = self._joint.settle()
        self._account.take([*(one.outcome for one in settled), *late], self._submitted)

    def _ended(self) -> bool:
        with self._lock:
            self._closing = self._closing or not threading.main_thread().is_alive()
            if not self._closing:
                return False
            left = list(self._futures.values())
        self._cancellation.apply(left, self.exported_calls)  # also what tasks return meanwhile
        return not (self.exported_calls.left or self._joint.held) and all(f.done() for f in left)
