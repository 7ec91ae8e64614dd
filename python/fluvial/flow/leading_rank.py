# SPDX-License-Identifier: Apache-2.0
"""A rank of an MPI job that a serial program has started for its pool (`started_job`).

usage: leading_rank.py SOCKET
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from .. import _core
from .busy_ranks import BusyRanks
from .forked_function import end_child
from .job_socket import connected
from .task_core import JobFailure
from .tasks import TaskRunner, packed_error

if TYPE_CHECKING:
    from mpi4py import MPI

    from .main_names import MainNames
    from .sent_calls import SentCall, SentInput, SentOptions
    from .task_core import CoreCall, CoreInput, CoreSettings, Failure, Report, TaskCore, TaskState

_Request: TypeAlias = (
    tuple[Literal["timeline", "busy"], object]
    | tuple[Literal["result"], tuple[int, float]]
    | tuple[Literal["cancel"], tuple[list[int], bool]]
    | tuple[Literal["running"], int]
)
"""What the program asks, and of what."""
_LOOK_EVERY_S = 0.5
_END_TIMEOUT_S = 10.0
_LEAD_ABORTS_S = 10.0


class Lead:
    """The first rank: does what the program says, and tells it what came of it."""

    def __init__(
        self, tasks: Connection, requests: Connection, core: TaskCore, trace: bool
    ) -> None:
        self._tasks = tasks
        self._requests = requests
        self._core = core
        self._trace = trace
        self._states: dict[int, TaskState] = {}
        self._numbers: dict[int, int] = {}  # the program's, by the core's
        self._busy = BusyRanks(core.workers)
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._closing = threading.Event()
        self._refused: list[Report] = []  # of tasks that the core refused: the program is told

    def run(self) -> None:
        """Serve until the program closes the pool."""
        threads = [
            threading.Thread(target=work, daemon=True) for work in (self._take_tasks, self._reply)
        ]
        for thread in threads:
            thread.start()
        while True:
            closing = self._closing.is_set()
            with self._lock:
                waits = bool(self._numbers) or not closing
            done = self._core.wait_for_some(_LOOK_EVERY_S if waits else 0)
            with self._lock:
                told = [self._told(*one) for one in done] + self._refused
                self._refused = []
                left = len(self._numbers)
            if told:
                self._tasks.send(told)
            if closing and not left:
                break
        failure = None
        try:
            self._core.close()
        except _core.Error as error:
            failure = type(error).__name__, str(error)
        self._tasks.send((failure, self._core.timeline() if self._trace else None))
        if failure is not None:
            _abort()  # MPI_Finalize would wait for the ranks that are lost
        for thread in threads:  # the program closes its ends when it knows
            thread.join(_END_TIMEOUT_S)

    def _told(
        self,
        number: int,
        result: bytearray | None,
        failure: Failure | None,
        further: bytearray | None,
    ) -> Report:
        if further is not None:
            return self._numbers[number], result, failure, further
        self._busy.remove(number)
        return self._numbers.pop(number), result, failure, further

    def _take_tasks(self) -> None:
        try:
            while not self._closing.is_set():
                word, *arguments, forgotten = self._tasks.recv()
                if word == "submit":
                    self._submit(*arguments)
                elif word == "together":
                    self._submit_together(*arguments)
                elif word in ("known", "failed"):
                    number, message = arguments
                    with self._lock:
                        self._states[number] = getattr(self._core, word)([message])
                        self._arrived.notify_all()
                elif word == "follow":
                    with self._lock:
                        self._core.follow(*(self._states[number] for number in arguments))
                else:
                    self._closing.set()
                    self._core.wake()
                with self._lock:
                    for number in forgotten:
                        self._states.pop(number, None)
        except (EOFError, OSError):  # the program is gone
            os._exit(1)
        except BaseException:  # the program is to be told, and would wait for what is not done
            traceback.print_exc()
            _abort()

    def _submit(
        self, number: int, message: bytes, inputs: list[SentInput], options: SentOptions
    ) -> None:
        self._submit_together([(number, message, inputs, options)], alone=True)

    def _submit_together(self, calls: list[SentCall], alone: bool = False) -> None:
        with self._lock:
            try:
                numbers = [call[3].pop("part_numbers") for call in calls]
                wanted = [self._wanted(*call[1:]) for call in calls]
                states = (
                    [self._core.submit(*wanted[0])] if alone else self._core.submit_together(wanted)
                )
            except _core.Error as error:
                failure = type(error).__name__, str(error), -1, b""
                for call, part_numbers in zip(calls, numbers, strict=True):
                    self._refused.append((call[0], None, failure, None))
                    for number in (call[0], *part_numbers):
                        self._states[number] = self._core.failed(packed_error(error))
                self._arrived.notify_all()
                self._core.wake()
                return
            for call, part_numbers, state in zip(calls, numbers, states, strict=True):
                self._states.update(zip(part_numbers, state.parts, strict=True))
                self._note(call[0], state)
                self._busy.add(state, call[3]["ranks"])

    def _wanted(self, message: bytes, inputs: list[SentInput], options: SentOptions) -> CoreCall:
        if (near := options.pop("near_task")) is not None:
            options["near"] = self._states[near]
        states: list[CoreInput] = [
            (self._states[one[0]],) if isinstance(one, tuple) else self._states[one]
            for one in inputs
        ]
        return [message], states, options

    def _note(self, number: int, state: TaskState) -> None:
        self._states[number] = state
        self._numbers[state.number] = number
        self._arrived.notify_all()

    def _state_of(self, number: int) -> TaskState | None:
        """Of a task that has been sent; a request may come before it, on the other socket."""
        with self._arrived:
            self._arrived.wait_for(lambda: number in self._states, _END_TIMEOUT_S)
            return self._states.get(number)

    def _result(
        self, number: int, timeout: float
    ) -> tuple[bytearray | None, tuple[str, str] | None]:
        """Return (the result, or None; what the core raised)."""
        try:
            return self._core.result(self._states[number], timeout), None
        except _core.Error as error:
            return None, (type(error).__name__, str(error))

    def _reply(self) -> None:
        try:
            while True:
                number, word, about = self._requests.recv()
                self._requests.send((number, self._reply_to((word, about))))
        except (EOFError, OSError):  # the program is gone
            pass
        except BaseException:
            traceback.print_exc()
            _abort()

    def _reply_to(self, request: _Request) -> object:
        if request[0] == "timeline":
            return self._core.timeline()
        if request[0] == "busy":
            with self._lock:
                return self._busy.count()
        if request[0] == "result":
            return self._result(*request[1])
        if request[0] == "cancel":
            numbers, running = request[1]
            return [self._cancel(number, running) for number in numbers]
        state = self._state_of(request[1])
        return state is not None and state.running

    def _cancel(self, number: int, running: bool) -> bool:
        state = self._state_of(number)
        return state is not None and self._core.cancel(state, running)


def _abort() -> None:
    from mpi4py import MPI

    MPI.COMM_WORLD.Abort(1)


def _initialize(comm: MPI.Comm, shipped: bytes | None, names: MainNames) -> None:
    """Call the initializer where tasks will run, and raise on all ranks when it fails on one."""
    failed = None
    process = os.getpid()
    try:
        if shipped is not None:
            with names.in_use():
                initializer, arguments = pickle.loads(shipped)
            if initializer is not None:
                initializer(*arguments)
                if os.getpid() != process:
                    end_child(None)
    except BaseException as error:  # SystemExit, too: the others wait for this rank's word
        if os.getpid() != process:
            end_child(error)
        traceback.print_exc()
        sys.stderr.flush()
        failed = "".join(traceback.format_exception_only(error)).strip()
    found = comm.allgather(failed)
    why = next(filter(None, found), None)
    if why is not None:
        raise _core.PeerLost(
            f"the initializer of a pool failed on rank {found.index(why)} of its job, which has "
            f"ended: got {why}"
        )


def _read_nothing() -> None:
    """Have tasks, and programs that they start, find an empty standard input.

    What mpiexec gives to a rank may be a pipe that never ends.
    """
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)


def main() -> int:
    """Lead, on the first rank; run tasks on the others."""
    from mpi4py import MPI

    _read_nothing()
    comm = MPI.COMM_WORLD
    if comm.rank > 0:
        settings, shipped = comm.bcast(None)
        try:
            core = _pool(comm, settings, shipped)
        except _core.Error:
            time.sleep(_LEAD_ABORTS_S)  # once it has told the program
            raise
        core.close()
        return 0
    tasks, requests = connected(sys.argv[1]), connected(sys.argv[1])
    settings, shipped = comm.bcast(tasks.recv())
    lead_works, _, _, trace = settings[-4:]
    try:
        core = _pool(comm, settings, shipped if lead_works else None)
    except _core.Error as error:
        tasks.send(JobFailure(type(error).__name__, str(error)))
        _abort()
        return 1  # while the launcher ends the job
    Lead(tasks, requests, core, trace).run()
    return 0


def _pool(comm: MPI.Comm, settings: CoreSettings, shipped: bytes | None) -> TaskCore:
    runner = TaskRunner()
    _initialize(comm, shipped, runner.names)
    return cast("TaskCore", _core.TaskPool(comm.py2f(), runner.run, *settings))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        _abort()  # MPI_Finalize would wait for the others
