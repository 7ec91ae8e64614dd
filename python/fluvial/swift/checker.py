# SPDX-License-Identifier: Apache-2.0
"""Finds what is wrong in a script before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..base.messages import did_you_mean
from . import syntax
from .definitions import DefinitionChecker
from .expression_checker import Callee
from .kinds import BOOLEAN, FILE, INT, STRING, Kind
from .scopes import Assignments, Scope
from .script import Place, ScriptError
from .standard_library import standard_library
from .surroundings import Surroundings

_SWITCHED = (INT, STRING, BOOLEAN)


def check(program: syntax.Program, surroundings: Surroundings = Surroundings()) -> None:  # noqa: B008
    """Check a script, imported ones included; notes in its tree what the interpreter needs.

    Raises
    ------
    ScriptError
        With all that is wrong.
    """
    library = standard_library(surroundings)
    functions: dict[str, Callee] = {**library, **{f.name: f for f in program.functions}}
    checker = Checker(functions)
    checker.check_program(program)
    if checker.findings:
        found = sorted(checker.findings, key=lambda f: (f.place.script.name, f.place.line))
        raise ScriptError(found)


class Checker(DefinitionChecker):
    """Checks statements, in the order of the text: all of a block execute, in any order."""

    def __init__(self, functions: Mapping[str, Callee]) -> None:
        super().__init__(functions)
        self._assignments = Assignments(self.report)
        self._symbols: list[syntax.Symbol] = []

    def check_program(self, program: syntax.Program) -> None:
        """Check all of a script."""
        for constant in program.constants:
            self.check_as(constant.value, constant.kind, f"constant {constant.name!r}")
            constant.symbol = self._declare(
                constant.name, constant.kind, constant.place, "constant"
            )
            constant.symbol.assigned = constant.place
        self.check_names(program.functions)
        for definition in program.functions:
            self._definition(definition)
        with self._inner():
            self._statements(program.main)
        self._check_set()

    def _declare(
        self, name: str, kind: Kind, place: Place, role: str = "variable"
    ) -> syntax.Symbol:
        symbol = self.scope.declare(name, kind, place, role, self.report)
        self._symbols.append(symbol)
        return symbol

    @contextmanager
    def _inner(self, repeats: bool = False) -> Iterator[None]:
        before = self.scope
        self.scope = Scope(before, repeats)
        yield
        self.scope = before

    def _definition(self, definition: syntax.Definition) -> None:
        with self._inner():
            for parameter in definition.inputs:
                parameter.symbol = self._declare(
                    parameter.name, parameter.kind, parameter.place, "input"
                )
            for parameter in definition.outputs:
                parameter.symbol = self._declare(
                    parameter.name, parameter.kind, parameter.place, "output"
                )
            if isinstance(definition, syntax.Function):
                self._block(definition.body)
                for parameter in definition.outputs:
                    symbol = parameter.symbol
                    if symbol and not symbol.assigned and not symbol.assigned_in_parts:
                        self.report(
                            parameter.place,
                            f"output {parameter.name!r} of {definition.name} is never set",
                        )
            elif isinstance(definition, syntax.App):
                self.check_app(definition)
            elif isinstance(definition, syntax.Leaf):
                self.check_leaf(definition)

    def _check_set(self) -> None:
        for symbol in self._symbols:
            is_set = symbol.assigned is not None or symbol.assigned_in_parts
            if symbol.role != "variable" or symbol.read is None or is_set:
                continue
            remedy = ""
            if symbol.kind == FILE:
                remedy = '. A file that is there already is input("its path")'
            elif symbol.kind.is_array:
                remedy = ". An empty array is []"
            self.report(symbol.read, f"{symbol.name!r} is read and never set{remedy}")

    # --- statements

    def _block(self, block: syntax.Block, repeats: bool = False) -> None:
        with self._inner(repeats):
            self._statements(block)

    def _statements(self, block: syntax.Block) -> None:
        # What is declared further down is seen as well: statements have no order.
        for statement in block.statements:
            self._declare_of(statement)
        for statement in block.statements:
            self._statement(statement)

    def _declare_of(self, statement: syntax.Statement) -> None:
        if isinstance(statement, syntax.Chain):
            for part in statement.statements:
                self._declare_of(part)
        elif isinstance(statement, syntax.Declaration):
            for declarator in statement.declarators:
                declarator.symbol = self._declare(
                    declarator.name, declarator.kind, declarator.place
                )

    def _statement(self, statement: syntax.Statement) -> None:
        checks = {
            syntax.Block: self._block,
            syntax.Declaration: self._declaration,
            syntax.Assignment: self._assignment,
            syntax.CallStatement: lambda call: self.check_call(call.call),
            syntax.Chain: self._chain,
            syntax.If: self._if,
            syntax.Foreach: self._foreach,
            syntax.For: self._for,
            syntax.Iterate: self._iterate,
            syntax.Switch: self._switch,
            syntax.Wait: self._wait,
        }
        checks[type(statement)](statement)  # type: ignore[operator]

    def _declaration(self, node: syntax.Declaration) -> None:
        for declarator in node.declarators:
            if declarator.mapping is not None:
                self.check_as(declarator.mapping, STRING, "the path of a file")
                if declarator.kind != FILE:
                    self.report(
                        declarator.place,
                        f"a path <…> of {declarator.kind} {declarator.name}: allowed: of a file",
                    )
            if declarator.value is not None and declarator.symbol is not None:
                what = f"variable {declarator.name!r}"
                self.check_as(declarator.value, declarator.kind, what)
                self._assignments.add(declarator.symbol, declarator.place, self.scope)

    def _assignment(self, node: syntax.Assignment) -> None:
        kinds = [self._target(target) for target in node.targets]
        if len(kinds) == 1:
            if kinds[0] is None:
                self.check(node.value)
            else:
                self.check_as(node.value, kinds[0], f"variable {node.targets[0].name!r}")
            return
        if not isinstance(node.value, syntax.Call):
            self.check(node.value)
            self.report(node.place, "several variables are assigned: allowed: outputs of a call")
            return
        given = self.check_call(node.value)
        if given is None:
            return
        if len(given) != len(kinds):
            message = f"{node.value.function} has {len(given)} outputs: got {len(kinds)} variables"
            self.report(node.place, message)
        for target, kind, output in zip(node.targets, kinds, given, strict=False):
            if kind is not None and not kind.takes(output):
                self.report(
                    target.place, f"variable {target.name!r}: got {output}; allowed: {kind}"
                )

    def _target(self, target: syntax.Target) -> Kind | None:
        symbol = target.symbol = self.find(target.name, target.place)
        if symbol is None:
            for key in target.keys:
                self.check(key)
            return None
        kind: Kind | None = symbol.kind
        for key in target.keys:
            kind = None if kind is None else self.check_key(kind, key, target.place)
        if target.keys:
            self._assignments.add_part(symbol, target.place)
        else:
            self._assignments.add(symbol, target.place, self.scope)
        target.kind = kind
        return kind

    def _chain(self, node: syntax.Chain) -> None:
        for statement in node.statements:
            self._statement(statement)
        for statement in node.statements[:-1]:
            call = statement.call if isinstance(statement, syntax.CallStatement) else None
            called = call.called if call is not None else None
            if call is not None and isinstance(called, syntax.Function) and not called.outputs:
                self.report(
                    call.place,
                    f"=> behind {call.function}, which has no output that says when it is done; "
                    "allowed: a function with outputs, a leaf or an app",
                )

    def _if(self, node: syntax.If) -> None:
        self.check_as(node.condition, BOOLEAN, "a condition")
        with self._assignments.branches() as begin:
            self._block(node.then)
            if node.otherwise is not None:
                begin()
                self._block(node.otherwise)

    def _foreach(self, node: syntax.Foreach) -> None:
        kind = self.check(node.source)
        if kind is not None and not kind.is_array:
            self.report(node.source.place, f"foreach over {kind}: allowed: an array, a range")
            kind = None
        with self._inner(repeats=True):
            element = INT if kind is None else kind.element
            node.value_symbol = self._declare(node.value_name, element, node.place, "loop")
            if node.key_name is not None:
                key = Kind(kind.keys[0]) if kind is not None else INT
                node.key_symbol = self._declare(node.key_name, key, node.place, "loop")
            self._statements(node.body)

    def _for(self, node: syntax.For) -> None:
        for variable in node.variables:
            what = f"variable {variable.name!r}"
            self.check_as(variable.value, variable.kind, what)
        with self._inner(repeats=True):
            for variable in node.variables:
                place = variable.place
                variable.symbol = self._declare(variable.name, variable.kind, place, "loop")
            self.check_as(node.condition, BOOLEAN, "the condition of a loop")
            self._statements(node.body)
            by_name = {variable.name: variable for variable in node.variables}
            for update in node.updates:
                updated = by_name.get(update.name)
                if updated is None:
                    near = did_you_mean(update.name, by_name)
                    message = f"an update of {update.name!r}: allowed: {', '.join(by_name)}{near}"
                    self.report(update.place, message)
                    continue
                if updated.update is not None:
                    self.report(update.place, f"{update.name!r} is updated twice")
                updated.update = update.value
                self.check_as(update.value, updated.kind, f"variable {update.name!r}")
            for variable in node.variables:
                if variable.update is None:
                    message = f"{variable.name!r} has no update: allowed: {variable.name} = …"
                    self.report(variable.place, message)

    def _iterate(self, node: syntax.Iterate) -> None:
        with self._inner(repeats=True):
            node.symbol = self._declare(node.name, INT, node.place, "loop")
            self._statements(node.body)
            self.check_as(node.until, BOOLEAN, "the end of a loop")

    def _switch(self, node: syntax.Switch) -> None:
        kind = self.check(node.value)
        if kind is not None and kind not in _SWITCHED:
            allowed = ", ".join(map(str, _SWITCHED))
            self.report(node.value.place, f"switch by {kind}: allowed: {allowed}")
            kind = None
        seen = set()
        with self._assignments.branches() as begin:
            for case in node.cases:
                value = None if case.value is None else case.value.value
                if value in seen:
                    self.report(case.place, "there are two such cases: allowed: one")
                seen.add(value)
                if case.value is not None and kind not in (None, case.value.kind):
                    self.report(case.place, f"a case of {case.value.kind}: allowed: {kind}")
                begin()
                self._block(case.body)

    def _wait(self, node: syntax.Wait) -> None:
        for value in node.values:
            self.check(value)
        self._block(node.body)
