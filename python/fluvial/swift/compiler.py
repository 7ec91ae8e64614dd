# SPDX-License-Identifier: Apache-2.0
"""From the statements of a checked script to steps that an engine executes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from . import syntax
from .call_compiler import CallCompiler, CompiledFunction
from .engine import Engine, idle
from .expression_compiler import is_pure
from .frames import Frame, Get, Locate, StepBlock, array_at
from .kinds import Kind
from .layouts import Layout
from .loops import ChainedLoop, ForeachLoop, LoopPlan, NextPlan
from .script import Place
from .variables import Key, Variable, deep

Compile = Callable[[], None]
More = TypeVar("More")


def run_program(program: syntax.Program, engine: Engine) -> None:
    """Execute a checked script to its end.

    Raises
    ------
    ScriptFailed
        When it cannot go on.
    """
    compiler = Compiler(engine)
    blocks = compiler.program(program)
    engine.run(blocks)


class Compiler(CallCompiler):
    """Makes the statements of a block ready, one after the other."""

    def program(self, program: syntax.Program) -> list[tuple[StepBlock, Frame]]:
        """Return the blocks of the whole script, and the frames in which they execute."""
        composite = [f for f in program.functions if isinstance(f, syntax.Function)]
        for function in composite:
            self.functions[function.name] = CompiledFunction(Layout(self.root))
        constants, _ = self._collect(lambda: self._constants(program.constants))
        for function in composite:
            self._function(function)
        self.layout = main_layout = Layout(self.root)
        main, _ = self.statements(program.main)
        self.root_frame = Frame(self.root.names, None, idle(), None)
        frame = Frame(main_layout.names, self.root_frame, idle(), None)
        return [(constants, self.root_frame), (main, frame)]

    def _constants(self, constants: Sequence[syntax.Constant]) -> None:
        for constant in constants:
            if constant.symbol is not None:
                self.root.place(constant.symbol)
        for constant in constants:
            locate = self.locate(constant.symbol)
            self.assign(locate, constant.kind, constant.value, constant.place)

    def _function(self, function: syntax.Function) -> None:
        compiled = self.functions[function.name]
        self.layout = compiled.layout
        parameters = [*function.inputs, *function.outputs]
        for parameter in parameters:
            if parameter.symbol is not None:
                self.layout.place(parameter.symbol)
        symbols = [parameter.symbol for parameter in parameters if parameter.symbol is not None]
        compiled.block, _ = self.statements(function.body, symbols)

    # --- blocks

    def _collect(
        self, compile: Compile, declared: Iterable[syntax.Symbol] = ()
    ) -> tuple[StepBlock, set[syntax.Symbol]]:
        """Return the steps that `compile` adds, and the arrays outside to which they may add."""
        before = self.block, self.writes
        block, writes = StepBlock(), Counter[syntax.Symbol]()
        self.block, self.writes = block, writes
        compile()
        own = set(declared)
        block.opened = [self.locate(symbol) for symbol in own if symbol.assigned_in_parts]
        block.writers = [(self.locate(symbol), count) for symbol, count in writes.items()]
        self.block, self.writes = before
        return block, set(writes) - own

    def statements(
        self, block: syntax.Block, declared: Sequence[syntax.Symbol] = ()
    ) -> tuple[StepBlock, set[syntax.Symbol]]:
        """Return the steps of a block, and the arrays outside to which they may add."""
        own = [*declared, *_declared_in(block.statements)]
        for symbol in own:
            if symbol.slot is None:
                self.layout.place(symbol)

        def compile() -> None:
            for statement in block.statements:
                self._statement(statement)

        return self._collect(compile, own)

    def _statement(self, statement: syntax.Statement) -> None:
        compilers: dict[type, Callable[[Any], None]] = {
            syntax.Block: self._inner,
            syntax.Declaration: self._declaration,
            syntax.Assignment: self._assignment,
            syntax.CallStatement: lambda node: self._call_alone(node.call, None),
            syntax.Chain: self._chain,
            syntax.If: self._if,
            syntax.Foreach: self._foreach,
            syntax.For: self._for,
            syntax.Iterate: self._iterate,
            syntax.Switch: self._switch,
            syntax.Wait: self._wait,
        }
        compilers[type(statement)](statement)

    def _inner(self, node: syntax.Block) -> None:
        block, outer = self.statements(node)
        enter = self.engine.enter
        self.step(node.place, lambda frame: enter(block, frame), outer)

    # --- what sets variables

    def _declaration(self, node: syntax.Declaration) -> None:
        for declarator in node.declarators:
            locate = self.locate(declarator.symbol)
            if declarator.mapping is not None:
                path = self.temporary(f"the path of {declarator.name}").locator(self.layout)
                self.assign(path, Kind("string"), declarator.mapping, declarator.place)
                self.block.mapped.append((locate, path))
            if declarator.value is not None:
                self.assign(locate, declarator.kind, declarator.value, declarator.place)

    def _assignment(self, node: syntax.Assignment) -> None:
        whole = [target for target in node.targets if not target.keys]
        if len(whole) == len(node.targets):
            self._assign_all(node, [self.locate(target.symbol) for target in node.targets])
            return
        keys = [[self.expression(key) for key in target.keys] for target in node.targets]
        arrays = [self.locate(target.symbol) for target in node.targets]
        slots = [self.temporary(target.name) for target in node.targets]
        places = [
            slot.locator(self.layout) if target.keys else locate
            for target, slot, locate in zip(node.targets, slots, arrays, strict=True)
        ]
        rest, outer = self._collect(lambda: self._assign_all(node, places))
        parts = [
            (locate, gets, slot.index)
            for locate, gets, slot in zip(arrays, keys, slots, strict=True)
            if gets
        ]
        engine = self.engine

        def insert(frame: Frame) -> None:
            found = [[get(frame) for get in gets] for _, gets, _ in parts]
            for (locate, _, index), path in zip(parts, found, strict=True):
                array = array_at(locate, frame)
                for key in path[:-1]:
                    array = array.inner(key, engine.settle)
                frame.values[index] = array.insert(path[-1])
            engine.enter(rest, frame)

        written = [target.symbol for target in node.targets if target.keys and target.symbol]
        self.step(node.place, insert, {*written, *outer})

    def _assign_all(self, node: syntax.Assignment, places: list[Locate]) -> None:
        if len(places) == 1:
            kind = node.targets[0].kind or Kind("void")
            self.assign(places[0], kind, node.value, node.place)
        elif isinstance(node.value, syntax.Call):
            kinds = [target.kind or Kind("void") for target in node.targets]
            self.call(node.value, self.as_outputs(node.value, places, kinds))

    def _call_alone(self, call: syntax.Call, done: Locate | None) -> None:
        if is_pure(call):
            get = self.expression(call)
            settle = self.engine.settle

            def action(frame: Frame) -> None:
                value = get(frame)
                if done is not None:
                    settle(done(frame), value)

            self.step(call.place, action)
        else:
            self.call(call, [] if done is None else [done])

    # --- what waits

    def _chain(self, node: syntax.Chain) -> None:
        self._linked(node.statements)

    def _linked(self, statements: Sequence[syntax.Statement]) -> None:
        first, *rest = statements
        if not rest:
            self._statement(first)
            return
        gets = self._with_signal(first)
        block, outer = self._collect(lambda: self._linked(rest))
        self._when(first.place, gets, block, outer)

    def _with_signal(self, statement: syntax.Statement) -> list[Get]:
        """Compile a statement, and return what raises Blocked until it is done."""
        if isinstance(statement, syntax.CallStatement):
            call = statement.call
            slot = self.temporary(f"the end of {call.function}")
            self._call_alone(call, slot.locator(self.layout))
            outputs = getattr(call.called, "outputs", ())
            kind = outputs[0].kind if outputs else call.kind
            return [_settled(slot.getter(self.layout), kind)]
        self._statement(statement)
        if isinstance(statement, syntax.Declaration):
            set_here = [d.symbol for d in statement.declarators if d.value is not None and d.symbol]
            return [_settled(self.value_of(symbol), symbol.kind) for symbol in set_here]
        if isinstance(statement, syntax.Assignment):
            return [_settled(self._target_value(t), t.kind) for t in statement.targets]
        return []

    def _target_value(self, target: syntax.Target) -> Get:
        read: syntax.Expression = syntax.Name(target.place, target.name, target.symbol)
        for key in target.keys:
            read = syntax.Element(target.place, read, key)
        return self.expression(read)

    def _when(
        self, place: Place, gets: Sequence[Get], block: StepBlock, outer: set[syntax.Symbol]
    ) -> None:
        """Add a step that enters a block when values are there."""
        enter = self.engine.enter

        def action(frame: Frame) -> None:
            for get in gets:
                get(frame)
            enter(block, frame)

        self.step(place, action, outer)

    def _wait(self, node: syntax.Wait) -> None:
        gets = []
        for value in node.values:
            get = self.expression(value)
            gets.append(_all_of(get) if node.deep else _settled(get, value.kind))
        block, outer = self.statements(node.body)
        self._when(node.place, gets, block, outer)

    # --- branches

    def _if(self, node: syntax.If) -> None:
        condition = self.expression(node.condition)
        then, outer = self.statements(node.then)
        otherwise, other = StepBlock(), set[syntax.Symbol]()
        if node.otherwise is not None:
            otherwise, other = self.statements(node.otherwise)
        enter = self.engine.enter

        def action(frame: Frame) -> None:
            enter(then if condition(frame) else otherwise, frame)

        self.step(node.place, action, outer | other)

    def _switch(self, node: syntax.Switch) -> None:
        value = self.expression(node.value)
        blocks: dict[syntax.Scalar, StepBlock] = {}
        default, outer = StepBlock(), set[syntax.Symbol]()
        for case in node.cases:
            block, other = self.statements(case.body)
            outer |= other
            if case.value is None:
                default = block
            else:
                blocks[case.value.value] = block
        enter = self.engine.enter
        self.step(node.place, lambda frame: enter(blocks.get(value(frame), default), frame), outer)

    # --- loops

    def _foreach(self, node: syntax.Foreach) -> None:
        numbers: Callable[[Frame], range] | None = None
        if isinstance(node.source, syntax.Range):
            numbers = self.numbers(node.source)
            array: Get = numbers
        else:
            array = self.expression(node.source)
        symbols = [symbol for symbol in (node.value_symbol, node.key_symbol) if symbol is not None]
        plan, outer, _ = self._plan(node.place, symbols, node.body, lambda: None)
        engine, keyed = self.engine, node.key_symbol is not None

        def action(frame: Frame) -> None:
            values: Iterator[tuple[Key, Variable | int]]
            if numbers is not None:
                values = enumerate(numbers(frame))
            else:
                values = array(frame).closing.get().in_order()
            ForeachLoop.begin(engine, plan, frame, values, keyed)

        self.step(node.place, action, outer)

    def _plan(
        self,
        place: Place,
        symbols: Sequence[syntax.Symbol],
        body: syntax.Block,
        more: Callable[[], More],
    ) -> tuple[LoopPlan, set[syntax.Symbol], More]:
        """Compile the body of a loop, and by `more` what else stands in its frames."""
        outside, self.layout = self.layout, Layout(self.layout)
        for symbol in symbols:
            self.layout.place(symbol)
        steps, outer = self.statements(body)
        further = more()
        inside, self.layout = self.layout, outside
        writes = tuple(self.locate(symbol) for symbol in outer)
        return LoopPlan(place, inside.names, steps, writes), outer, further

    def _for(self, node: syntax.For) -> None:
        starts = []
        for variable in node.variables:
            locate = self.temporary(variable.name).locator(self.layout)
            self.assign(locate, variable.kind, variable.value, variable.place)
            starts.append(locate)

        def more() -> NextPlan:
            conditions: list[Get] = []
            updates: list[tuple[int, Place, Get]] = []
            before, _ = self._collect(lambda: conditions.append(self.expression(node.condition)))
            steps, _ = self._collect(
                lambda: updates.extend(
                    (number, v.place, self.coerced(v.update, v.kind))
                    for number, v in enumerate(node.variables)
                    if v.update is not None
                )
            )
            return NextPlan(before, conditions[0], True, updates, steps)

        symbols = [v.symbol for v in node.variables if v.symbol is not None]
        plan, outer, following = self._plan(node.place, symbols, node.body, more)
        engine = self.engine
        self.step(
            node.place,
            lambda frame: ChainedLoop.begin(
                engine, plan, following, frame, [start(frame) for start in starts]
            ),
            outer,
        )

    def _iterate(self, node: syntax.Iterate) -> None:
        def more() -> NextPlan:
            conditions: list[Get] = []
            before, _ = self._collect(lambda: conditions.append(self.expression(node.until)))
            until = conditions[0]
            return NextPlan(before, lambda frame: not until(frame), False, [], StepBlock())

        symbols = [node.symbol] if node.symbol is not None else []
        plan, outer, following = self._plan(node.place, symbols, node.body, more)
        engine, name = self.engine, node.name
        self.step(
            node.place,
            lambda frame: ChainedLoop.begin(engine, plan, following, frame, [Variable(name, 0)]),
            outer,
        )


def _declared_in(statements: Iterable[syntax.Statement]) -> Iterator[syntax.Symbol]:
    for statement in statements:
        if isinstance(statement, syntax.Chain):
            yield from _declared_in(statement.statements)
        elif isinstance(statement, syntax.Declaration):
            yield from (d.symbol for d in statement.declarators if d.symbol is not None)


def _settled(get: Get, kind: Kind | None) -> Get:
    """Return what waits until a value is there; an array until no more elements can come."""
    if kind is not None and kind.is_array:
        return lambda frame: get(frame).closing.get()
    return get


def _all_of(get: Get) -> Get:
    return lambda frame: deep(get(frame))
