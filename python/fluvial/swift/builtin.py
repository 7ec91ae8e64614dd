# SPDX-License-Identifier: Apache-2.0
"""What the checker and the interpreter know of a function of the standard library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from .kinds import BOOLEAN, FLOAT, INT, STRING, Kind


@dataclass(frozen=True)
class OneOf:
    """An input that may be of several types."""

    words: str
    matches: Callable[[Kind], bool]

    def __str__(self) -> str:
        return self.words

    def takes(self, kind: Kind) -> bool:
        """Tell whether a value of this type may be given."""
        return self.matches(kind)


ANYTHING = OneOf("anything", lambda kind: True)
NUMBER = OneOf("int or float", lambda kind: kind in (INT, FLOAT))
NUMBERS = OneOf("int[] or float[]", lambda kind: kind.is_array and kind.element in (INT, FLOAT))
ARRAY = OneOf("an array", lambda kind: kind.is_array)
PLAIN = OneOf("int, float, string or boolean", lambda k: k in (INT, FLOAT, STRING, BOOLEAN))
KEY = OneOf("int or string", lambda kind: kind in (INT, STRING))

Input = Kind | OneOf
Output = Kind | Callable[[Sequence[Kind]], Kind]


@dataclass(frozen=True)
class Builtin:
    """A function of the standard library."""

    name: str
    inputs: tuple[Input, ...]
    output: Output
    function: Callable[..., Any]
    rest: Input | None = None
    """Of any number of further inputs."""
    optional: int = 0
    """How many of the inputs need not be given."""
    has_effect: bool = False
    """It is called once, when its inputs are there, even if what it returns is not read."""
    sees_arrays: bool = False
    """It takes closed arrays as they are, whose elements may not be set yet."""
    as_task: bool = False
    """Ranks of the pool run it, not the interpreter."""

    @property
    def parallel(self) -> bool:
        """Whether several ranks may run it together."""
        return False

    def output_of(self, given: Sequence[Kind]) -> Kind:
        """Return the type of what it returns."""
        return self.output if isinstance(self.output, Kind) else self.output(given)

    def described(self) -> str:
        """Return how it is called, for messages."""
        words = [str(word) for word in self.inputs]
        if self.optional:
            words[-self.optional] = f"[{words[-self.optional]}"
            words[-1] += "]"
        return f"{self.name}({', '.join([*words, *([f'{self.rest} …'] if self.rest else [])])})"


class More(TypedDict, total=False):
    """The fields of `Builtin` that have defaults."""

    rest: Input
    optional: int
    has_effect: bool
    sees_arrays: bool
    as_task: bool


class Table(dict[str, Builtin]):
    """Functions by their names."""

    def add(
        self,
        name: str,
        inputs: Sequence[Input],
        output: Output,
        function: Callable[..., object],
        **more: Unpack[More],
    ) -> None:
        """Add a function."""
        self[name] = Builtin(name, tuple(inputs), output, function, **more)
