# SPDX-License-Identifier: Apache-2.0
"""The syntax tree of a script. The checker fills in what its fields with defaults say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from .builtin import Builtin
from .kinds import Kind
from .script import Place, Script

Scalar: TypeAlias = int | float | str | bool
"""The value of a literal."""


@dataclass
class Node:
    """A part of a script, and where it stands."""

    place: Place = field(repr=False, compare=False)


@dataclass(eq=False)
class Symbol:
    """A variable of a scope."""

    name: str
    kind: Kind
    place: Place
    role: str = "variable"
    """variable, input, output, loop or constant."""
    assigned: Place | None = None
    assigned_in_parts: bool = False
    read: Place | None = None
    slot: object = None
    """Where it is at run time: a `layouts.Slot`."""


@dataclass
class Expression(Node):
    """What has a value."""

    kind: Kind | None = field(default=None, kw_only=True, repr=False, compare=False)


@dataclass
class Literal(Expression):
    """A number, a string, true or false."""

    value: Scalar


@dataclass
class Name(Expression):
    """A variable that is read."""

    name: str
    symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class Element(Expression):
    """An element of an array."""

    array: Expression
    key: Expression


@dataclass
class Unary(Expression):
    """A sign, or `!`."""

    operator: str
    operand: Expression


@dataclass
class Binary(Expression):
    """An operator between two operands."""

    operator: str
    left: Expression
    right: Expression


@dataclass
class Array(Expression):
    """Elements in order."""

    items: list[Expression]


@dataclass
class Map(Expression):
    """Elements with their keys."""

    pairs: list[tuple[Expression, Expression]]


@dataclass
class Range(Expression):
    """Integers from the first to the last, both included."""

    first: Expression
    last: Expression
    step: Expression | None


@dataclass
class Tuple(Expression):
    """Several values: what stands behind `%`."""

    items: list[Expression]


@dataclass
class Annotation(Node):
    """A property of a call, such as `@par=4`."""

    name: str
    value: Expression


@dataclass
class Call(Expression):
    """A call of a function."""

    function: str
    arguments: list[Expression]
    annotations: list[Annotation]
    called: Definition | Builtin | None = field(default=None, repr=False, compare=False)


@dataclass
class Statement(Node):
    """What is executed."""


@dataclass
class Block(Statement):
    """Statements that execute at the same time, by their inputs."""

    statements: list[Statement]


@dataclass
class Declarator(Node):
    """A variable of a declaration."""

    name: str
    kind: Kind
    mapping: Expression | None
    value: Expression | None
    symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class Declaration(Statement):
    """Variables of one type."""

    declarators: list[Declarator]


@dataclass
class Target(Node):
    """What is assigned to: a variable, or an element of an array."""

    name: str
    keys: list[Expression]
    kind: Kind | None = field(default=None, kw_only=True, repr=False, compare=False)
    symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class Assignment(Statement):
    """One value, or the several outputs of a function."""

    targets: list[Target]
    value: Expression


@dataclass
class CallStatement(Statement):
    """A call whose outputs are not read."""

    call: Call


@dataclass
class Chain(Statement):
    """Statements of which each begins when the one before is done: `=>`."""

    statements: list[Statement]


@dataclass
class If(Statement):
    """A condition and two branches."""

    condition: Expression
    then: Block
    otherwise: Block | None


@dataclass
class Foreach(Statement):
    """Iterations at the same time."""

    value_name: str
    key_name: str | None
    source: Expression
    body: Block
    value_symbol: Symbol | None = field(default=None, repr=False, compare=False)
    key_symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class LoopVariable(Node):
    """A variable of a `for`: its first value, and that of the next iteration."""

    name: str
    kind: Kind
    value: Expression
    update: Expression | None = None
    symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class LoopUpdate(Node):
    """What a variable of a `for` is in the next iteration."""

    name: str
    value: Expression


@dataclass
class For(Statement):
    """Iterations of which each has variables by the one before."""

    variables: list[LoopVariable]
    condition: Expression
    updates: list[LoopUpdate]
    body: Block


@dataclass
class Iterate(Statement):
    """Iterations until a condition holds; counted from 0."""

    name: str
    body: Block
    until: Expression
    symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class Case(Node):
    """A branch of a switch; without a value the default."""

    value: Literal | None
    body: Block


@dataclass
class Switch(Statement):
    """Branches by a value."""

    value: Expression
    cases: list[Case]


@dataclass
class Wait(Statement):
    """A block that begins when values are there."""

    values: list[Expression]
    deep: bool
    body: Block


@dataclass
class Parameter(Node):
    """An input or output of a function."""

    name: str
    kind: Kind
    symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class Definition(Node):
    """A function of the script."""

    name: str
    outputs: list[Parameter]
    inputs: list[Parameter]
    marks: list[str]


@dataclass
class Function(Definition):
    """A composite function: statements."""

    body: Block


@dataclass
class Leaf(Definition):
    """A function of a Python module or a shared library."""

    package: str
    version: str
    function: str
    template: str | None

    @property
    def parallel(self) -> bool:
        """Whether several ranks may run it together."""
        return "par" in self.marks


@dataclass
class Redirection(Node):
    """A stream of a command that is a file."""

    stream: str
    file: Expression


@dataclass
class App(Definition):
    """A command."""

    words: list[Expression]
    redirections: list[Redirection]


@dataclass
class Constant(Node):
    """A variable that all functions see."""

    name: str
    kind: Kind
    value: Expression
    symbol: Symbol | None = field(default=None, repr=False, compare=False)


@dataclass
class Import(Node):
    """Another script, or a part of the standard library."""

    name: str


@dataclass
class Program:
    """A whole script."""

    script: Script
    imports: list[Import]
    constants: list[Constant]
    functions: list[Definition]
    main: Block
