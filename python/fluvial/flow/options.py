# SPDX-License-Identifier: Apache-2.0
"""What a program says of a task beside its function and arguments."""

from __future__ import annotations

import concurrent.futures
import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypedDict

from .. import _core
from ..base.arguments import (
    to_bool,
    to_float,
    to_int,
    to_mapping,
    to_seconds,
    to_text,
    unknown_name,
    wrong_type,
)
from ..base.messages import shown
from .functions import checked_function, name_of
from .key_text import checked_key
from .parallel import is_parallel
from .task_core import CoreOptions, TaskPlace

_RANKS_MAX = 2**31 - 1  # of an MPI job
_WIDTHS_MAX = 10_000
PARTS = "parts"
"""A value of `keep`: what each rank of the team returns stays on it."""


@dataclass(frozen=True)
class TaskOptions:
    """As `Pool.with_options` takes them."""

    ranks: int | Iterable[int] = 1
    priority: float = 0
    near: TaskPlace = None
    on_host: bool = False
    strict: bool = False
    cost: float | None = None
    timeout: float | None = None
    retries: int = 0
    kind: str = ""
    key: str | Callable[..., str] | None = None
    exclusive: bool = False
    resources: Mapping[str, float] = field(default_factory=dict)
    keep: bool | str = False
    fresh: bool = False

    def for_core(self, kind: str) -> CoreOptions:
        """Check them, and return them as the core takes them; `kind` is that of the function.

        Raises
        ------
        InvalidArgument, WrongType
            When one is out of range, or of a type that cannot be used.
        """
        between = isinstance(self.ranks, range) and self.ranks.step == 1
        widths = _widths(self.ranks)
        priority = to_float(self.priority, "priority")
        if math.isnan(priority):
            raise _out_of_range("priority", priority, "a number; higher ones come first")
        if self.key is not None and not isinstance(self.key, str) and not callable(self.key):
            raise _wrong_key(self.key)
        return {
            "ranks": widths,
            "between": between,
            "priority": priority,
            "near": _place(self.near),
            "on_host": to_bool(self.on_host, "on_host"),
            "strict": to_bool(self.strict, "strict"),
            "cost": math.nan if self.cost is None else to_seconds(self.cost, "cost"),
            "timeout": math.inf if self.timeout is None else to_seconds(self.timeout, "timeout"),
            "retries": to_int(self.retries, "retries", 0, _RANKS_MAX),
            "kind": to_text(self.kind, "kind") or kind,
            "keep": self._keeps(widths),
            "fresh": to_bool(self.fresh, "fresh"),
            "exclusive": to_bool(self.exclusive, "exclusive"),
            "resources": amounts(self.resources),
        }

    def _keeps(self, widths: list[int]) -> bool | str:
        parts = isinstance(self.keep, str)
        if parts and self.keep != PARTS:
            raise _core.InvalidArgument(
                f'keep: got {shown(self.keep)}; allowed: True, False or "{PARTS}"'
            )
        if (parts or to_bool(self.keep, "keep")) and self.key is not None:
            raise _core.InvalidArgument(
                f"the result of a task with a key is in the journal: got keep={self.keep!r}; "
                "allowed: a key or keep, not both"
            )
        if parts and len(widths) > 1:
            raise _core.InvalidArgument(
                f"a task that keeps its parts has one width: got {widths[0]} to {widths[-1]} "
                "ranks; allowed: one number of ranks"
            )
        return self.keep

    def key_of(self, arguments: tuple[object, ...], keywords: dict[str, object]) -> str | None:
        """Return the key of a task with these arguments.

        Raises
        ------
        WrongType
            When it is no text, or the arguments are not as a call has them.
        InvalidArgument
            When it has no part in what tells the tasks apart, as an object's address has none.
        """
        if not isinstance(arguments, tuple):
            raise wrong_type("the arguments of a task", arguments, "a tuple")
        if not isinstance(keywords, dict) or not all(isinstance(name, str) for name in keywords):
            raise wrong_type("the keywords of a task", keywords, "a dict of arguments by name")
        key = self.key(*arguments, **keywords) if callable(self.key) else self.key
        if key is not None and not isinstance(key, str):
            raise _wrong_key(key)
        return None if key is None else checked_key(key, (*arguments, *keywords.values()))


