# SPDX-License-Identifier: Apache-2.0
"""From calls and assignments to steps."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from . import syntax
from .builtin import Builtin
from .definitions import exported_of
from .engine import Engine
from .exported_leaves import ExportedPlan
from .expression_compiler import ExpressionCompiler, is_pure
from .frames import CallSite, Frame, Get, Locate, Step, StepBlock
from .kinds import FILE, INT, VOID, Kind
from .layouts import Layout, Slot
from .operators import as_scalar
from .script import Place
from .task_calls import AppPlan, Maker, Output, TaskPlan, app_call, builtin_call, leaf_call
from .variables import Variable


@dataclass
class CompiledFunction:
    """A composite function: its frame begins with its inputs, then its outputs."""

    layout: Layout
    block: StepBlock = field(default_factory=StepBlock)


class CallCompiler(ExpressionCompiler):
    """Adds steps to the block that is being made."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.root = Layout()
        self.root_frame: Frame | None = None
        self.layout = self.root
        self.block = StepBlock()
        self.writes: Counter[syntax.Symbol] = Counter()
        self.functions: dict[str, CompiledFunction] = {}

    def step(
        self,
        place: Place,
        action: Callable[[Frame], None],
        writes: Iterable[syntax.Symbol] = (),
    ) -> None:
        """Add a step; `writes` are the arrays to which it may add elements."""
        symbols = list(writes)
        self.writes.update(symbols)
        self.block.steps.append(Step(place, action, tuple(map(self.locate, symbols))))

    def temporary(self, name: str = "") -> Slot:
        """Add a variable that has no name in the script."""
        return self.layout.add(name)

    def hoist(self, node: syntax.Call) -> Slot:
        """Make a call a step, and return the variable of its output."""
        slot = self.temporary(f"the result of {node.function}")
        self.call(node, [slot.locator(self.layout)])
        return slot

    def assign(self, target: Locate, kind: Kind, value: syntax.Expression, place: Place) -> None:
        """Add the steps of an assignment."""
        if isinstance(value, syntax.Call) and not is_pure(value) and value.kind == kind:
            self.call(value, [target])
            return
        get = self.coerced(value, kind)
        settle = self.engine.settle
        if kind == FILE:
            self.step(
                place, lambda frame: settle(target(frame), _copied(get(frame), target(frame)))
            )
        else:
            self.step(place, lambda frame: settle(target(frame), get(frame)))

    def call(self, node: syntax.Call, targets: list[Locate]) -> None:
        """Add the steps of a call; outputs for which there is no target are dropped."""
        called = node.called
        if isinstance(called, Builtin):
            if called.as_task:
                self._task(node, self._builtin_plan(node, called), targets)
            else:
                self._effect(node, called, targets)
            return
        if called is None:
            raise AssertionError("bug in Fluvial: a call that was not checked")
        outputs = [
            self._typed(node, output.kind, i, targets) for i, output in enumerate(called.outputs)
        ]
        if isinstance(called, syntax.Function):
            self._composite(node, called, outputs)
            return
        inputs = [
            self.whole(argument, parameter.kind)
            for argument, parameter in zip(node.arguments, called.inputs, strict=True)
        ]
        described = [
            Output(parameter.name, parameter.kind, locate)
            for parameter, locate in zip(called.outputs, outputs, strict=True)
        ]
        void = targets[:1] if not called.outputs else []
        exported = exported_of(called)
        if exported is not None:
            described += [Output("", VOID, target) for target in void]
            notes = self._annotations(node)
            call = ExportedPlan(node.place, node.function, inputs, described, notes, exported)
            engine = self.engine
            self.step(node.place, lambda frame: call.submit(engine, frame))
            return
        make = self._app_maker(called) if isinstance(called, syntax.App) else leaf_call(called)
        plan = TaskPlan(node.place, node.function, inputs, described, make, self._annotations(node))
        self._task(node, plan, void)

    def as_outputs(
        self, node: syntax.Call, targets: Sequence[Locate], kinds: Sequence[Kind]
    ) -> list[Locate]:
        """Return targets of the outputs' own types; whole numbers become floats from there."""
        if not isinstance(node.called, syntax.Definition):
            raise AssertionError("bug in Fluvial: several outputs of what is no definition")
        found = []
        for output, target, kind in zip(node.called.outputs, targets, kinds, strict=True):
            if kind == output.kind:
                found.append(target)
                continue
            slot = self.temporary(output.name)
            self.step(node.place, _as_float(self.engine, target, slot.getter(self.layout)))
            found.append(slot.locator(self.layout))
        return found

    def _typed(self, node: syntax.Call, kind: Kind, number: int, targets: list[Locate]) -> Locate:
        """Return the target of an output, or a temporary variable."""
        if number < len(targets):
            return targets[number]
        return self.temporary(f"output {number + 1} of {node.function}").locator(self.layout)

    def _effect(self, node: syntax.Call, called: Builtin, targets: list[Locate]) -> None:
        gets, function, name = self.inputs(node, called), called.function, called.name
        settle, kind = self.engine.settle, node.kind or called.output

        def action(frame: Frame) -> None:
            values = [get(frame) for get in gets]
            try:
                result = function(*values)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            for target in targets:
                settle(target(frame), as_scalar(result, kind))

        self.step(node.place, action)

    def _builtin_plan(self, node: syntax.Call, called: Builtin) -> TaskPlan:
        inputs = self.inputs(node, called)
        make = builtin_call(called)
        return TaskPlan(node.place, node.function, inputs, [], make, self._annotations(node))

    def _annotations(self, node: syntax.Call) -> dict[str, Get]:
        return {note.name: self.expression(note.value) for note in node.annotations}

    def _task(self, node: syntax.Call, plan: TaskPlan, targets: list[Locate]) -> None:
        if isinstance(node.called, Builtin):
            kind = node.called.output_of([])
            plan.outputs = [Output(node.function, kind, target) for target in targets[:1]]
            if not plan.outputs and kind == FILE:
                slot = self.temporary("a file")
                plan.outputs = [Output(node.function, kind, slot.locator(self.layout))]
        else:
            plan.outputs += [Output("", VOID, target) for target in targets]
        engine = self.engine
        self.step(node.place, lambda frame: plan.submit(engine, frame))

    def _composite(self, node: syntax.Call, called: syntax.Function, outputs: list[Locate]) -> None:
        inputs = [
            self._passed(argument, parameter.kind)
            for argument, parameter in zip(node.arguments, called.inputs, strict=True)
        ]
        function = self.functions[called.name]
        engine, name, place = self.engine, node.function, node.place
        passed = [*inputs, *outputs]

        def action(frame: Frame) -> None:
            site = CallSite(name, place, frame)
            callee = Frame(function.layout.names, self.root_frame, frame.activity, site)
            callee.values[: len(passed)] = [locate(frame) for locate in passed]
            engine.begin(function.block, callee)

        self.step(place, action)

    def _passed(self, argument: syntax.Expression, kind: Kind) -> Locate:
        """Return what finds the variable that a composite function gets: it need not be set yet."""
        if isinstance(argument, syntax.Name) and argument.kind == kind:
            return self.locate(argument.symbol)
        slot = self.temporary("an input")
        locate = slot.locator(self.layout)
        self.assign(locate, kind, argument, argument.place)
        return locate

    def _app_maker(self, app: syntax.App) -> Maker:
        """Compile the words of a command in a frame of their own."""
        outside, self.layout = self.layout, Layout(self.root)
        for parameter in [*app.inputs, *app.outputs]:
            if parameter.symbol is not None:
                self.layout.place(parameter.symbol)
        words = [self.whole(word, word.kind or INT) for word in app.words]
        streams = {r.stream: self.expression(r.file) for r in app.redirections}
        names = self.layout.names
        self.layout = outside
        return app_call(AppPlan(app, words, streams, names, lambda: self.root_frame))


def _as_float(engine: Engine, target: Locate, get: Get) -> Callable[[Frame], None]:
    return lambda frame: engine.settle(target(frame), float(get(frame)))


def _copied(path: str, variable: Variable) -> str:
    """Return the path of a file that is assigned: its variable's own, where it has one."""
    if variable.path is None:
        return path
    own: str = variable.path.get()
    if own != path:
        shutil.copyfile(path, own)
    return own
