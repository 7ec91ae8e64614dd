# SPDX-License-Identifier: Apache-2.0
"""The result of a task of a pool, once it is there."""

from __future__ import annotations

import concurrent.futures
import enum
import functools
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn, TypeAlias, TypeVar, cast

from .. import _core
from ..base.arguments import to_choice, to_wait
from ..base.messages import shown
from .payload import unpacked
from .serving_thread import serves_here
from .task_core import Failure, TaskCore, TaskState
from .tasks import RemoteTraceback

R = TypeVar("R")
_LOGGER = logging.getLogger("concurrent.futures")
"""Where Python says which callbacks of futures have failed."""
_ENDING = threading.Lock()
"""Of the moment in which a future learns how its task has ended; another thread may know, too."""
_DONE = frozenset({"CANCELLED", "CANCELLED_AND_NOTIFIED", "FINISHED"})
"""The states of `concurrent.futures` of a future that is done."""
_CANCELLED = "TaskCancelled"
"""What the core calls the failure of a task that was cancelled."""


class _Stayed(enum.Enum):
    """Instead of a value that has stayed on the rank that made it."""

    STAYED = 0


STAYED: Final = _Stayed.STAYED


def limit_of(timeout: float | None) -> float | None:
    """Return how long to wait; as Python's executors have it, what is left may be below 0."""
    over = isinstance(timeout, int | float) and timeout < 0
    return 0.0 if over else to_wait(timeout, "timeout")


class Future(concurrent.futures.Future[R]):
    """A `concurrent.futures.Future`; given to another task of its pool, it is that task's input."""

    members: Sequence[Future[object]] = ()
    """Those of the tasks that start together, of whose results it is made."""

    def __init__(self, core: TaskCore) -> None:
        super().__init__()
        self.core = core
        """The pool that it belongs to."""
        self.task: TaskState | None = None
        """What that knows it by; None for one whose result was in the journal."""
        self._fetched: R | _Stayed = STAYED
        self.first: TaskState | None = None
        """The first of the tasks that start together, of whose results it is made."""
        self.key: str | None = None
        self.function = ""
        self.for_journal = False
        """Whether the journal is to have the result, which then cannot stay on its rank."""
        self._parts: list[Future[R]] = []
        self._ends: _core.ServingEvent | None = None
        """Of threads that serve while they wait; set as soon as the end is known."""
        self._to_be_cancelled = False
        self._has_ended = False

    def __reduce__(self) -> NoReturn:
        """Refuse: what `submit` finds among arguments is a task's input, and no other is."""
        raise TypeError(
            f"a future cannot be sent in a function or a result: got {self!r}; allowed: a future "
            "among the arguments of a task, which gets its result"
        )

    @property
    def parts(self) -> list[Future[R]]:
        """What each rank of the team returned, by its rank: of a task with ``keep="parts"``.

        They stay where they were made, until a task on another rank has one as input, or `result`
        asks for it. Empty for other tasks.
        """
        if not self._parts and self.task is not None:
            made: list[Future[R]] = [Future(self.core) for _ in self.task.parts]
            for part, state in zip(made, self.task.parts, strict=True):
                part.task = state
                self.add_done_callback(part._follow)
            self._parts = self._parts or made  # another thread may have made them
        return list(self._parts)

    def _follow(self, whole: Future[R]) -> None:
        """Be told what came of the task of which this is a part."""
        if whole.cancelled():
            self.become_cancelled()
        elif (error := whole.exception()) is not None:
            self.settle(Outcome(error=error))
        else:
            self.settle(Outcome(STAYED))

    def cancel(self, *, running: bool = False) -> bool:
        """Keep the task from beginning; False when it has begun, or is done.

        With `running` also a task that runs is cancelled: `result` raises CancelledError at once,
        programs that it runs by `fl.command` are killed, calls of Fluvial in which it waits raise
        `fl.TaskCancelled` there (of a team, if the task has the option `fresh`), and
        `fl.task_cancelled` tells the function. In a task on one rank that has not
        asked for half a second, `fl.TaskCancelled` is also raised in the function's own Python
        code, once, as Ctrl-C raises KeyboardInterrupt. What
        catches it, or is in other code, runs to its end. Its ranks are used again when they have
        come back.
        """
        to_choice(running, "running", (True, False))
        state = self.begin_cancelling()
        if state is None:
            return self.cancelled()
        if not self.core.cancel(state, running):
            return False
        self.become_cancelled()
        concurrent.futures.wait([self])  # for the thread that has the word
        return True

    def add_done_callback(self, fn: Callable[[Future[R]], object]) -> None:
        """As `concurrent.futures` has it; SystemExit of a callback does not end the pool either."""
        super().add_done_callback(functools.partial(_called, fn))

    def begin_cancelling(self) -> TaskState | None:
        """Return the task that the core is to cancel; None when the future is done.

        What the core says of the task may come before its result.
        """
        if self.done() or self.task is None:
            return None
        self._to_be_cancelled = True
        return self.first or self.task  # of those that start together; with it, all are cancelled

    def become_cancelled(self) -> None:
        """Be told that the task will not begin."""
        if self._end_once() and super().cancel():
            self.set_running_or_notify_cancel()

    def _end_once(self) -> bool:
        """Tell whether this call is the one that says how the task has ended."""
        with _ENDING:
            ended, self._has_ended = self._has_ended, True
            if self._ends is not None:
                self._ends.set()
        return not ended and not self.done()

    def done(self) -> bool:
        """Tell whether it has a result or an error, or was cancelled.

        Without the future's lock: Ctrl-C in the moment in which Python takes that (its Condition is
        no part of the interpreter) leaves it taken for ever, and the thread that serves
        the pool asks this.
        """
        return self._state in _DONE

    def running(self) -> bool:
        """Tell whether its ranks have it."""
        if self.done() or self.task is None:
            return False
        self.core.check_process()
        return bool(self.task.running or (self.first is not None and self.first.running))

    def result(self, timeout: float | None = None) -> R:
        """Return what the task returned; fetch it, once, where it has stayed on its rank (`keep`).

        Meanwhile this thread serves its streams and scans, as in every wait of the library.

        Raises
        ------
        TimeoutError
            When it has not come in `timeout` seconds.
        PeerLost, PeerStalled
            When that rank is lost.
        Error
            When the pool was shut down before.
        InvalidArgument
            When it is not done, in a child by fork or in a callback: it would never be.
        """
        begin, timeout = time.monotonic(), limit_of(timeout)
        value = super().result(self._serve_until_it_ends(timeout))
        if value is not STAYED:
            return value
        if isinstance(self._fetched, _Stayed):
            left = math.inf if timeout is None else timeout - (time.monotonic() - begin)
            assert self.task is not None  # what has stayed on a rank is of a task that ran
            message = self.core.result(self.task, max(0.0, left))
            if message is None:
                raise TimeoutError
            self._fetched = cast(R, unpacked(message))
        return self._fetched

    def exception(self, timeout: float | None = None) -> BaseException | None:
        """Return what the task raised, or None; waits as `result` does."""
        return super().exception(self._serve_until_it_ends(limit_of(timeout)))

    def _serve_until_it_ends(self, timeout: float | None) -> float | None:
        """Serve the streams of this thread, if it has any; return how long to wait afterwards.

        Python's own wait, which follows, costs less; it is short when the end is known.
        """
        if self.done():
            return timeout
        self.core.check_process()
        if timeout is None and serves_here(self.core):
            raise _core.InvalidArgument(
                f"it would be waited for in vain: got {shown(self)} in the thread that serves the "
                "pool, which calls callbacks, and runs the tasks of a pool of one process; "
                "allowed: futures that are done, or a time limit. Add a callback to this future, "
                "or return further tasks (fluvial.task)"
            )
        if not _core.serves():
            return timeout
        with _ENDING:
            if self._has_ended:
                return timeout
            ends = self._ends = self._ends or _core.ServingEvent()
        begin = time.monotonic()
        ends.wait(math.inf if timeout is None else timeout)
        return None if timeout is None else max(0.0, timeout - (time.monotonic() - begin))

    def settle(self, outcome: Outcome) -> None:
        """Be told what came of the task."""
        if outcome.cancelled and self._to_be_cancelled:
            self.become_cancelled()
            return
        if not self._end_once():
            return
        self.first = None  # it has a result of its own
        if self.members:
            self.members = ()
        if outcome.error is None:
            self.set_result(cast(R, outcome.value))
        else:
            self.set_exception(outcome.error)


