# SPDX-License-Identifier: Apache-2.0
"""What a rank of a scenario finds under the name `pytest`.

The module of a test imports pytest for its marks and fixtures, which are nothing to the ranks, and
to import it takes a rank as long as to import Fluvial and to start MPI.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any


class _Ignored:
    """Any mark or fixture: what it decorates stays as it is."""

    def __getattr__(self, name: str) -> _Ignored:
        return self

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        decorates = len(arguments) == 1 and callable(arguments[0]) and not options
        return arguments[0] if decorates else self


class PytestOnRanks:
    """Decorators without effect; anything else (`raises`, `approx`) is pytest's own."""

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


def import_for(role: Callable[..., Any]) -> None:
    """Import pytest where a role says its name.

    In the role it might be too late: where no descriptor is left, or Ctrl-C is about to come.
    """
    if "pytest" in set(_names(role, set())):
        importlib.import_module("pytest").raises  # noqa: B018 (the attribute imports it)


def _names(function: object, seen: set[object]) -> Iterator[str]:
    """Yield the names in a function, and in functions of its module that it names."""
    if not isinstance(function, FunctionType) or function in seen:
        return
    seen.add(function)
    codes = [function.__code__]
    for code in codes:
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            yield name
            yield from _names(function.__globals__.get(name), seen)
