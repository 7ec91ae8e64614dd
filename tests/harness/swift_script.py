# SPDX-License-Identifier: Apache-2.0
"""Scripts in a folder of a test, checked and run in its process."""

from __future__ import annotations

import contextlib
import io
import pathlib
from collections.abc import Sequence
from typing import Any

from fluvial.swift.loading import load
from fluvial.swift.running import run_script
from fluvial.swift.surroundings import Surroundings

import fluvial as fl


class SwiftScript:
    """Writes scripts, and says what they print; one thread runs their tasks."""

    def __init__(self, where: pathlib.Path) -> None:
        self.where = where

    def write(self, text: str, name: str = "script.swift") -> str:
        """Write a script or another file; return its path."""
        path = self.where / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return str(path)

    def check(self, text: str) -> None:
        """Check a script."""
        load(self.write(text), Surroundings())

    def findings(self, text: str) -> list[tuple[int, int, str]]:
        """Return line, column and message of all that is wrong in a script."""
        try:
            self.check(text)
        except fl.InvalidArgument as error:
            found = getattr(error, "findings", ())
            return [(f.place.line, f.place.column, f.message) for f in found]
        return []

    def run(self, text: str, arguments: Sequence[str] = (), **options: Any) -> list[str]:
        """Run a script; return the lines that it printed, in their order."""
        printed = io.StringIO()
        with fl.Pool() as pool, contextlib.redirect_stdout(printed):
            run_script(self.write(text), pool, arguments, **options)
        return printed.getvalue().splitlines()
