# SPDX-License-Identifier: Apache-2.0
"""Scripts with what they import."""

from __future__ import annotations

import os

from .._core import InvalidArgument
from ..base.messages import did_you_mean, shown
from . import syntax
from .checker import check
from .parser import parse
from .script import Finding, Script, ScriptError
from .standard_library import MODULES
from .surroundings import Surroundings


def load(path: str, surroundings: Surroundings) -> syntax.Program:
    """Read a script and what it imports, and check it.

    Raises
    ------
    InvalidArgument
        When the file cannot be read.
    ScriptError
        With all that is wrong in it.
    """
    program = _with_imports(path, _read(path), set())
    check(program, surroundings)
    return program


def _read(path: str) -> Script:
    try:
        with open(path, encoding="utf-8") as file:
            return Script(path, file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidArgument(
            f"cannot read the script: got {shown(path)} ({error}); allowed: a text file in UTF-8"
        ) from None


def _with_imports(path: str, script: Script, seen: set[str]) -> syntax.Program:
    """Return a script with the definitions and statements of all that it imports before its own."""
    seen.add(os.path.realpath(path))
    program = parse(script)
    folder = os.path.dirname(path)
    for wanted in program.imports:
        found = os.path.join(folder, *wanted.name.split(".")) + ".swift"
        if os.path.isfile(found):
            if os.path.realpath(found) in seen:
                continue
            other = _with_imports(found, _read(found), seen)
            program.functions[:0] = other.functions
            program.constants[:0] = other.constants
            program.main.statements[:0] = other.main.statements
        elif wanted.name not in MODULES:
            near = did_you_mean(wanted.name, [*MODULES, *_beside(folder)])
            raise ScriptError(
                [
                    Finding(
                        wanted.place,
                        f"nothing to import: got {wanted.name!r}; allowed: a script ({found}) or "
                        f"a part of the library ({', '.join(MODULES)}){near}",
                    )
                ]
            )
    return program


def _beside(folder: str) -> list[str]:
    names = os.listdir(folder or os.curdir)
    return [name.removesuffix(".swift") for name in names if name.endswith(".swift")]
