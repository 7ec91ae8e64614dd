# SPDX-License-Identifier: Apache-2.0
"""Tasks that a task asks for."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Generic, TypeVar, Unpack

from .. import _core
from ..base.arguments import wrong_type
from ..base.messages import shown
from .functions import checked_function, function_bytes, name_of
from .options import OptionChanges, TaskOptions, changed_options, check_kind

R = TypeVar("R")
T = TypeVar("T")


class Task(Generic[R]):
    """A call for the pool to make: what `task` returns."""

    def __init__(
        self,
        function: Callable[..., R],
        arguments: tuple[object, ...],
        keywords: dict[str, object],
        options: TaskOptions,
    ) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.options = options

    def with_options(self, **options: Unpack[OptionChanges]) -> Task[R]:
        """Return the same call with these options of `Pool.with_options`."""
        changed = changed_options(self.options, options)
        return Task(self.function, self.arguments, self.keywords, changed)

    def __repr__(self) -> str:
        return f"<fluvial task {name_of(self.function)!r}>"

    def __reduce__(self) -> tuple[object, ...]:
        shipped = function_bytes(self.function)
        key = self.options.key
        if callable(key):
            key = self.options.key_of(self.arguments, self.keywords)
        options = replace(self.options, key=key)
        return _restored, (shipped, self.arguments, self.keywords, options)


def task(function: Callable[..., R], /, *args: object, **kwargs: object) -> Task[R]:
    """Describe a call that a pool makes when a task returns it.

    A task must not wait for other tasks: it would keep its ranks from running them. It returns them
    instead, alone or in lists, dicts and other objects, and its ranks are free. Its future gets
    what it returned with their results in their places. Tasks can be arguments of tasks, too.

    Examples
    --------
    >>> import fluvial as fl
    >>> def total(first, last):
    ...     if last - first == 1:
    ...         return first
    ...     middle = (first + last) // 2
    ...     return fl.task(sum, [fl.task(total, first, middle), fl.task(total, middle, last)])
    >>> with fl.Pool() as pool:
    ...     print(pool.submit(total, 0, 8).result())
    28
    """
    checked_function(function)
    return Task(function, args, kwargs, TaskOptions())


def checked_together(options: TaskOptions, tasks: Sequence[Task[R]]) -> str:
    """Return what tasks that start together are called.

    Raises
    ------
    WrongType
        When one is no `fl.task`, or the options are none.
    InvalidArgument
        When one has a key.
    """
    check_kind(options)
    if not isinstance(tasks, tuple | list):
        raise wrong_type("tasks that start together", tasks, "a tuple of them")
    for one in tasks:
        if not isinstance(one, Task):
            raise _core.WrongType(
                f"tasks that start together: got {shown(one)}; allowed: what fluvial.task returns"
            )
        if one.options.key is not None:
            raise _core.InvalidArgument(
                f"a task that starts together with others has a key: got "
                f"{shown(one.options.key)}; allowed: one key for all of them, as in "
                "pool.with_options(key=…).together(…)"
            )
    return " + ".join(name_of(one.function) for one in tasks)


def as_given(value: T) -> T:
    """Return it: the task that puts results into their places."""
    return value


def _restored(
    shipped: bytes, arguments: tuple[object, ...], keywords: dict[str, object], options: TaskOptions
) -> Task[object]:
    return Task(pickle.loads(shipped), arguments, keywords, options)
