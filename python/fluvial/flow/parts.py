# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a team keep of a task's result, given to the ranks of another."""

from __future__ import annotations

from typing import Generic, TypeVar

from .. import _core
from ..base.arguments import wrong_type
from .future import Future

R = TypeVar("R")


class OwnPart(Generic[R]):
    """As an argument of a task: each rank gets its own part."""

    def __init__(self, future: Future[R]) -> None:
        self.future = future


def own_part(future: Future[R]) -> R:
    """Stand, as an argument of a parallel task, for the part that a rank of the same number made.

    The future is that of a task with ``keep="parts"`` in `Pool.with_options`, on as many ranks. The
    new task starts on the ranks that keep the parts where these are idle, and they do not move;
    otherwise each goes from its rank to the one that needs it. ``future.parts`` are the parts as
    futures of their own, for one rank that needs several.

    Examples
    --------
    >>> import numpy as np
    >>> import fluvial as fl
    >>> @fl.parallel
    ... def slab(comm, n):
    ...     return np.arange(n) + n * comm.rank
    >>> @fl.parallel
    ... def total(comm, mine):
    ...     return comm.allreduce(int(mine.sum()))
    >>> with fl.Pool(2) as pool:
    ...     field = pool.with_options(ranks=2, keep="parts").submit(slab, 5)
    ...     print(pool.with_options(ranks=2).submit(total, fl.own_part(field)).result())
    ...     print(field.parts[1].result())
    45
    [5 6 7 8 9]
    """
    if not isinstance(future, Future):
        raise wrong_type("own_part", future, 'a future of a task with keep="parts"')
    if not future.parts:
        raise _core.InvalidArgument(
            f"a task has no parts: got {future!r}; allowed: that of a task with keep='parts'. Give "
            "it that option"
        )
    return OwnPart(future)  # type: ignore[return-value]  # what the task is given
