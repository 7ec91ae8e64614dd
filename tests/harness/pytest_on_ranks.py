# SPDX-License-Identifier: Apache-2.0
"""What a rank of a scenario finds under the name `pytest`.

The module of a test imports pytest for its marks and fixtures, which are nothing to the ranks, and
to import it takes a rank as long as to import Fluvial and to start MPI.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


class _Ignored:
    """Any mark or fixture: what it decorates stays as it is."""

    def __getattr__(self, name: str) -> _Ignored:
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        decorates = len(arguments) == 1 and callable(arguments[0]) and not options
        return arguments[0] if decorates else self


class PytestOnRanks:
    """Decorators without effect; for anything else (`raises`, `approx`) pytest is imported."""

    mark = fixture = param = _Ignored()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked for by what looks through all modules
            raise AttributeError(name)
        if sys.modules.get("pytest") is self:
            del sys.modules["pytest"]
        return getattr(importlib.import_module("pytest"), name)


def stand_in() -> None:
    """Have `import pytest` find `PytestOnRanks`, in a process that runs no test."""
    sys.modules.setdefault("pytest", PytestOnRanks())  # type: ignore[arg-type]
