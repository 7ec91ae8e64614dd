# SPDX-License-Identifier: Apache-2.0
"""Executes steps as their inputs come, and submits tasks to a pool.

All of it happens in one thread. What it does in one turn, the first that applies:

| there is | the engine |
|---|---|
| a step whose input has come, or a block to begin | executes it |
| a loop, and room in the window | begins its next iteration; of the loop that began last |
| a task that is done, as far as is known here | sets its outputs |
| calls of C++ that were put together | submits them |
| a task that runs | waits for one; takes all that are done |
| a loop, but no room | begins an iteration all the same: those before it wait for it |
| nothing | ends; steps that still wait will do so for ever, and are reported |
"""

from __future__ import annotations

import collections
import os
import queue
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, TypeAlias, TypedDict, Unpack, cast

from ..flow.exported import ExportedTask
from ..flow.future import AnyFuture
from .failures import ScriptFailed, failed_step, never_set
from .frames import Activity, Frame, Step, StepBlock, array_at
from .standard_library import flush
from .variables import UNSET, ArrayValue, Blocked, SetTwice, Variable

_WINDOW_OF_A_WORKER = 64
_WINDOW_MIN = 1024


class CallOptions(TypedDict, total=False):
    """What a call of a script says of its task, as `Pool.with_options` takes it."""

    ranks: int
    priority: float
    near: int | None
    strict: bool
    kind: str


OptionItems: TypeAlias = tuple[tuple[str, object], ...]
"""`CallOptions` as items, which can be the key of a dict."""
Token: TypeAlias = tuple[Callable[..., None], Frame]
"""What is told what came of a task, and the frame of the call."""
ToldCall: TypeAlias = tuple[Token, bytes | bytearray | None, BaseException | None]
"""Of a call of an exported function: its token, the message of its result, or an error."""
Receiver: TypeAlias = Callable[[Sequence[ToldCall]], object]
"""Is given what came of some calls that are done."""


def options_of(items: OptionItems) -> CallOptions:
    """Return the options that were made items."""
    return cast(CallOptions, dict(items))


class Done(Protocol):
    """The future of a task that is done."""

    def exception(self) -> BaseException | None:
        """Return what the task has raised."""

    def result(self) -> object:
        """Return what it has returned."""


Arrival: TypeAlias = tuple[Token, Done] | ToldCall
"""What came of a task."""


class Loop(Protocol):
    """What begins its iterations when it is told to."""

    def advance(self) -> bool:
        """Begin one; False when there is none left."""


_CALLS_TOGETHER = 64


class Tasks(Protocol):
    """What runs tasks."""

    def submit(
        self,
        function: Callable[..., object],
        *arguments: object,
        **options: Unpack[CallOptions],
    ) -> AnyFuture:
        """Submit a task; return its future."""

    def submit_exported(
        self,
        task: ExportedTask,
        calls: list[bytes],
        tokens: list[Token],
        told: Receiver,
        options: OptionItems,
    ) -> None:
        """Submit exported C++ functions (`ExportedCalls.submit`)."""


class Calls:
    """Calls of an exported C++ function, put together until there are enough of them."""

    __slots__ = ("messages", "options", "task", "tokens")

    def __init__(self, task: ExportedTask, options: OptionItems) -> None:
        self.task = task
        self.options = options
        self.messages: list[bytes] = []
        self.tokens: list[Token] = []


