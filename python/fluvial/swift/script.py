# SPDX-License-Identifier: Apache-2.0
"""The text of a script, places in it, and errors that show them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from .._core import InvalidArgument

_ERRORS_SHOWN = 20


@dataclass(frozen=True)
class Script:
    """The text of a script, or of one that it imports."""

    name: str
    text: str

    @functools.cached_property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return self.text.splitlines()


@dataclass(frozen=True)
class Place:
    """A line and a column of a script, from 1."""

    script: Script
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.script.name}:{self.line}:{self.column}"

    def shown(self) -> str:
        """Return the line, and below it a mark at the column."""
        lines = self.script.lines
        line = lines[self.line - 1] if 0 < self.line <= len(lines) else ""
        before = "".join("\t" if c == "\t" else " " for c in line[: self.column - 1])
        return f"    {line}\n    {before}^"


@dataclass(frozen=True)
class Finding:
    """Something that is wrong in a script."""

    place: Place
    message: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}\n{self.place.shown()}"


class ScriptError(InvalidArgument):
    """A script cannot be run: all that is wrong in it, found before anything runs."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        shown = [str(finding) for finding in self.findings[:_ERRORS_SHOWN]]
        if len(self.findings) > _ERRORS_SHOWN:
            shown.append(f"and {len(self.findings) - _ERRORS_SHOWN} more")
        super().__init__("\n".join(shown))
