# SPDX-License-Identifier: Apache-2.0
"""Functions that several ranks run together."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from ..base.arguments import wrong_type

PARALLEL = "_fluvial_parallel"
"""The attribute of functions that were declared so."""
Function = TypeVar("Function", bound=Callable[..., object])


def parallel(function: Function) -> Function:
    """Declare that several ranks may run the function together, as one task of a pool.

    It is called on each of them with the communicator of its team (of mpi4py) before the other
    arguments, and what the team's rank 0 returns is the task's result. Functions that are not
    declared so run on one rank, and asking for more is an error before anything runs.

    Examples
    --------
    >>> import fluvial as fl
    >>> @fl.parallel
    ... def mean(comm, values):
    ...     mine = values[comm.rank :: comm.size]
    ...     return comm.allreduce(sum(mine)) / len(values)
    """
    try:
        setattr(function, PARALLEL, True)
    except AttributeError:
        remedy = "Wrap it in one (def, lambda)"
        raise wrong_type(
            "a parallel function", function, "a function of Python's", remedy
        ) from None
    return function


def is_parallel(function: Callable[..., object]) -> bool:
    """Tell whether the function was declared so, or is a partial one of such a function."""
    return getattr(function, PARALLEL, False) is True or _is_part_of_parallel(function)


def _is_part_of_parallel(function: Callable[..., object]) -> bool:
    return isinstance(function, functools.partial) and is_parallel(function.func)


def with_communicator(function: Callable[..., object], comm: object) -> Callable[..., object]:
    """Return a parallel function with its first argument, which stands before all others."""
    if getattr(function, PARALLEL, False) is not True and isinstance(function, functools.partial):
        whole = with_communicator(function.func, comm)
        return functools.partial(whole, *function.args, **function.keywords)
    return functools.partial(function, comm)