class Engine:
    """See the table above.

    Parameters
    ----------
    tasks
        What runs tasks (`Tasks`); None where a class of its own says what comes of them.
    workers
        How many ranks there are for them.
    window
        How many iterations of loops may be under way before no more are begun.
    narrow
        A task for more ranks than there are gets all; otherwise it is an error.
    """

    def __init__(
        self, tasks: Tasks | None, workers: int, window: int | None = None, narrow: bool = False
    ) -> None:
        self.workers = workers
        self.narrow = narrow
        self.narrowed: set[str] = set()
        """Functions of which that has been said."""
        self.live = 0
        """Iterations under way."""
        self.window = window or max(_WINDOW_MIN, _WINDOW_OF_A_WORKER * workers)
        if tasks is not None:
            self._tasks = tasks
        self._ready: collections.deque[tuple[Step | StepBlock, Frame]] = collections.deque()
        self._loops: list[Loop] = []
        self._blocked: dict[int, tuple[Step, Frame, Variable]] = {}
        self._arriving: queue.SimpleQueue[Sequence[Arrival]] = queue.SimpleQueue()
        self._done: collections.deque[Arrival] = collections.deque()
        self._running = 0
        self._calls: dict[tuple[ExportedTask, OptionItems], Calls] = {}
        self._together: list[Calls] = []
        """Those that are not empty."""
        self._folder: str | None = None
        self._files = 0

    # --- what steps do

    def enter(self, block: StepBlock, frame: Frame) -> None:
        """Execute a block's steps, as far as their inputs are there."""
        for locate in block.opened:
            variable = locate(frame)
            if variable.value is UNSET:
                self.settle(variable, ArrayValue(variable.name))
        for locate, path in block.mapped:
            locate(frame).path = path(frame)
        for locate, count in block.writers:
            array_at(locate, frame).writers += count
        for step in block.steps:
            self.execute(step, frame)

    def begin(self, block: StepBlock, frame: Frame) -> None:
        """Enter a block later, when this step is done: calls do not nest on Python's stack."""
        frame.activity.hold()
        self._ready.append((block, frame))

    def execute(self, step: Step, frame: Frame) -> None:
        """Execute a step, or have it wait for its input."""
        try:
            step.action(frame)
        except Blocked as blocked:
            entry = (step, frame, blocked.variable)
            self._blocked[id(entry)] = entry
            waiting = blocked.variable.waiting
            if waiting is None:
                blocked.variable.waiting = [entry]
            else:
                waiting.append(entry)
            frame.activity.hold()
            return
        except ScriptFailed:
            raise
        except Exception as error:
            raise failed_step(error, step.place, frame) from error
        for locate in step.writes:
            self.release(array_at(locate, frame))

    def settle(self, variable: Variable, value: object) -> None:
        """Set a variable; steps that wait for it are ready."""
        if variable.value is not UNSET:
            raise SetTwice(f"{variable.name or 'a variable'} is set twice")
        variable.value = value
        self._wake(variable)

    def release(self, array: ArrayValue) -> None:
        """Note that one of the steps that may add elements will add no more."""
        array.writers -= 1
        if array.writers == 0:
            self._close(array)

    def _close(self, array: ArrayValue) -> None:
        array.closing.value = array
        self._wake(array.closing)
        for asked in array.asked.values():
            self._wake(asked)  # they find that it will not come
        for nested in array.nested:
            self._close(nested)
        array.nested = []

    def _wake(self, variable: Variable) -> None:
        if variable.waiting is not None:
            for entry in variable.waiting:
                step, frame, _ = self._blocked.pop(id(entry))
                self._ready.append((step, frame))
            variable.waiting = None

    def add_loop(self, loop: Loop) -> None:
        """Begin iterations of a loop when there is room."""
        self._loops.append(loop)

    def submit(
        self,
        frame: Frame,
        settle: Callable[[Done], None],
        function: Callable[..., object],
        *arguments: object,
        **options: Unpack[CallOptions],
    ) -> None:
        """Submit a task; `settle` is told its future when that is done."""
        future = self._tasks.submit(function, *arguments, **options)
        self._running += 1
        frame.activity.hold()
        future.add_done_callback(lambda done: self._arriving.put([((settle, frame), done)]))

    def calls_of(self, task: ExportedTask, options: OptionItems) -> Calls:
        """Return what puts calls of an exported C++ function with such options together."""
        found = self._calls.get((task, options))
        if found is None:
            found = self._calls[task, options] = Calls(task, options)
        return found

    def call_exported(
        self,
        frame: Frame,
        settle: Callable[[bytes, BaseException | None], None],
        calls: Calls,
        message: bytes,
    ) -> None:
        """Call an exported C++ function, soon; `settle` gets its result's message, or an error."""
        self._running += 1
        frame.activity.hold()
        messages = calls.messages
        if not messages:
            self._together.append(calls)
        messages.append(message)
        calls.tokens.append((settle, frame))
        if len(messages) == _CALLS_TOGETHER:
            self._together.remove(calls)
            self._submit_calls(calls)

    def _submit_calls(self, calls: Calls) -> None:
        messages, tokens = calls.messages, calls.tokens
        calls.messages, calls.tokens = [], []
        self._tasks.submit_exported(calls.task, messages, tokens, self._arriving.put, calls.options)

    def new_path(self, name: str) -> str:
        """Return the path of a file that has none: below the working directory, until the end."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix=".fluvial-swift-", dir=os.curdir)
        self._files += 1
        return os.path.join(self._folder, f"{self._files}-{name or 'file'}")

    # --- the turns

    def run(self, blocks: Iterable[tuple[StepBlock, Frame]]) -> None:
        """Execute a program until nothing is left to do.

        Raises
        ------
        ScriptFailed
            When a step or a task fails, and when some wait for what nothing will set.
        """
        try:
            for block, frame in blocks:
                self.begin(block, frame)
            while self._turn():
                pass
            if self._blocked:
                raise never_set(list(self._blocked.values()))
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(
                f"{self._running} tasks and {self.live} iterations were under way, "
                f"{len(self._blocked)} statements waited"
            )
            raise
        finally:
            flush()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _turn(self) -> bool:
        if self._ready:
            self._resume(*self._ready.popleft())
        elif self._loops and self.live < self.window:
            self._advance()
        elif self._done:
            self._settle_one()
        elif self._together:
            self._submit_calls(self._together.pop())
        elif self._running:
            self._wait()
        elif self._loops:
            self._advance()
        else:
            return False
        return True

    def _resume(self, what: Step | StepBlock, frame: Frame) -> None:
        if isinstance(what, Step):
            self.execute(what, frame)
        else:
            self.enter(what, frame)
        frame.activity.release()

    def _advance(self) -> None:
        loop = self._loops[-1]
        if not loop.advance() and loop in self._loops:
            self._loops.remove(loop)

    def _wait(self) -> None:
        """Wait for tasks that are done, and take them all."""
        if self._arriving.empty():
            flush()
        self._done.extend(self._arriving.get())

    def _settle_one(self) -> None:
        (settle, frame), *outcome = self._done.popleft()
        self._running -= 1
        settle(*outcome)
        frame.activity.release()


def idle() -> Activity:
    """Return the activity of a program: nothing waits for its end but the engine."""
    return Activity(lambda: None)
