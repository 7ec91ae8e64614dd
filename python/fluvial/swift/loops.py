# SPDX-License-Identifier: Apache-2.0
"""Loops of a running script, which begin an iteration when the engine has room for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .engine import Engine
from .frames import Activity, Frame, Get, Locate, Step, StepBlock, array_at
from .script import Place
from .variables import Key, Variable


@dataclass
class LoopPlan:
    """What all iterations of a loop have in common."""

    place: Place
    names: list[str]
    """Of the variables of an iteration: first those of the loop."""
    body: StepBlock
    writes: tuple[Locate, ...]
    """Arrays outside to which iterations may add."""


class _Iterations:
    """Counts those under way; the statement is done after the last."""

    def __init__(self, engine: Engine, plan: LoopPlan, frame: Frame) -> None:
        self._engine = engine
        self._plan = plan
        self._outer = frame
        self._live = 0
        self._ended = False
        frame.activity.hold()
        for locate in plan.writes:
            array_at(locate, frame).writers += 1

    def _new_frame(self) -> Frame:
        self._live += 1
        self._engine.live += 1
        activity = Activity(self._one_is_done)
        return Frame(self._plan.names, self._outer, activity, self._outer.call)

    def _one_is_done(self) -> None:
        self._live -= 1
        self._engine.live -= 1
        if self._ended and self._live == 0:
            self._outer.activity.release()

    def _end(self) -> None:
        """No more iterations begin."""
        self._ended = True
        for locate in self._plan.writes:
            self._engine.release(array_at(locate, self._outer))
        if self._live == 0:
            self._outer.activity.release()


class ForeachLoop(_Iterations):
    """Iterations over values that are known."""

    def __init__(
        self,
        engine: Engine,
        plan: LoopPlan,
        frame: Frame,
        values: Iterator[tuple[Key, Variable | int]],
        keyed: bool,
    ) -> None:
        super().__init__(engine, plan, frame)
        self._values = values
        self._keyed = keyed

    @classmethod
    def begin(
        cls,
        engine: Engine,
        plan: LoopPlan,
        frame: Frame,
        values: Iterator[tuple[Key, Variable | int]],
        keyed: bool,
    ) -> None:
        """Have the engine begin its iterations."""
        engine.add_loop(cls(engine, plan, frame, values, keyed))

    def advance(self) -> bool:
        """Begin the next iteration."""
        found = next(self._values, None)
        if found is None:
            self._end()
            return False
        key, value = found
        frame = self._new_frame()
        frame.activity.hold()
        if isinstance(value, Variable):
            frame.values[0] = value
        else:
            frame.values[0].value = value
        if self._keyed:
            frame.values[1].value = key
        self._engine.enter(self._plan.body, frame)
        frame.activity.release()
        return True


@dataclass
class NextPlan:
    """How a loop whose iterations follow each other goes on."""

    before: StepBlock
    """What the condition needs."""
    goes_on: Get
    checked_first: bool
    """The condition is for the body of its own iteration (`for`), or for the next (`iterate`)."""
    updates: list[tuple[int, Place, Get]]
    """Of variables of the next iteration by those of this one; without any they count."""
    update_steps: StepBlock


class ChainedLoop(_Iterations):
    """Iterations of which each begins when a condition is known."""

    def __init__(
        self,
        engine: Engine,
        plan: LoopPlan,
        following: NextPlan,
        frame: Frame,
        first: list[Variable],
    ) -> None:
        super().__init__(engine, plan, frame)
        self._following = following
        self._next: Frame | None = None
        self._count = 0
        self._first = first

    @classmethod
    def begin(
        cls,
        engine: Engine,
        plan: LoopPlan,
        following: NextPlan,
        frame: Frame,
        first: list[Variable],
    ) -> None:
        """Have the engine begin its iterations."""
        loop = cls(engine, plan, following, frame, first)
        loop._prepare(loop._first)

    def advance(self) -> bool:
        """Begin the iteration that has been prepared."""
        frame, self._next = self._next, None
        if frame is None:
            return False
        engine, following = self._engine, self._following
        condition = Step(self._plan.place, self._decide)
        if following.checked_first:
            engine.enter(following.before, frame)
            engine.execute(condition, frame)
        else:
            engine.enter(self._plan.body, frame)
            engine.enter(following.before, frame)
            engine.execute(condition, frame)
        frame.activity.release()
        return False

    def _prepare(self, values: list[Variable]) -> None:
        frame = self._new_frame()
        frame.activity.hold()
        frame.values[: len(values)] = values
        self._next = frame
        self._engine.add_loop(self)

    def _decide(self, frame: Frame) -> None:
        following = self._following
        if not following.goes_on(frame):
            self._end()
            return
        if following.checked_first:
            self._engine.enter(self._plan.body, frame)
        self._engine.enter(following.update_steps, frame)
        self._count += 1
        if not following.updates:
            self._prepare([Variable(self._plan.names[0], self._count)])
            return
        values = []
        for index, place, get in following.updates:
            variable = Variable(self._plan.names[index])
            values.append(variable)
            self._engine.execute(Step(place, _setting(self._engine, variable, get)), frame)
        self._prepare(values)


def _setting(engine: Engine, variable: Variable, get: Get) -> Callable[[Frame], None]:
    return lambda frame: engine.settle(variable, get(frame))