def _called(fn: Callable[[Future[R]], object], future: Future[R]) -> None:
    try:
        fn(future)
    except Exception:
        raise  # Python says so, and goes on
    except BaseException:
        # In the program's thread it is the program's, as Ctrl-C is.
        if threading.current_thread() is threading.main_thread():
            raise
        _LOGGER.exception("exception calling callback for %r", future)


AnyFuture: TypeAlias = Future[Any]
"""One of whatever result."""


@dataclass(frozen=True)
class Outcome:
    """What came of a task."""

    value: object = None
    error: BaseException | None = None
    cancelled: bool = False

    @classmethod
    def of(
        cls, result: bytearray | None, failure: Failure | None, key: str | None = None
    ) -> Outcome:
        """Read what the core says of it; what it says itself does not tell the task's `key`."""
        try:
            if failure is None:
                return cls(STAYED if result is None else unpacked(result))
            error = error_of(*failure)
            if key is not None and not failure[3]:
                error.add_note(f"The key of the task is {shown(key)}.")
            return cls(error=error, cancelled=failure[0] == _CANCELLED)
        except BaseException as error:  # what came cannot be read here
            return cls(error=error)


def error_of(kind: str, message: str, rank: int, details: bytes | bytearray) -> BaseException:
    """Return the exception of a failure, as the core says it."""
    if details:
        raised, text = unpacked(bytearray(details))
        if not isinstance(raised, BaseException):
            raised = _core.Error(message)
        raised.__cause__ = RemoteTraceback(f"rank {rank} of the pool: {text}")
        return raised
    error: BaseException = getattr(_core, kind, _core.Error)(
        message if rank < 0 else f"rank {rank} of the pool: {message}"
    )
    return error
