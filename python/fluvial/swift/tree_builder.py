# SPDX-License-Identifier: Apache-2.0
"""From lark's tree to the syntax tree."""
# ruff: noqa: D102  (the methods are the rules of the grammar)

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from . import syntax
from .kinds import BOOLEAN, FLOAT, INT, STRING, Kind
from .rule_parts import (
    Dimensions,
    Heading,
    Inputs,
    Mapping,
    Mark,
    Outputs,
    Parts,
    Template,
    all_of,
    is_tree,
    is_word,
)
from .script import Finding, Place, Script, ScriptError

if TYPE_CHECKING:
    from lark import Token, Tree
    from lark.tree import Meta

_LIBRARY_SUFFIX = ".swift"
_HINTS = ("splitdegree", "leafdegree", "unroll")
"""Of Swift/T's compiler, for loops: accepted, and of no effect."""
_MAGNITUDE = 2**63
"""Of the least whole number; there is no such positive one."""
_ESCAPES = {c: ast.literal_eval(f'"\\{c}"') for c in '\\"ntabfrv'}


class TreeBuilder:
    """Makes a node of each rule, which has a method here; children are made before."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._magnitudes: list[syntax.Literal] = []
        """Numbers that only stand for themselves behind a minus: 2**63."""

    def build(self, tree: Tree[Token]) -> Any:
        """Return the node of lark's tree."""
        parts = [self.build(part) if is_tree(part) else part for part in tree.children]
        return getattr(self, tree.data)(tree.meta, parts)

    def _place(self, meta: Meta | Token) -> Place:
        return Place(self._script, getattr(meta, "line", 1), getattr(meta, "column", 1))

    def _fail(self, meta: Meta | Token, message: str) -> ScriptError:
        return ScriptError([Finding(self._place(meta), message)])

    def start(self, meta: Meta, parts: Parts) -> syntax.Program:
        """Sort what stands at the top; statements there are as those of main."""
        for literal in self._magnitudes:
            raise ScriptError([Finding(literal.place, _too_large(literal.value))])
        mains = [part for part in parts if isinstance(part, tuple)]
        for name, block in mains:
            if name != "main":
                message = (
                    f"a block with a name: got {str(name)!r}; allowed: main, or name() {{ … }}"
                )
                raise self._fail(name, message)
            if block is not mains[0][1]:
                raise self._fail(name, "there are two main; allowed: one")
        statements = all_of(syntax.Statement, parts) + [s for _, m in mains for s in m.statements]
        return syntax.Program(
            self._script,
            all_of(syntax.Import, parts),
            all_of(syntax.Constant, parts),
            all_of(syntax.Definition, parts),
            syntax.Block(Place(self._script, 1, 1), statements),
        )

    def main(self, meta: Meta, parts: Parts) -> tuple[Token, syntax.Block]:
        return parts[0], parts[1]

    def import_(self, meta: Meta, parts: Parts) -> syntax.Import:
        return syntax.Import(self._place(meta), ".".join(parts))

    def include(self, meta: Meta, parts: Parts) -> syntax.Import:
        name = parts[0].removeprefix("#include").strip()[1:-1].removesuffix(_LIBRARY_SUFFIX)
        return syntax.Import(self._place(meta), name.replace("/", "."))

    def global_(self, meta: Meta, parts: Parts) -> syntax.Constant:
        return syntax.Constant(self._place(meta), str(parts[1]), Kind(str(parts[0])), parts[2])

    # --- definitions

    def mark(self, meta: Meta, parts: Parts) -> Mark:
        return Mark(parts[0])

    def outputs(self, meta: Meta, parts: Parts) -> Outputs:
        return Outputs(parts)

    def parameters(self, meta: Meta, parts: Parts) -> Inputs:
        return Inputs(parts)

    def parameter(self, meta: Meta, parts: Parts) -> syntax.Parameter:
        kind, name = self._declared(parts)
        return syntax.Parameter(self._place(meta), name, kind)

    def _declared(self, parts: Parts) -> tuple[Kind, str]:
        names = [part for part in parts if is_word(part, "NAME")]
        keys = tuple(key for part in all_of(Dimensions, parts) for key in part)
        return Kind(str(parts[0]), keys), str(names[0])

    def dimensions(self, meta: Meta, parts: Parts) -> Dimensions:
        return Dimensions(parts)

    def dimension(self, meta: Meta, parts: Parts) -> str:
        key = str(parts[0]) if parts else "int"
        if key not in ("int", "string"):
            raise self._fail(meta, f"a type of keys: got {key!r}; allowed: int, string")
        return key

    def _definition(self, meta: Meta, parts: Parts) -> Heading:
        name = next(p for p in parts if is_word(p, "NAME"))
        outputs = next(iter(all_of(Outputs, parts)), Outputs())
        inputs = next(iter(all_of(Inputs, parts)), Inputs())
        marks = [str(mark) for mark in all_of(Mark, parts)]
        return {
            "place": self._place(name),
            "name": str(name),
            "outputs": outputs,
            "inputs": inputs,
            "marks": marks,
        }

    def function(self, meta: Meta, parts: Parts) -> syntax.Function:
        return syntax.Function(**self._definition(meta, parts), body=parts[-1])

    def template(self, meta: Meta, parts: Parts) -> Template:
        return Template(self._text(parts[0]))

    def leaf(self, meta: Meta, parts: Parts) -> syntax.Leaf:
        definition = self._definition(meta, parts)
        strings = [self._text(p) for p in parts if is_word(p, "STRING")]
        package, version, function = (*strings, "", "")[:3]
        template = next(iter(all_of(Template, parts)), None)
        return syntax.Leaf(
            **definition,
            package=package,
            version=version,
            function=function or definition["name"],
            template=template and str(template),
        )

    def app(self, meta: Meta, parts: Parts) -> syntax.App:
        words = all_of(syntax.Expression, parts)
        streams = all_of(syntax.Redirection, parts)
        return syntax.App(**self._definition(meta, parts), words=words, redirections=streams)

    def app_word(self, meta: Meta, parts: Parts) -> syntax.Expression:
        word: syntax.Expression = parts[0]
        return word

    def redirection(self, meta: Meta, parts: Parts) -> syntax.Redirection:
        stream = str(parts[0])
        if stream not in ("stdin", "stdout", "stderr"):
            message = f"a stream of a command: got @{stream}; allowed: @stdin, @stdout, @stderr"
            raise self._fail(meta, message)
        return syntax.Redirection(self._place(meta), stream, parts[1])

    def app_element(self, meta: Meta, parts: Parts) -> syntax.Expression:
        found: syntax.Expression = syntax.Name(self._place(meta), str(parts[0]))
        for key in parts[1:]:
            found = syntax.Element(self._place(meta), found, key)
        return found

    # --- statements

    def block(self, meta: Meta, parts: Parts) -> syntax.Block:
        return syntax.Block(self._place(meta), parts)

    def chain(self, meta: Meta, parts: Parts) -> syntax.Statement:
        if len(parts) == 1:
            only: syntax.Statement = parts[0]
            return only
        return syntax.Chain(self._place(meta), parts)

    def declaration(self, meta: Meta, parts: Parts) -> syntax.Declaration:
        keys = tuple(key for part in all_of(Dimensions, parts) for key in part)
        declarators = all_of(syntax.Declarator, parts)
        for declarator in declarators:
            declarator.kind = Kind(str(parts[0]), declarator.kind.keys + keys)
        return syntax.Declaration(self._place(meta), declarators)

    def declarator(self, meta: Meta, parts: Parts) -> syntax.Declarator:
        keys = tuple(key for part in all_of(Dimensions, parts) for key in part)
        mapping = next((part[0] for part in all_of(Mapping, parts)), None)
        value = next(iter(all_of(syntax.Expression, parts)), None)
        kind = Kind("void", keys)  # the declaration knows the scalar
        return syntax.Declarator(self._place(meta), str(parts[0]), kind, mapping, value)

    def mapping(self, meta: Meta, parts: Parts) -> Mapping:
        return Mapping([parts[1]])

    mapping_before_value = mapping

    def assignment(self, meta: Meta, parts: Parts) -> syntax.Assignment:
        return syntax.Assignment(self._place(meta), parts[:-1], parts[-1])

    def target(self, meta: Meta, parts: Parts) -> syntax.Target:
        return syntax.Target(self._place(meta), str(parts[0]), parts[1:])

    def subscript(self, meta: Meta, parts: Parts) -> syntax.Expression:
        key: syntax.Expression = parts[0]
        return key

    def call_statement(self, meta: Meta, parts: Parts) -> syntax.CallStatement:
        return syntax.CallStatement(self._place(meta), parts[0])

    def if_(self, meta: Meta, parts: Parts) -> syntax.If:
        condition, then, otherwise = (*parts, None)[:3]
        if isinstance(otherwise, syntax.If):
            otherwise = syntax.Block(otherwise.place, [otherwise])
        return syntax.If(self._place(meta), condition, then, otherwise)

    def foreach(self, meta: Meta, parts: Parts) -> syntax.Foreach:
        for hint in all_of(syntax.Annotation, parts):
            if hint.name not in _HINTS:
                allowed = ", ".join(f"@{known}" for known in _HINTS)
                message = f"an annotation of a loop: got @{hint.name}; allowed: {allowed}"
                raise self._fail(meta, message)
        value, *key, source, body = (p for p in parts if not isinstance(p, syntax.Annotation))
        key_name = str(key[0]) if key else None
        return syntax.Foreach(self._place(meta), str(value), key_name, source, body)

    def for_(self, meta: Meta, parts: Parts) -> syntax.For:
        variables, updates = all_of(syntax.LoopVariable, parts), all_of(syntax.LoopUpdate, parts)
        condition = next(part for part in parts if isinstance(part, syntax.Expression))
        return syntax.For(self._place(meta), variables, condition, updates, parts[-1])

    def loop_start(self, meta: Meta, parts: Parts) -> syntax.LoopVariable:
        kind, name, value = parts
        return syntax.LoopVariable(self._place(meta), str(name), Kind(str(kind)), value)

    def loop_update(self, meta: Meta, parts: Parts) -> syntax.LoopUpdate:
        return syntax.LoopUpdate(self._place(meta), str(parts[0]), parts[1])

    def iterate(self, meta: Meta, parts: Parts) -> syntax.Iterate:
        return syntax.Iterate(self._place(meta), str(parts[0]), parts[1], parts[2])

    def switch(self, meta: Meta, parts: Parts) -> syntax.Switch:
        return syntax.Switch(self._place(meta), parts[0], parts[1:])

    def case(self, meta: Meta, parts: Parts) -> syntax.Case:
        value = parts[0] if parts and isinstance(parts[0], syntax.Literal) else None
        statements = [part for part in parts if isinstance(part, syntax.Statement)]
        return syntax.Case(self._place(meta), value, syntax.Block(self._place(meta), statements))

    def case_value(self, meta: Meta, parts: Parts) -> syntax.Literal:
        makers = {"INTEGER": self.integer, "STRING": self.string, "BOOLEAN": self.boolean}
        return makers[parts[0].type](meta, parts)

    def negative_case(self, meta: Meta, parts: Parts) -> syntax.Literal:
        number = self.integer(meta, parts[-1:])
        least = self._opposite_of(number)
        return least or syntax.Literal(number.place, -self._number(parts[-1]), kind=INT)

    def wait(self, meta: Meta, parts: Parts) -> syntax.Wait:
        deep = is_word(parts[0], "DEEP")
        return syntax.Wait(self._place(meta), parts[-2], deep, parts[-1])

    # --- expressions

    def _binary(self, meta: Meta, parts: Parts) -> syntax.Binary:
        left, operator, right = parts
        return syntax.Binary(self._place(meta), str(operator), left, right)

    equality = relation = sum = product = _binary

    def _logical(self, operator: str, meta: Meta, parts: Parts) -> syntax.Binary:
        return syntax.Binary(self._place(meta), operator, *parts)

    def either(self, meta: Meta, parts: Parts) -> syntax.Binary:
        return self._logical("||", meta, parts)

    def both(self, meta: Meta, parts: Parts) -> syntax.Binary:
        return self._logical("&&", meta, parts)

    def power(self, meta: Meta, parts: Parts) -> syntax.Binary:
        return self._logical("**", meta, parts)

    def negative(self, meta: Meta, parts: Parts) -> syntax.Unary | syntax.Literal:
        least = self._opposite_of(parts[1]) if parts[0] == "-" else None
        return least or syntax.Unary(self._place(meta), str(parts[0]), parts[1])

    def _opposite_of(self, node: object) -> syntax.Literal | None:
        """Return the least whole number, if this is what stands behind its minus."""
        if not any(node is literal for literal in self._magnitudes):
            return None
        literal = self._magnitudes.pop()
        return syntax.Literal(literal.place, -_MAGNITUDE, kind=INT)

    def opposite(self, meta: Meta, parts: Parts) -> syntax.Unary:
        return syntax.Unary(self._place(meta), "!", parts[0])

    def element(self, meta: Meta, parts: Parts) -> syntax.Element:
        return syntax.Element(self._place(meta), *parts)

    def call(self, meta: Meta, parts: Parts) -> syntax.Call:
        return self.annotated_call(meta, parts)

    def annotated_call(self, meta: Meta, parts: Parts) -> syntax.Call:
        annotations = all_of(syntax.Annotation, parts)
        name, *arguments = parts[len(annotations) :]
        place = Place(self._script, name.line, name.column)
        given = arguments[0] if arguments else []
        return syntax.Call(place, str(name), given, annotations)

    def annotation(self, meta: Meta, parts: Parts) -> syntax.Annotation:
        return syntax.Annotation(self._place(meta), str(parts[0]), parts[1])

    def arguments(self, meta: Meta, parts: Parts) -> list[syntax.Expression]:
        return parts

    def conversion(self, meta: Meta, parts: Parts) -> syntax.Call:
        return syntax.Call(self._place(meta), str(parts[0]), [parts[1]], [])

    def array(self, meta: Meta, parts: Parts) -> syntax.Array:
        return syntax.Array(self._place(meta), parts)

    def range(self, meta: Meta, parts: Parts) -> syntax.Range:
        first, last, step = (*parts, None)[:3]
        return syntax.Range(self._place(meta), first, last, step)

    def map(self, meta: Meta, parts: Parts) -> syntax.Map:
        return syntax.Map(self._place(meta), parts)

    def pair(self, meta: Meta, parts: Parts) -> tuple[syntax.Expression, syntax.Expression]:
        return parts[0], parts[1]

    def tuple(self, meta: Meta, parts: Parts) -> syntax.Tuple:
        return syntax.Tuple(self._place(meta), parts)

    def integer(self, meta: Meta, parts: Parts) -> syntax.Literal:
        value = self._number(parts[0])
        if value > _MAGNITUDE:
            raise self._fail(meta, _too_large(parts[0]))
        literal = syntax.Literal(self._place(meta), value, kind=INT)
        if value == _MAGNITUDE:
            self._magnitudes.append(literal)
        return literal

    def _number(self, digits: str) -> int:
        return int(digits, 16 if digits[:2] in ("0x", "0X") else 10)

    def floating(self, meta: Meta, parts: Parts) -> syntax.Literal:
        return syntax.Literal(self._place(meta), float(parts[0]), kind=FLOAT)

    def boolean(self, meta: Meta, parts: Parts) -> syntax.Literal:
        return syntax.Literal(self._place(meta), parts[0] == "true", kind=BOOLEAN)

    def string(self, meta: Meta, parts: Parts) -> syntax.Literal:
        return syntax.Literal(self._place(meta), self._text(parts[0]), kind=STRING)

    def name(self, meta: Meta, parts: Parts) -> syntax.Name:
        return syntax.Name(self._place(meta), str(parts[0]))

    file_name = name

    def _text(self, token: Token) -> str:
        quoted = str(token)
        if quoted.startswith('"""'):
            return quoted[3:-3]
        text, rest = [], iter(quoted[1:-1])
        for c in rest:
            if c != "\\":
                text.append(c)
                continue
            c = next(rest)
            if c == "x":
                digits = next(rest, "") + next(rest, "")
                if len(digits) == 2 and all(d in "0123456789abcdefABCDEF" for d in digits):
                    text.append(chr(int(digits, 16)))
                    continue
            elif c in _ESCAPES:
                text.append(_ESCAPES[c])
                continue
            allowed = ", ".join(f"\\{escape}" for escape in [*_ESCAPES, "xHH"])
            raise self._fail(token, f"an escape in a string: got \\{c}; allowed: {allowed}")
        return "".join(text)


def _too_large(number: object) -> str:
    return f"a whole number: got {number!s}; allowed: -2**63 to 2**63 - 1 (64 bits)"
