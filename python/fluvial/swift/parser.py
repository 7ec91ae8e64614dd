# SPDX-License-Identifier: Apache-2.0
"""From the text of a script to its syntax tree."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .._core import InvalidArgument
from ..base.messages import shown_text
from . import syntax
from .grammar import GRAMMAR, READABLE
from .script import Finding, Place, Script, ScriptError
from .tree_builder import TreeBuilder

if TYPE_CHECKING:
    from lark import Lark
    from lark.exceptions import UnexpectedInput

_EXPECTED_SHOWN = 6
_DEPTH = 20_000  # of Python's stack: expressions nest as deep as they are written


def parse(script: Script) -> syntax.Program:
    """Return the syntax tree of a script.

    Raises
    ------
    ScriptError
        With line, column and what may stand there, when the text is no script.
    InvalidArgument
        When lark is not installed.
    """
    try:
        import lark
    except ModuleNotFoundError:
        raise InvalidArgument(
            "cannot read a script: got no package lark; allowed: with it. Run: pip install lark"
        ) from None
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEPTH))
    try:
        tree = _parser().parse(script.text)
        program: syntax.Program = TreeBuilder(script).build(tree)
        return program
    except lark.exceptions.UnexpectedInput as error:
        raise ScriptError([_finding(script, error)]) from None
    except RecursionError:
        place = Place(script, 1, 1)
        raise ScriptError([Finding(place, "the script nests deeper than Python's stack")]) from None
    finally:
        sys.setrecursionlimit(before)


@functools.cache
def _parser() -> Lark:
    import lark

    return lark.Lark(GRAMMAR, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def _finding(script: Script, error: UnexpectedInput) -> Finding:
    if hasattr(error, "char"):
        place = Place(script, error.line, error.column)
        return Finding(
            place, f"no word of a script begins so: got {error.char!r}{_hint(script, place)}"
        )
    allowed = _readable(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())
    token = getattr(error, "token", None)
    if token is not None and token.type != "$END":
        place = Place(script, token.line, token.column)
        seen = shown_text(token)
        for back in (0, 1):  # behind a value it may have been taken for a division
            comment = Place(script, token.line, max(token.column - back, 1))
            if _begins(script, comment, "/*"):
                return Finding(comment, "got '/*': the comment has no end. It ends with '*/'")
        return Finding(place, f"got {seen!r}; allowed here: {allowed}")
    lines = script.lines or [""]
    place = Place(script, len(lines), len(lines[-1]) + 1)
    return Finding(place, f"the script ends too early; allowed here: {allowed}")


def _hint(script: Script, place: Place) -> str:
    if _begins(script, place, '"'):
        return ": the string has no end on this line. Long strings stand between three quotes"
    return ""


def _begins(script: Script, place: Place, word: str) -> bool:
    line = script.lines[place.line - 1] if place.line <= len(script.lines) else ""
    return line[place.column - 1 :].startswith(word)


def _readable(terminals: Iterable[str]) -> str:
    patterns = {terminal.name: terminal.pattern.value for terminal in _parser().terminals}
    names = {READABLE.get(name) or repr(patterns.get(name, name)) for name in terminals}
    ordered = sorted(names, key=lambda name: (not name.startswith("a "), name))
    more = ", …" if len(ordered) > _EXPECTED_SHOWN else ""
    return ", ".join(ordered[:_EXPECTED_SHOWN]) + more
