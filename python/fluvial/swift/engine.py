# SPDX-License-Identifier: Apache-2.0
"""Executes steps as their inputs come, and submits tasks to a pool.

All of it happens in one thread. What it does in one turn, the first that applies:

| there is | the engine |
|---|---|
| a step whose input has come, or a block to begin | executes it |
| a loop, and room in the window | begins its next iteration; of the loop that began last |
| a task that is done | sets its outputs |
| a task that runs | waits for one |
| a loop, but no room | begins an iteration all the same: those before it wait for it |
| nothing | ends; steps that still wait will do so for ever, and are reported |
"""

from __future__ import annotations

import collections
import os
import queue
import shutil
import tempfile
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from .failures import ScriptFailed, failed_step, never_set
from .frames import Activity, Frame, Step, StepBlock, array_at
from .standard_library import flush
from .variables import UNSET, ArrayValue, Blocked, SetTwice, Variable

_WINDOW_OF_A_WORKER = 64
_WINDOW_MIN = 1024


class Loop(Protocol):
    """What begins its iterations when it is told to."""

    def advance(self) -> bool:
        """Begin one; False when there is none left."""


Submit = Callable[..., Any]
"""Takes a function and its arguments, and options of a task; gives the task to a pool, and returns
its future."""


class Engine:
    """See the table above.

    Parameters
    ----------
    submit
        What runs tasks.
    workers
        How many ranks there are for them.
    window
        How many iterations of loops may be under way before no more are begun.
    narrow
        A task for more ranks than there are gets all; otherwise it is an error.
    """

    def __init__(
        self, submit: Submit, workers: int, window: int | None = None, narrow: bool = False
    ) -> None:
        self.workers = workers
        self.narrow = narrow
        self.narrowed: set[str] = set()
        """Functions of which that has been said."""
        self.live = 0
        """Iterations under way."""
        self.window = window or max(_WINDOW_MIN, _WINDOW_OF_A_WORKER * workers)
        self._submit = submit
        self._ready: collections.deque[tuple[Any, Frame]] = collections.deque()
        self._loops: list[Loop] = []
        self._blocked: dict[int, tuple[Step, Frame, Variable]] = {}
        self._done: queue.SimpleQueue[tuple[Any, Any]] = queue.SimpleQueue()
        self._running = 0
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

    def settle(self, variable: Variable, value: Any) -> None:
        """Set a variable; steps that wait for it are ready."""
        if variable.value is not UNSET:
            raise SetTwice(f"{variable.name or 'a variable'} is set twice")
        variable.value = value
        self._wake(variable)

    def release(self, array: ArrayValue) -> None:
        """Note that one of those who may add elements will add no more."""
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
                del self._blocked[id(entry)]
                self._ready.append((entry[0], entry[1]))
            variable.waiting = None

    def add_loop(self, loop: Loop) -> None:
        """Begin iterations of a loop when there is room."""
        self._loops.append(loop)

    def submit(
        self,
        frame: Frame,
        settle: Callable[[Any], None],
        function: Callable[..., Any],
        *arguments: Any,
        **options: Any,
    ) -> None:
        """Submit a task; `settle` is told its future when that is done."""
        future = self._submit(function, *arguments, **options)
        self._running += 1
        frame.activity.hold()
        future.add_done_callback(lambda done: self._done.put(((settle, frame), done)))

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
        finally:
            flush()
            if self._folder is not None:
                shutil.rmtree(self._folder, ignore_errors=True)

    def _turn(self) -> bool:
        if self._ready:
            self._resume(*self._ready.popleft())
        elif self._loops and self.live < self.window:
            self._advance()
        elif not self._done.empty():
            self._settle_one()
        elif self._running:
            flush()
            self._settle_one()
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

    def _settle_one(self) -> None:
        (settle, frame), future = self._done.get()
        self._running -= 1
        settle(future)
        frame.activity.release()


def idle() -> Activity:
    """Return the activity of a program: nobody waits for its end but the engine."""
    return Activity(lambda: None)
