# SPDX-License-Identifier: Apache-2.0
"""A pool of an MPI job that a serial program has started for it: the program's side.

The first rank of the job leads the real pool (`leading_rank`); this side has the calls of the
core's pool, and hands them on over two sockets (`job_socket`): one for tasks and what came of them,
one for requests that are answered at once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeAlias, cast

from .. import _core
from ..base.made_here import MadeHere
from ..launch.job import Job
from ..launch.launcher import Launcher
from ..launch.parent_only import give_up_in_children
from . import job_socket
from .busy_ranks import Busy
from .options import PARTS
from .payload import Part
from .sent_calls import StartedTask, sent_call
from .task_core import (
    CoreCall,
    CoreInput,
    CoreOptions,
    CoreSettings,
    JobFailure,
    Report,
    TaskState,
)
from .timeline import Record

_Said: TypeAlias = list[Report] | tuple[tuple[str, str] | None, Record | None]
"""By the lead: what came of tasks, and at the end what its pool has raised, and the timeline."""
START_TIMEOUT_S = 120.0
_LOOK_EVERY_S = 0.1
_ENDS_ITSELF_S = 10.0
_LONGEST_REPLY_S = 0.05
_CANCELLED_TOGETHER = 1000  # a request is written, and its reply read, at once: Ctrl-C splits none
_FEWER = "Ask for fewer ranks, or start a larger pool"


class StartedJob:
    """Starts `workers` ranks and their servers; the one that leads may be one of them.

    It has the calls of the core's `TaskPool`; `settings` are those of that.

    Raises
    ------
    InvalidArgument
        When some server would have nobody to serve.
    PeerLost
        When the job ends before it has begun, and by `wait_for_some` when it ends later; it says
        what the initializer has raised.
    TimedOut
        When it has not begun after two minutes.
    """

    leads = True
    rank = 0

    def __init__(self, workers: int, settings: CoreSettings, initializer: bytes) -> None:
        lead_works, servers, _, self._traces = settings[-4:]
        if servers - 1 > workers:
            raise _core.InvalidArgument(
                f"the number of servers of a pool is out of range: got {servers}; allowed: 1 to "
                f"{workers + 1} for {workers} workers. Each server other than the lead needs a "
                "rank that runs tasks"
            )
        self.workers = workers
        self.size = workers + max(servers, 1) - lead_works
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        self._asking = threading.Lock()
        self._receiving = threading.Lock()
        self._failed: JobFailure | None = None
        self._forgotten: list[int] = []
        self._timeline: Record | None = None  # the whole, when the job has ended
        self._request_numbers = itertools.count(1)
        self._closed = False
        self._waking = threading.Lock()
        self._made = MadeHere()
        listener, name = job_socket.listening()
        with listener:
            self._job = _start(self.size, name)
            try:
                self._tasks = self._accept(listener)
                self._requests = self._accept(listener)
                self._woken: tuple[int, int] | None = os.pipe()
            except BaseException:
                self._job.kill()
                raise
        give_up_in_children(self)
        try:
            self._tasks.send((settings, initializer))
        except OSError:
            self._close_ends()
            raise self._ended() from None

    def _accept(self, listener: socket.socket) -> Connection:
        listener.settimeout(_LOOK_EVERY_S)
        until = time.monotonic() + START_TIMEOUT_S  # also if other users connect again and again
        while time.monotonic() < until:
            try:
                if (connection := job_socket.accepted(listener)) is not None:
                    return connection
            except TimeoutError:
                if self._job.poll() is not None:
                    raise self._ended() from None
        raise _core.TimedOut(
            f"the job of a pool did not begin in time: got no word for {START_TIMEOUT_S:g} s"
        )

    def submit(
        self, parts: list[Part], futures: list[CoreInput], options: CoreOptions
    ) -> StartedTask:
        """Send a task.

        Raises
        ------
        InvalidArgument
            It wants more ranks than run tasks.
        """
        self._check_width(options["ranks"])
        task = self._new_task(options)
        self._send("submit", *sent_call(task, parts, futures, options))
        return task

    def _check_width(self, widths: list[int]) -> None:
        """Refuse, as the pool of the job would, which could only tell the task's future."""
        least, most = widths[0], widths[-1]
        if least > self.workers:
            raise _core.InvalidArgument(
                "no team can be as wide as a task wants: got "
                f"{least if least == most else f'{least} to {most}'} ranks; allowed: 1 to "
                f"{self.workers} ranks of this pool that serve. {_FEWER}"
            )

    def _new_task(self, options: CoreOptions | None = None) -> StartedTask:
        keeps_parts = options is not None and options["keep"] == PARTS
        count = options["ranks"][0] if options is not None and keeps_parts else 0
        parts = [self._new_task() for _ in range(count)]
        return StartedTask(next(self._numbers), self._ask, self._forgotten.append, parts)

    def submit_together(self, tasks: list[CoreCall]) -> list[StartedTask]:
        """Send tasks that start together: of each what `submit` takes.

        Raises
        ------
        InvalidArgument
            There is none, or they want more ranks than run tasks.
        """
        ranks = sum(options["ranks"][0] for _, _, options in tasks)
        if not tasks or ranks > self.workers:
            raise _core.InvalidArgument(
                f"these tasks cannot start together: got {len(tasks)} tasks on {ranks} ranks; "
                f"allowed: 1 task or more, on up to {self.workers} ranks of this pool that serve. "
                f"{_FEWER}"
            )
        started = [self._new_task(options) for _, _, options in tasks]
        calls = [sent_call(task, *wanted) for task, wanted in zip(started, tasks, strict=True)]
        self._send("together", calls)
        return started

    def known(self, parts: list[Part]) -> StartedTask:
        """Return a task that is done, with this result."""
        return self._send_done("known", parts)

    def failed(self, parts: list[Part]) -> StartedTask:
        """Return a task that is done, and has raised this."""
        return self._send_done("failed", parts)

    def _send_done(self, word: str, parts: list[Part]) -> StartedTask:
        task = self._new_task()
        self._send(word, task.number, b"".join(parts))
        return task

    def follow(self, task: TaskState, other: TaskState) -> None:
        """Give a task that continues the other's result."""
        self._send("follow", task.number, other.number)

    def wait_for_some(self, timeout: float) -> list[Report]:
        """Return what is done, at the latest after `timeout` seconds, or when it is woken."""
        assert self._woken is not None  # the thread that waits is the one that closes
        woken = self._woken[0]
        try:
            ready = wait([self._tasks, woken], timeout)
            if woken in ready:
                os.read(woken, 1024)
            return cast("list[Report]", self._receive([])) if self._tasks in ready else []
        except (EOFError, OSError):
            raise self._ended() from None

    def _receive(self, nothing: _Said | None) -> _Said | None:
        """Return what the lead has said; `nothing` where another thread has taken that."""
        with self._receiving:
            said = self._tasks.recv() if self._tasks.poll(0) else nothing
            if isinstance(said, JobFailure):
                self._failed = said
                raise EOFError  # it says nothing more
            return said

    def wake(self) -> None:
        """End a wait."""
        with self._waking:  # the number of a pipe that is closed may be a file's by now
            if self._woken is not None:
                os.write(self._woken[1], b"w")

    def result(self, task: TaskState, timeout: float) -> bytearray | None:
        """Return the result of a task that is done; None when it has not come in that time."""
        end = time.monotonic() + timeout
        while True:  # in short turns, between which others can ask
            left = max(0.0, end - time.monotonic())
            reply = self._ask("result", (task.number, min(left, _LONGEST_REPLY_S)))
            if not reply and self._closed:
                raise _core.Error(
                    "a result cannot be fetched: got a pool that was shut down; allowed: result() "
                    "before shutdown()"
                )
            if not reply:
                raise self._ended()
            result, failure = reply
            if failure is not None:
                raise getattr(_core, failure[0], _core.Error)(failure[1])
            if result is not None:
                return bytearray(result)
            if left <= _LONGEST_REPLY_S:
                return None

    def cancel(self, task: TaskState, running: bool = False) -> bool:
        """Keep a task from beginning, or tell the ranks that run it that nobody waits for it."""
        return self.cancel_together([task], running)[0]

    def cancel_together(self, tasks: Sequence[TaskState], running: bool = False) -> list[bool]:
        """Cancel many tasks, as `cancel` does each of them; one request for a thousand."""
        replies: list[bool] = []
        for first in range(0, len(tasks), _CANCELLED_TOGETHER):
            numbers = [task.number for task in tasks[first : first + _CANCELLED_TOGETHER]]
            replies += self._ask("cancel", (numbers, running)) or [False] * len(numbers)
        return replies

    def timeline(self) -> Record | None:
        """Return what the ranks have done, as the core does; None when the job broke off."""
        if not self._traces:
            raise _core.InvalidArgument(
                "there is no timeline: got a pool without trace; allowed: a pool with trace=True"
            )
        return self._timeline or self._ask("timeline", 0) or None

    def busy(self) -> Busy | None:
        """Return how many ranks have tasks; None when the job broke off, or has been closed."""
        return self._ask("busy", 0) or None

    def close(self) -> None:
        """End the job, when all tasks are done; raise what its pool raised."""
        self._send("close")
        try:
            said: _Said | None = []
            while isinstance(said, list):  # what came of tasks whose futures know it: cancelled
                self._tasks.poll(None)
                said = self._receive((None, None))
            assert said is not None
            failure, self._timeline = said
        except (EOFError, OSError):
            raise self._ended() from None
        finally:
            self._close_ends()
        self._job.wait()
        if failure is not None:
            raise getattr(_core, failure[0], _core.Error)(failure[1])

    def check_process(self) -> None:
        """Raise InvalidArgument in a child by fork(): the tasks are those of its parent."""
        self._made.check("the pool")

    def give_up(self) -> None:
        """Close the ends in a child by fork(): the lead is to see when the program is gone."""
        self._tasks.close()
        self._requests.close()
        self._close_pipe()

    def _close_ends(self) -> None:
        self._closed = True
        with self._sending:
            self._tasks.close()
        with self._asking:
            self._requests.close()
        with self._waking:
            self._close_pipe()

    def _close_pipe(self) -> None:
        ends, self._woken = self._woken, None
        for end in ends or ():
            os.close(end)

    def _send(self, *message: object) -> None:
        self.check_process()
        with self._sending:
            forgotten = [self._forgotten.pop() for _ in range(len(self._forgotten))]
            written = pickle.dumps((*message, forgotten), protocol=5)
            try:
                self._tasks.send_bytes(written)
            except OSError:
                self._hear_why()
                raise self._ended() from None
            except BaseException:  # KeyboardInterrupt: the lead would wait for the rest
                self._job.kill()
                raise

    def _ask(self, word: str, about: object) -> Any:
        self.check_process()
        with self._asking:
            number = next(self._request_numbers)
            try:
                self._requests.send((number, word, about))
                while True:
                    number_there, reply = self._requests.recv()
                    if number_there == number:  # earlier ones were broken off by KeyboardInterrupt
                        return reply
            except (EOFError, OSError):
                return False  # the job has ended, and futures are told so

    def _hear_why(self) -> None:
        """Read what the lead has said before it ended."""
        with contextlib.suppress(EOFError, OSError):
            while self._receive(None) is not None:
                pass

    def _ended(self) -> Exception:
        if self._failed is not None:
            self._job.kill()
            kind = getattr(_core, self._failed.kind, _core.Error)
            assert issubclass(kind, Exception)
            return kind(self._failed.message)
        return _core.PeerLost(
            f"the MPI job of a pool has ended: got {self._exit_code()}. A rank has died, or could "
            "not start; what it printed says more"
        )

    def _exit_code(self) -> str:
        """End the job, of which the lead has died, and return the exit code if it has one itself.

        Of a rank that was killed its launcher knows, which first ends the others, the lead too.
        """
        try:
            return f"exit code {self._job.wait(_ENDS_ITSELF_S)}"
        except subprocess.TimeoutExpired:
            self._job.kill()
            return f"no exit code within {_ENDS_ITSELF_S:g} s"


def _start(ranks: int, name: str) -> Job:
    launcher = Launcher.detect(_core.mpiexec() or None)
    search = os.pathsep.join(filter(None, sys.path))  # functions are found where they are here
    argv = [sys.executable, "-m", "fluvial.flow.leading_rank", name]
    return launcher.start(ranks, argv, name="pool", env={"PYTHONPATH": search})
