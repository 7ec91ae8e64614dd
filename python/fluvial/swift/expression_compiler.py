# SPDX-License-Identifier: Apache-2.0
"""From expressions to functions of a frame that return their values, or raise Blocked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import syntax
from .builtin import Builtin
from .frames import Frame, Get, Locate
from .kinds import FLOAT, INT, Kind
from .layouts import Layout, Slot
from .operators import Function, as_scalar, binary, unary
from .variables import ArrayValue, deep


def is_pure(node: syntax.Call) -> bool:
    """Tell whether a call may be evaluated again and again until its inputs are there."""
    called = node.called
    return isinstance(called, Builtin) and not called.has_effect and not called.as_task


class ExpressionCompiler:
    """Makes expressions ready; calls that are no pure functions become steps of their own."""

    layout: Layout

    def hoist(self, node: syntax.Call) -> Slot:
        """Make a call a step, and return the variable of its output."""
        raise NotImplementedError

    def expression(self, node: syntax.Expression) -> Get:
        """Return what computes an expression."""
        compilers: dict[type, Callable[[Any], Get]] = {
            syntax.Literal: lambda literal: _constant(literal.value),
            syntax.Name: self._name,
            syntax.Element: self._element,
            syntax.Unary: self._unary,
            syntax.Binary: self._binary,
            syntax.Array: self._array,
            syntax.Map: self._map,
            syntax.Range: self._range,
            syntax.Tuple: self._tuple,
            syntax.Call: self._call,
        }
        return compilers[type(node)](node)

    def coerced(self, node: syntax.Expression, wanted: Kind) -> Get:
        """Return the same, with whole numbers as floats where those are wanted."""
        get = self.expression(node)
        if wanted == FLOAT and node.kind == INT:
            return lambda frame: float(get(frame))
        return get

    def whole(self, node: syntax.Expression, wanted: Kind) -> Get:
        """Return the same, of arrays all elements."""
        get = self.coerced(node, wanted)
        if node.kind is not None and node.kind.is_array:
            return lambda frame: deep(get(frame))
        return get

    def _name(self, node: syntax.Name) -> Get:
        return self.value_of(node.symbol)

    def value_of(self, symbol: syntax.Symbol | None) -> Get:
        """Return what reads a variable from here."""
        return _slot_of(symbol).getter(self.layout)

    def locate(self, symbol: syntax.Symbol | None) -> Locate:
        """Return what finds a variable from here."""
        return _slot_of(symbol).locator(self.layout)

    def _element(self, node: syntax.Element) -> Get:
        array, key = self.expression(node.array), self.expression(node.key)
        return lambda frame: array(frame).slot(key(frame)).get()

    def _unary(self, node: syntax.Unary) -> Get:
        found = unary(node.operator, _kind(node.operand))
        operand = self.expression(node.operand)
        function = _known(found)
        return lambda frame: function(operand(frame))

    def _binary(self, node: syntax.Binary) -> Get:
        left = self.expression(node.left)
        if node.operator == "%" and isinstance(node.right, syntax.Tuple):
            right, kind = self._tuple(node.right), INT
        else:
            right, kind = self.expression(node.right), _kind(node.right)
        function = _known(binary(node.operator, _kind(node.left), kind))
        return lambda frame: function(left(frame), right(frame))

    def _tuple(self, node: syntax.Tuple) -> Get:
        items = [self.expression(item) for item in node.items]
        return lambda frame: tuple([item(frame) for item in items])

    def _array(self, node: syntax.Array) -> Get:
        kind = _kind(node).element
        items = [self.coerced(item, kind) for item in node.items]
        return lambda frame: ArrayValue.of([item(frame) for item in items], "an array")

    def _map(self, node: syntax.Map) -> Get:
        kind = _kind(node).element
        pairs = [(self.expression(key), self.coerced(value, kind)) for key, value in node.pairs]

        def get(frame: Frame) -> ArrayValue:
            values = [(key(frame), value(frame)) for key, value in pairs]
            found = dict(values)
            if len(found) < len(values):
                raise ValueError("an array with the same key twice")
            return ArrayValue.of(found, "an array")

        return get

    def _range(self, node: syntax.Range) -> Get:
        numbers = self.numbers(node)
        return lambda frame: ArrayValue.of(list(numbers(frame)), "a range")

    def numbers(self, node: syntax.Range) -> Callable[[Frame], range]:
        """Return what computes the numbers of a range."""
        first, last = self.expression(node.first), self.expression(node.last)
        step = _constant(1) if node.step is None else self.expression(node.step)

        def get(frame: Frame) -> range:
            begin, end, by = first(frame), last(frame), step(frame)
            if by == 0:
                raise ValueError("the step of a range: got 0; allowed: any other whole number")
            return range(begin, end + (1 if by > 0 else -1), by)

        return get

    def _call(self, node: syntax.Call) -> Get:
        called = node.called
        if not isinstance(called, Builtin) or not is_pure(node):
            return self.hoist(node).getter(self.layout)
        gets = self.inputs(node, called)
        function, name = called.function, called.name
        kinds = [_kind(argument) for argument in node.arguments]
        kind = called.output_of(kinds)

        def get(frame: Frame) -> object:
            values = [value(frame) for value in gets]
            try:
                result = function(*values)
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
            return ArrayValue.of(result, name) if kind.is_array else as_scalar(result, kind)

        return get

    def inputs(self, node: syntax.Call, called: Builtin) -> list[Get]:
        """Return what computes the inputs of a function of the library."""
        wanted = [*called.inputs, *[called.rest] * len(node.arguments)]
        gets = []
        for argument, kind in zip(node.arguments, wanted, strict=False):
            if called.sees_arrays and _kind(argument).is_array:
                gets.append(_closed(self.expression(argument)))
            else:
                gets.append(self.whole(argument, kind if isinstance(kind, Kind) else INT))
        return gets


def _constant(value: object) -> Get:
    return lambda frame: value


def _closed(get: Get) -> Get:
    return lambda frame: get(frame).closing.get()


def _kind(node: syntax.Expression) -> Kind:
    if node.kind is None:
        raise AssertionError("bug in Fluvial: an expression that was not checked")
    return node.kind


def _known(found: tuple[Kind, Function] | None) -> Function:
    if found is None:
        raise AssertionError("bug in Fluvial: an operator that was not checked")
    return found[1]


def _slot_of(symbol: syntax.Symbol | None) -> Slot:
    if symbol is None or not isinstance(symbol.slot, Slot):
        raise AssertionError("bug in Fluvial: a variable without a place")
    return symbol.slot
