# SPDX-License-Identifier: Apache-2.0
"""What a script knows of how it was called: its arguments, and the ranks of its pool."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .builtin import KEY, Table
from .kinds import BOOLEAN, INT, STRING, VOID

NARROW = "FLUVIAL_SWIFT_NARROW"
"""A variable of the environment: tasks for more ranks than there are get all."""

TRACE = "FLUVIAL_SWIFT_TRACE"
"""Another: the file of a timeline."""

_FLAG = re.compile(r"--?([A-Za-z_][\w-]*)(?:=(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Surroundings:
    """The script's name and arguments: `-name=value`, `-name`, and others."""

    script: str = ""
    arguments: Sequence[str] = ()
    workers: int = 1

    @property
    def flags(self) -> dict[str, str]:
        """Arguments with a name."""
        found = (_FLAG.fullmatch(argument) for argument in self.arguments)
        return {match[1]: match[2] or "" for match in found if match is not None}

    @property
    def plain(self) -> list[str]:
        """The script, and arguments without a name."""
        return [self.script, *(a for a in self.arguments if not _FLAG.fullmatch(a))]

    def argument(self, key: str | int, default: str | None = None) -> str:
        """Return the argument of a name, or of a number."""
        flags, plain = self.flags, self.plain
        if isinstance(key, str) and key in flags:
            return flags[key]
        if isinstance(key, int) and 0 <= key < len(plain):
            return plain[key]
        if default is not None:
            return default
        how = f"-{key}=VALUE" if isinstance(key, str) else f"at least {key} without a name"
        given = " ".join(self.arguments) or "none"
        raise ValueError(f"an argument of the script is missing: got {given}; allowed: {how}")

    def accept(self, *names: str) -> None:
        """Refuse arguments with other names."""
        wrong = [name for name in self.flags if name not in names]
        if wrong:
            allowed = ", ".join(f"-{name}" for name in names) or "none"
            raise ValueError(f"an argument of the script: got -{wrong[0]}; allowed: {allowed}")


def add_surroundings(table: Table, of: Surroundings) -> None:
    """Add the functions of the arguments and the pool."""
    table.add("argv", [KEY, STRING], STRING, of.argument, optional=1)
    table.add("argc", [], INT, lambda: len(of.plain) - 1)
    table.add("args", [], STRING, lambda: " ".join(of.arguments))
    table.add("argv_contains", [STRING], BOOLEAN, lambda name: name in of.flags)
    table.add("argv_accept", [], VOID, of.accept, rest=STRING, has_effect=True)
    table.add("turbine_workers", [], INT, lambda: of.workers)
    table.add("location_from_rank", [INT], INT, lambda rank: rank)