class OptionChanges(TypedDict, total=False):
    """Some of the fields of `TaskOptions`, as keyword arguments."""

    ranks: int | Iterable[int]
    priority: float
    near: TaskPlace
    on_host: bool
    strict: bool
    cost: float | None
    timeout: float | None
    retries: int
    kind: str
    key: str | Callable[..., str] | None
    exclusive: bool
    resources: Mapping[str, float]
    keep: bool | str
    fresh: bool


def changed_options(options: TaskOptions, changes: OptionChanges) -> TaskOptions:
    """Return them with `changes`, checked.

    Raises
    ------
    UnknownName, InvalidArgument
        When there is no such option, or a value is out of range.
    """
    known = [one.name for one in fields(TaskOptions)]
    for name in changes:
        if name not in known:
            raise unknown_name("no option of a task has this name", name, known)
    if isinstance(ranks := changes.get("ranks"), Iterator):  # it would be empty the next time
        changes = changes | {"ranks": tuple(itertools.islice(ranks, _WIDTHS_MAX + 1))}
    changed = replace(options, **changes)
    changed.for_core("")
    return changed


def check_kind(options: object) -> None:
    """Raise WrongType when they are no options of a task."""
    if not isinstance(options, TaskOptions):
        raise wrong_type("options", options, "TaskOptions", "Give them to Pool.with_options")


def checked_options(options: TaskOptions, function: object) -> CoreOptions:
    """Return the options of a call of `function` as the core takes them.

    Raises
    ------
    WrongType
        When it is no function.
    InvalidArgument
        When one is out of range, or a serial function is to run on several ranks.
    """
    last = _last.call
    if last is not None and last[0] is options and last[1] is function:
        return last[2]
    check_kind(options)
    called = checked_function(function)
    wanted = options.for_core(name_of(called))
    if wanted["ranks"][-1] > 1 and not is_parallel(called):
        raise _core.InvalidArgument(
            f"{name_of(called)!r} is a serial function: got {options.ranks} ranks; allowed: "
            "1 rank. Declare it with @fluvial.parallel: then it gets the communicator of its "
            "team before its arguments"
        )
    _last.call = options, function, wanted
    return wanted


class _Last(threading.local):
    """What was checked last in this thread: programs submit many calls of one function."""

    call: tuple[TaskOptions, object, CoreOptions] | None = None


_last = _Last()


def amounts(resources: Mapping[str, float]) -> dict[str, float]:
    """Return amounts of resources by name as the core takes them.

    Raises
    ------
    WrongType
        When they are none.
    """
    given = to_mapping(resources, "resources", "a dict of amounts by name")
    names = [to_text(name, "the name of a resource") for name in given]
    try:
        return {
            name: to_float(amount, f"resources[{name!r}]")
            for name, amount in zip(names, given.values(), strict=True)
        }
    except _core.WrongType:
        raise _core.WrongType(
            f"resources: got {shown(resources)}; allowed: a dict of amounts by name, as in "
            "{'gpu': 1}"
        ) from None


def _place(near: object) -> TaskPlace:
    """Return a rank, or what the core knows a future's task by."""
    if near is None or isinstance(near, concurrent.futures.Future):
        return near
    try:
        return to_int(near, "near", 0, _RANKS_MAX)
    except _core.WrongType:
        raise wrong_type("near", near, "a rank of the pool, or a future of a task of it") from None


def _out_of_range(name: str, value: object, allowed: str) -> Exception:
    return _core.InvalidArgument(f"{name} is out of range: got {shown(value)}; allowed: {allowed}")


def _wrong_key(key: object) -> Exception:
    return wrong_type("key", key, "text, or a function that returns it")


def _widths(ranks: object) -> list[int]:
    allowed = "1 or more, a range, or several such numbers"
    if isinstance(ranks, range) and ranks and ranks.step == 1:  # which may be long
        bounds = [to_int(end, "ranks", 1, _RANKS_MAX) for end in (ranks[0], ranks[-1])]
        return sorted(set(bounds))
    if isinstance(ranks, str | bytes):
        raise wrong_type("ranks", ranks, allowed)
    several = ranks if isinstance(ranks, Iterable) else [ranks]
    try:
        some = itertools.islice(several, _WIDTHS_MAX + 1)
        widths = sorted({to_int(width, "ranks", 1, _RANKS_MAX) for width in some})
    except (_core.WrongType, TypeError):  # an array without axes says that it can be iterated over
        raise wrong_type("ranks", ranks, allowed) from None
    if not 0 < len(widths) <= _WIDTHS_MAX:
        raise _out_of_range("ranks", ranks, allowed)
    return widths
