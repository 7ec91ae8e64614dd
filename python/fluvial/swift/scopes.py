# SPDX-License-Identifier: Apache-2.0
"""Which names a place of a script sees, and what has been assigned there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .kinds import Kind
from .script import Place
from .syntax import Symbol

Report = Callable[[Place, str], None]


class Scope:
    """Names of a block; those of the blocks around it are seen, too."""

    def __init__(self, around: Scope | None = None, repeats: bool = False) -> None:
        self.around = around
        self.symbols: dict[str, Symbol] = {}
        self.loops: int = (around.loops if around else 0) + repeats
        """How many loops are around it, in this function."""

    def find(self, name: str) -> Symbol | None:
        """Return the nearest symbol of the name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.symbols:
                return scope.symbols[name]
            scope = scope.around
        return None

    def names(self) -> list[str]:
        """Return all names that are seen."""
        return [*self.symbols, *(self.around.names() if self.around else [])]

    def loops_of(self, symbol: Symbol) -> int:
        """Return how many loops are around the declaration of a symbol that is seen here."""
        scope: Scope | None = self
        while scope is not None and symbol not in scope.symbols.values():
            scope = scope.around
        return scope.loops if scope is not None else 0

    def declare(self, name: str, kind: Kind, place: Place, role: str, report: Report) -> Symbol:
        """Add a symbol; a second one of the same name in one block is reported."""
        before = self.symbols.get(name)
        if before is not None:
            report(place, f"{name!r} is declared twice: first on line {before.place.line}")
        symbol = Symbol(name, kind, place, role)
        self.symbols[name] = symbol
        return symbol


class Assignments:
    """What has been assigned on the way to a place; of two branches only one is gone."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._made: dict[Symbol, Place] = {}

    def add(self, symbol: Symbol, place: Place, scope: Scope) -> None:
        """Note the assignment of a whole variable."""
        name = symbol.name
        if symbol.role != "variable" and symbol.role != "output":
            what = {"input": "an input", "loop": "the variable of a loop"}.get(symbol.role)
            what = what or "a global constant"
            self._report(place, f"{name!r} is assigned, but is {what}: allowed: another variable")
        elif symbol in self._made:
            line = self._made[symbol].line
            self._report(place, f"{name!r} is assigned twice: first on line {line}")
        elif symbol.assigned_in_parts:
            self._report(
                place, f"{name!r} is assigned as a whole and in parts: allowed: one of them"
            )
        elif scope.loops > scope.loops_of(symbol):
            self._report(
                place,
                f"{name!r} is assigned again in each iteration, but declared outside of the loop "
                f"(line {symbol.place.line}): allowed: to declare it in the loop, or an array",
            )
        self._made.setdefault(symbol, place)
        symbol.assigned = symbol.assigned or place

    def add_part(self, symbol: Symbol, place: Place) -> None:
        """Note the assignment of an element."""
        if symbol.assigned is not None:
            self._report(
                place, f"{symbol.name!r} is assigned as a whole and in parts: allowed: one of them"
            )
        if symbol.role not in ("variable", "output"):
            self._report(place, f"{symbol.name!r} is an input: its elements cannot be assigned")
        symbol.assigned_in_parts = True

    @contextmanager
    def branches(self) -> Iterator[Callable[[], None]]:
        """Give a function to call before each of several branches."""
        before = dict(self._made)
        after = dict(self._made)

        def begin() -> None:
            after.update(self._made)
            self._made = dict(before)

        yield begin
        after.update(self._made)
        self._made = after
