# SPDX-License-Identifier: Apache-2.0
"""The parts of a rule of the grammar, also those that are no nodes of the syntax tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, TypeGuard, TypeVar

from . import syntax
from .script import Place

if TYPE_CHECKING:
    from lark import Token, Tree

Parts: TypeAlias = list[Any]
"""Of a rule: what the methods of the rules below it have returned, and words of the text."""
_T = TypeVar("_T")


def all_of(kind: type[_T], parts: Parts) -> list[_T]:
    """Return the parts of a kind."""
    return [part for part in parts if isinstance(part, kind)]


class Dimensions(tuple[str, ...]):
    """Types of the keys of a declared array."""


class Outputs(list[syntax.Parameter]):
    """The outputs of a definition."""


class Inputs(list[syntax.Parameter]):
    """The inputs of a definition."""


class Mapping(tuple[syntax.Expression]):
    """The path of a file."""


class Mark(str):
    """An annotation of a definition."""


class Template(str):
    """The code of a leaf."""


class Heading(TypedDict):
    """What all definitions have."""

    place: Place
    name: str
    outputs: Outputs
    inputs: Inputs
    marks: list[str]


def is_word(part: object, kind: str | None = None) -> TypeGuard[Token]:
    """Tell whether a part is a word of the text, of this kind."""
    return hasattr(part, "type") and kind in (None, part.type)


def is_tree(part: object) -> TypeGuard[Tree[Token]]:
    """Tell whether a part is what a rule of the grammar has matched."""
    return hasattr(part, "data")
