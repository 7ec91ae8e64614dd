# SPDX-License-Identifier: Apache-2.0
"""Scripts in simulated time: a model says how long each task takes, and what it returns.

The model is a Python file with a function for each leaf or app of the script that is called, by its
name. It is called with the number of ranks and the inputs, and returns seconds; or seconds and what
the leaf returns. A leaf whose only output is a float returns the seconds where the model says no
more.
"""

from __future__ import annotations

import random
import runpy
from collections.abc import Callable, Sequence
from typing import Unpack, cast

from .._core import InvalidArgument
from ..base.messages import did_you_mean, shown
from ..flow.exported import pack_of, unpack_of
from ..flow.simulated_ranks import SimulatedRanks, SimulatedTask
from . import worker_functions
from .compiler import run_program
from .engine import Arrival, CallOptions, Calls, Done, Engine, options_of
from .frames import Frame
from .kinds import FILE, FLOAT, VOID
from .loading import load
from .surroundings import Surroundings
from .task_calls import Settled

Model = dict[str, Callable[..., object]]


def read_model(path: str) -> Model:
    """Return the functions of a model.

    Raises
    ------
    InvalidArgument
        When it cannot be executed.
    """
    try:
        names = runpy.run_path(path)
    except Exception as error:
        raise InvalidArgument(
            f"the model: got {shown(path)} ({type(error).__name__}: {error}); allowed: a Python "
            "file with a function for each leaf of the script"
        ) from error
    return {name: value for name, value in names.items() if callable(value)}


def simulate_script(
    path: str,
    ranks: int,
    model: Model,
    arguments: Sequence[str] = (),
    off: float | None = None,
    seed: int = 1,
    window: int | None = None,
) -> SimulatedRanks[Arrival]:
    """Run a script to its end in simulated time.

    Parameters
    ----------
    off
        The scheduler knows estimates that are off by up to this part of the duration; None: it
        knows none, as in a run.

    Raises
    ------
    ScriptError
        Before anything runs, with all that is wrong in the script.
    ScriptFailed
        When it cannot go on; also when the model has no function for a task.
    """
    simulated: SimulatedRanks[Arrival] = SimulatedRanks(ranks)
    program = load(path, Surroundings(path, arguments, simulated.workers))
    run_program(program, _SimulatedEngine(simulated, model, off, random.Random(seed), window))
    return simulated


class _Done:
    """A future that is done."""

    def __init__(self, value: object) -> None:
        self._value = value

    def exception(self) -> None:
        """Return none."""

    def result(self) -> object:
        """Return the value."""
        return self._value


class _SimulatedEngine(Engine):
    """Its tasks are done when their time is over."""

    def __init__(
        self,
        simulated: SimulatedRanks[Arrival],
        model: Model,
        off: float | None,
        chance: random.Random,
        window: int | None,
    ) -> None:
        super().__init__(None, simulated.workers, window)
        self._simulated = simulated
        self._model = model
        self._off = off
        self._chance = chance

    def submit(
        self,
        frame: Frame,
        settle: Callable[[Done], None],
        function: Callable[..., object],
        *arguments: object,
        **options: Unpack[CallOptions],
    ) -> None:
        """Have the model say what comes of a task, and when."""
        assert isinstance(settle, Settled)  # as TaskPlan gives it, which alone submits
        plan = settle.plan
        if function.__module__ == worker_functions.__name__ and plan.name not in self._model:
            seconds = float(cast(float, settle.values[0])) if plan.name == "sleep" else 0.0
            result: object = None if plan.name == "sleep" else function(*arguments)
        else:
            wanted = [output.kind for output in plan.outputs if output.kind not in (FILE, VOID)]
            seconds, result = self._asked(
                plan.name, options["ranks"], settle.values, wanted == [FLOAT]
            )
        self._add(((settle, frame), _Done(result)), seconds, frame, **options)

    def call_exported(
        self,
        frame: Frame,
        settle: Callable[[bytes, BaseException | None], None],
        calls: Calls,
        message: bytes,
    ) -> None:
        """Have the model say what comes of a call of a C++ function."""
        task, known = calls.task, options_of(calls.options)
        values = unpack_of(task.inputs)(message)
        seconds, result = self._asked(
            known["kind"], known.get("ranks", 1), values, task.outputs == "f"
        )
        several = len(task.outputs) != 1
        told = cast("Sequence[object]", result or ()) if several else (result,)
        said = pack_of(task.outputs)(told)
        self._add(((settle, frame), said, None), seconds, frame, **known)

    def _asked(
        self, name: str, ranks: int, values: Sequence[object], times: bool
    ) -> tuple[float, object]:
        asked = self._model.get(name)
        if asked is None:
            near = did_you_mean(name, self._model)
            raise ValueError(f"the model has no function {name!r}: how long does it take?{near}")
        said = asked(ranks, *values)
        seconds, result = said if isinstance(said, tuple) else (said, said if times else None)
        if not isinstance(seconds, int | float) or not seconds >= 0:
            raise ValueError(f"the model of {name}: got {shown(seconds)}; allowed: 0 s or more")
        return float(seconds), result

    def _add(
        self, arrival: Arrival, seconds: float, frame: Frame, **options: Unpack[CallOptions]
    ) -> None:
        self._running += 1
        frame.activity.hold()
        cost = None
        if self._off is not None:
            cost = seconds * (1 + self._chance.uniform(-self._off, self._off))
        task = SimulatedTask(
            options["kind"],
            options.get("ranks", 1),
            seconds,
            cost,
            options.get("priority", 0),
            options.get("near"),
            options.get("strict", False),
        )
        self._simulated.add(task, arrival)

    def _wait(self) -> None:
        self._done.extend(self._simulated.next_ends())
