# SPDX-License-Identifier: Apache-2.0
"""Variables that are set once, and arrays of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

Key: TypeAlias = int | str
"""Of an element of an array."""


class Unset:
    """Stands for a value that has not come."""

    def __repr__(self) -> str:
        return "unset"


UNSET = Unset()


class Blocked(Exception):  # noqa: N818
    """A value is not there yet; what needs it goes on when `variable` is set."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable


class SetTwice(Exception):  # noqa: N818
    """A second value came."""


class Variable:
    """A value to come, and the steps that wait for it."""

    __slots__ = ("name", "path", "value", "waiting")

    def __init__(self, name: str = "", value: object = UNSET) -> None:
        self.name = name
        self.value: Any = value
        self.waiting: list[object] | None = None
        self.path: Variable | None = None
        """Of a file that a task will write: where."""

    def get(self) -> Any:
        """Return the value, or raise Blocked."""
        if self.value is UNSET:
            raise Blocked(self)
        return self.value


class ArrayValue:
    """Elements by their keys; closed when no more can come.

    What may add elements holds it open (`writers`); elements that were asked for before they
    came are in `asked`.
    """

    __slots__ = ("asked", "closing", "elements", "name", "nested", "writers")

    def __init__(self, name: str = "") -> None:
        self.name = name
        self.elements: dict[Key, Variable] = {}
        self.asked: dict[Key, Variable] = {}
        self.nested: list[ArrayValue] = []
        self.writers = 0
        self.closing = Variable(name)

    @property
    def closed(self) -> bool:
        """Whether all elements are known, though perhaps not their values."""
        return self.closing.value is not UNSET

    def slot(self, key: Key) -> Variable:
        """Return the variable of an element that is read, which may come later."""
        found = self.elements.get(key)
        if found is not None:
            return found
        if self.closed:
            raise LookupError(
                f"{self.name}[{key!r}] is not set: got an array with {len(self.elements)} elements"
                f"; allowed: {_keys(self.elements)}"
            )
        found = self.asked.get(key)
        if found is None:
            found = self.asked[key] = Variable(f"{self.name}[{key!r}]")
        return found

    def insert(self, key: Key) -> Variable:
        """Return the variable of an element that will be set."""
        if key in self.elements:
            raise SetTwice(f"{self.name}[{key!r}] is set twice")
        found = self.asked.pop(key, None)
        if found is None:
            found = Variable(f"{self.name}[{key!r}]")
        self.elements[key] = found
        return found

    def inner(self, key: Key, settle: Callable[[Variable, ArrayValue], None]) -> ArrayValue:
        """Return the array that is an element, made when it is first written."""
        found = self.elements.get(key)
        if found is None:
            made = ArrayValue(f"{self.name}[{key!r}]")
            self.nested.append(made)
            settle(self.insert(key), made)
            return made
        if not isinstance(found.value, ArrayValue):
            raise SetTwice(f"{self.name}[{key!r}] is set as a whole and in parts")
        return found.value

    @classmethod
    def of(cls, values: Iterable[object], name: str = "") -> ArrayValue:
        """Return a closed array of values: those of a list, or of a dict with their keys."""
        made = cls(name)
        pairs = values.items() if isinstance(values, dict) else enumerate(values)
        for key, value in pairs:
            if isinstance(value, list | tuple | dict):
                value = cls.of(value)
            made.elements[key] = Variable(value=value)
        made.closing.value = made
        return made

    def in_order(self) -> Iterator[tuple[Key, Variable]]:
        """Yield keys and elements, by their keys."""
        return iter(sorted(self.elements.items()))


def deep(value: object) -> object:
    """Return a value with all elements of arrays, as dicts; raise Blocked while one is missing."""
    if not isinstance(value, ArrayValue):
        return value
    value.closing.get()
    return {key: deep(element.get()) for key, element in value.in_order()}


def _keys(elements: dict[Key, Variable]) -> str:
    some = sorted(elements)
    if len(some) > 6:
        return f"{some[0]!r}, {some[1]!r} … {some[-1]!r}"
    return ", ".join(map(repr, some)) or "none"
