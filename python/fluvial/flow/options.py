# SPDX-License-Identifier: Apache-2.0
"""What a program says of a task beside its function and arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any

from .. import _core
from ..base.messages import shown


@dataclass(frozen=True)
class TaskOptions:
    """As `Pool.with_options` takes them."""

    ranks: int | Iterable[int] = 1
    priority: float = 0
    near: int | None = None
    on_host: bool = False
    strict: bool = False
    cost: float | None = None
    timeout: float | None = None
    retries: int = 0
    kind: str = ""
    key: str | Callable[..., str] | None = None

    def for_core(self, kind: str) -> dict[str, Any]:
        """Check them, and return them as the core takes them; `kind` is that of the function.

        Raises
        ------
        InvalidArgument
            When one is out of range.
        """
        between = isinstance(self.ranks, range) and self.ranks.step == 1
        for name in ("cost", "timeout"):
            value = getattr(self, name)
            if value is not None and not value >= 0:
                raise _out_of_range(name, value, "0 s or more, or None")
        if self.retries < 0:
            raise _out_of_range("retries", self.retries, "0 or more")
        if math.isnan(self.priority):
            raise _out_of_range("priority", self.priority, "a number; higher ones come first")
        return {
            "ranks": _widths(self.ranks),
            "between": between,
            "priority": float(self.priority),
            "near": self.near,
            "on_host": self.on_host,
            "strict": self.strict,
            "cost": math.nan if self.cost is None else float(self.cost),
            "timeout": math.inf if self.timeout is None else float(self.timeout),
            "retries": self.retries,
            "kind": self.kind or kind,
        }

    def key_of(self, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> str | None:
        """Return the key of a task with these arguments.

        Raises
        ------
        WrongType
            When it is no text.
        """
        key = self.key(*arguments, **keywords) if callable(self.key) else self.key
        if key is not None and not isinstance(key, str):
            raise _core.WrongType(
                f"key: got {shown(key)}; allowed: text, or a function that returns it"
            )
        return key


def changed_options(options: TaskOptions, changes: dict[str, Any]) -> TaskOptions:
    """Return them with `changes`, checked.

    Raises
    ------
    UnknownName, InvalidArgument
        When there is no such option, or a value is out of range.
    """
    known = [field.name for field in fields(TaskOptions)]
    for name in changes:
        if name not in known:
            raise _core.UnknownName(
                f"no option of a task has this name: got {name!r}; allowed: {', '.join(known)}. "
                + _core.did_you_mean(name, known)
            )
    changed = replace(options, **changes)
    changed.for_core("")
    return changed


def _out_of_range(name: str, value: object, allowed: str) -> Exception:
    return _core.InvalidArgument(f"{name} is out of range: got {shown(value)}; allowed: {allowed}")


def _widths(ranks: int | Iterable[int]) -> list[int]:
    allowed = "1 or more, a range, or several such numbers"
    if not isinstance(ranks, Iterable):
        ranks = [ranks]
    try:
        widths = sorted({int(width) for width in ranks})
    except (TypeError, ValueError):
        raise _core.WrongType(f"ranks: got {shown(ranks)}; allowed: {allowed}") from None
    if not widths or widths[0] < 1:
        raise _out_of_range("ranks", ranks, allowed)
    return widths
