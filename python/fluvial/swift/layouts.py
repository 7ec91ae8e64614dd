# SPDX-License-Identifier: Apache-2.0
"""Where variables are in the frames of a running script."""

from __future__ import annotations

from .frames import Frame, Get, Locate
from .syntax import Symbol
from .variables import UNSET, Blocked, Variable


class Layout:
    """The variables of a frame, by number, and the layout of the frame around it."""

    def __init__(self, parent: Layout | None = None) -> None:
        self.parent = parent
        self.names: list[str] = []

    def add(self, name: str) -> Slot:
        """Add a variable."""
        self.names.append(name)
        return Slot(self, len(self.names) - 1)

    def place(self, symbol: Symbol) -> Slot:
        """Add the variable of a symbol, which knows its place from now on."""
        slot: Slot = self.add(symbol.name)
        symbol.slot = slot
        return slot


class Slot:
    """A variable of a layout."""

    def __init__(self, layout: Layout, index: int) -> None:
        self.layout = layout
        self.index = index

    def _distance(self, seen_from: Layout) -> int:
        distance, layout = 0, seen_from
        while layout is not self.layout:
            if layout.parent is None:
                raise AssertionError("bug in Fluvial: a variable of a frame that is not around")
            distance, layout = distance + 1, layout.parent
        return distance

    def locator(self, seen_from: Layout) -> Locate:
        """Return what finds the variable from a frame of that layout."""
        distance, index = self._distance(seen_from), self.index
        if distance == 0:
            return lambda frame: frame.values[index]

        def locate(frame: Frame) -> Variable:
            for _ in range(distance):
                frame = frame.parent  # type: ignore[assignment]
            return frame.values[index]

        return locate

    def getter(self, seen_from: Layout) -> Get:
        """Return what reads the variable, or raises Blocked."""
        locate = self.locator(seen_from)

        def get(frame: Frame) -> object:
            variable = locate(frame)
            value = variable.value
            if value is UNSET:
                raise Blocked(variable)
            return value

        return get
