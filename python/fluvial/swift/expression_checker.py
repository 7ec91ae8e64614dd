# SPDX-License-Identifier: Apache-2.0
"""Types and names of expressions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.messages import did_you_mean, shown_text
from . import syntax
from .builtin import Builtin
from .formats import conversions
from .kinds import BLOB, EMPTY, FILE, FLOAT, INT, STRING, VOID, Kind, array_of
from .operators import binary, unary
from .scopes import Scope
from .script import Finding, Place

Callee = syntax.Definition | Builtin
_ANNOTATIONS = ("par", "prio", "location", "soft_location")


class ExpressionChecker:
    """Finds the type of expressions, and notes it in the tree; what is wrong is collected."""

    def __init__(self, functions: Mapping[str, Callee]) -> None:
        self.functions = functions
        self.findings: list[Finding] = []
        self.scope = Scope()

    def report(self, place: Place, message: str) -> None:
        """Note what is wrong."""
        self.findings.append(Finding(place, message))

    def check(self, node: syntax.Expression) -> Kind | None:
        """Return the type of an expression; None if that cannot be said, which was reported."""
        checks: dict[type, Callable[[Any], Kind | None]] = {
            syntax.Literal: lambda literal: literal.kind,
            syntax.Name: self._name,
            syntax.Element: self._element,
            syntax.Unary: self._unary,
            syntax.Binary: self._binary,
            syntax.Array: self._array,
            syntax.Map: self._map,
            syntax.Range: self._range,
            syntax.Tuple: self._tuple,
            syntax.Call: self._single_output,
        }
        node.kind = checks[type(node)](node)
        return node.kind

    def check_as(self, node: syntax.Expression, wanted: Kind, what: str) -> None:
        """Check that an expression can be what is wanted."""
        kind = self.check(node)
        if kind is not None and not wanted.takes(kind):
            self.report(node.place, f"{what}: got {kind}; allowed: {wanted}{_advice(wanted, kind)}")

    def find(self, name: str, place: Place) -> syntax.Symbol | None:
        """Return the variable of a name."""
        symbol = self.scope.find(name)
        if symbol is None:
            near = did_you_mean(name, self.scope.names())
            self.report(place, f"no variable has this name: got {name!r}{near}")
        return symbol

    def _name(self, node: syntax.Name) -> Kind | None:
        node.symbol = self.find(node.name, node.place)
        if node.symbol is None:
            return None
        node.symbol.read = node.symbol.read or node.place
        return node.symbol.kind

    def _element(self, node: syntax.Element) -> Kind | None:
        array = self.check(node.array)
        if array is None:
            self.check(node.key)
            return None
        return self.check_key(array, node.key, node.place)

    def check_key(self, array: Kind, key: syntax.Expression, place: Place) -> Kind | None:
        """Return the type of the elements of an array that has this key."""
        if not array.is_array:
            self.check(key)
            self.report(place, f"an element of what is no array: got {array}")
            return None
        self.check_as(key, Kind(array.keys[0]), "a key")
        return array.element

    def _unary(self, node: syntax.Unary) -> Kind | None:
        kind = self.check(node.operand)
        if kind is None:
            return None
        found = unary(node.operator, kind)
        if found is None:
            allowed = "boolean" if node.operator == "!" else "int, float"
            self.report(node.place, f"{node.operator} of {kind}: allowed: {allowed}")
            return None
        return found[0]

    def _binary(self, node: syntax.Binary) -> Kind | None:
        left = self.check(node.left)
        if node.operator == "%" and left == STRING:
            self._check_format(node.left, self._kinds_of(node.right), node.place)
            return STRING
        right = self.check(node.right)
        if left is None or right is None:
            return None
        found = binary(node.operator, left, right)
        if found is None:
            hint = _operator_hint(node.operator, left, right)
            self.report(node.place, f"{node.operator} between {left} and {right}: {hint}")
            return None
        return found[0]

    def _kinds_of(self, node: syntax.Expression) -> list[Kind | None]:
        if isinstance(node, syntax.Tuple):
            return [self.check(item) for item in node.items]
        return [self.check(node)]

    def _array(self, node: syntax.Array) -> Kind | None:
        return array_of(self._common(node.items, node.place)) if node.items else EMPTY

    def _map(self, node: syntax.Map) -> Kind | None:
        key = self._common([key for key, _ in node.pairs], node.place)
        if key not in (INT, STRING):
            self.report(node.place, f"keys of an array: got {key}; allowed: int, string")
            key = INT
        return array_of(self._common([value for _, value in node.pairs], node.place), key.scalar)

    def _common(self, items: Sequence[syntax.Expression], place: Place) -> Kind:
        kinds = [kind for item in items if (kind := self.check(item)) is not None]
        if not kinds:
            return INT
        widest = FLOAT if FLOAT in kinds else next((k for k in kinds if k is not EMPTY), EMPTY)
        for item in items:
            if item.kind is not None and not widest.takes(item.kind):
                self.report(
                    item.place, f"an element of {widest}s: got {item.kind}; allowed: {widest}"
                )
        return widest

    def _range(self, node: syntax.Range) -> Kind:
        for part in filter(None, (node.first, node.last, node.step)):
            self.check_as(part, INT, "a number of a range")
        return array_of(INT)

    def _tuple(self, node: syntax.Tuple) -> Kind | None:
        for item in node.items:
            self.check(item)
        self.report(node.place, "several values in parentheses: allowed: behind % of a format")
        return None

    # --- calls

    def _single_output(self, node: syntax.Call) -> Kind | None:
        kinds = self.check_call(node)
        if kinds is None:
            return None
        if len(kinds) > 1:
            self.report(node.place, f"{node.function} has {len(kinds)} outputs: allowed: one, here")
            return None
        return kinds[0] if kinds else VOID

    def check_call(self, node: syntax.Call) -> list[Kind] | None:
        """Check a call; return the types of its outputs."""
        called = self.functions.get(node.function)
        given = [self.check(argument) for argument in node.arguments]
        node.called = called
        if called is None:
            for annotation in node.annotations:
                self.check(annotation.value)
            self._report_unknown(node)
            return None
        self._check_annotations(node, called)
        if isinstance(called, Builtin):
            return self._check_builtin(node, called, given)
        inputs = called.inputs
        if len(given) != len(inputs):
            names = ", ".join(f"{p.kind} {p.name}" for p in inputs)
            self.report(node.place, f"{node.function}: got {len(given)} inputs; allowed: ({names})")
        for argument, kind, wanted in zip(node.arguments, given, inputs, strict=False):
            if kind is not None and not wanted.kind.takes(kind):
                advice = _advice(wanted.kind, kind)
                self.report(
                    argument.place,
                    f"input {wanted.name!r} of {node.function}: got {kind}; allowed: "
                    f"{wanted.kind}{advice}",
                )
        return [output.kind for output in called.outputs]

    def _report_unknown(self, node: syntax.Call) -> None:
        if self.scope.find(node.function) is not None:
            self.report(node.place, f"{node.function!r} is a variable: allowed: to call functions")
            return
        near = did_you_mean(node.function, self.functions)
        self.report(node.place, f"no function has this name: got {node.function!r}{near}")

    def _check_builtin(
        self, node: syntax.Call, called: Builtin, given: Sequence[Kind | None]
    ) -> list[Kind] | None:
        inputs = called.inputs
        least, most = len(inputs) - called.optional, len(inputs)
        if len(given) < least or (called.rest is None and len(given) > most):
            self.report(
                node.place,
                f"{node.function}: got {len(given)} inputs; allowed: {called.described()}",
            )
            return None
        for number, (argument, kind) in enumerate(zip(node.arguments, given, strict=True)):
            wanted = inputs[number] if number < most else called.rest
            if kind is not None and wanted is not None and not wanted.takes(kind):
                self.report(
                    argument.place,
                    f"input {number + 1} of {node.function}: got {kind}; allowed: {wanted}",
                )
                return None
        if None in given:
            return None
        if called.name in ("printf", "sprintf"):
            self._check_format(node.arguments[0], given[1:], node.place)
        return [called.output_of([kind for kind in given if kind is not None])]

    def _check_format(
        self, text: syntax.Expression, given: Sequence[Kind | None], place: Place
    ) -> None:
        if not isinstance(text, syntax.Literal) or not isinstance(text.value, str):
            return
        try:
            wanted = conversions(text.value)
        except ValueError as error:
            self.report(text.place, str(error))
            return
        if len(wanted) != len(given):
            self.report(
                place,
                f"a format for {len(wanted)} values: got {len(given)}; allowed: one for each "
                f"conversion of {shown_text(text.value)!r}",
            )
        for (conversion, allowed), kind in zip(wanted, given, strict=False):
            if kind is not None and kind not in allowed:
                kinds = ", ".join(map(str, allowed))
                self.report(place, f"{conversion} of a format: got {kind}; allowed: {kinds}")

    def _check_annotations(self, node: syntax.Call, called: Callee) -> None:
        for annotation in node.annotations:
            name = annotation.name
            if name not in _ANNOTATIONS:
                near = did_you_mean(name, _ANNOTATIONS)
                allowed = ", ".join(f"@{known}" for known in _ANNOTATIONS)
                self.report(
                    annotation.place,
                    f"an annotation of a call: got @{name}; allowed: {allowed}{near}",
                )
                self.check(annotation.value)
                continue
            self.check_as(annotation.value, INT, f"@{name}")
            if isinstance(called, syntax.Function) or (
                isinstance(called, Builtin) and not called.as_task
            ):
                self.report(
                    annotation.place,
                    f"@{name} of {node.function}: got a function that is no task of its own; "
                    "allowed: leaf and app functions",
                )
            elif name == "par" and not getattr(called, "parallel", False):
                remedy = (
                    ""
                    if not isinstance(called, syntax.Leaf)
                    else (f". Declare it so (line {called.place.line}): @par {_declared(called)}")
                )
                self.report(
                    annotation.place,
                    f"@par of {node.function}, which was not declared parallel{remedy}",
                )


def _declared(leaf: syntax.Leaf) -> str:
    outputs = ", ".join(f"{p.kind} {p.name}" for p in leaf.outputs)
    inputs = ", ".join(f"{p.kind} {p.name}" for p in leaf.inputs)
    return f'({outputs}) {leaf.name}({inputs}) "{leaf.package}"'


def _advice(wanted: Kind, kind: Kind) -> str:
    advice = {
        (INT, FLOAT): ". Use round, floor or ceil",
        (INT, STRING): ". Use toint",
        (FLOAT, STRING): ". Use tofloat",
        (STRING, INT): '. Use fromint, or a format: "%i" % …',
        (STRING, FLOAT): '. Use fromfloat, or a format: "%f" % …',
        (FILE, STRING): ". Use input",
        (STRING, FILE): ". Use filename, or read",
        (STRING, BLOB): ". Use string_from_blob",
        (BLOB, STRING): ". Use blob_from_string",
    }
    if wanted == Kind("float", kind.keys) and kind.scalar == "int":
        return ". Write 1.0, not 1"
    return advice.get((wanted, kind), "")


def _operator_hint(operator: str, left: Kind, right: Kind) -> str:
    if operator in ("%/", "%%"):
        return "allowed: between ints"
    if operator == "+" and STRING in (left, right):
        return 'allowed: between strings. Use strcat, or a format: "%i" % …'
    if operator in ("&&", "||"):
        return "allowed: between booleans"
    if operator == "%":
        return "allowed: behind a string. The remainder is %%"
    return "allowed: between numbers" + (
        ", and between values of one type" if operator in ("==", "!=") else ""
    )
