# SPDX-License-Identifier: Apache-2.0
"""Data that moves along the paths of a plan."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument
from ..base.arguments import to_array, to_float, to_int, to_mapping, to_text, wrong_type
from ..mpi.communicator import Communicator, handle_of
from .planning import Plan

_WINDOW_MAX = 2**30


def exchange(
    comm: Communicator | None,
    plan: Plan,
    data: Mapping[int, npt.ArrayLike] | None = None,
    *,
    paths: int | None = None,
    window: int | None = None,
    costs: str = "mpi",
    stall_timeout: float = 300.0,
    strict: bool = False,
) -> dict[int, np.ndarray]:
    """Move the flows of a plan between ranks, each by as many paths as pay. Collective, blocking.

    Ranks that are proxies pass data on within this call, and hold 4 windows of each path that they
    forward at most. A rank that waits serves its streams meanwhile. Beside the data the ranks
    agree on the plan, and duplicate `comm`.

    Parameters
    ----------
    comm
        An mpi4py communicator, whose ranks run on the hosts that ``plan.topology.host_of_rank``
        says. None: this process alone.
    plan
        The same on all ranks. A flow goes from the first rank of its first host to the first rank
        of its last.
    data
        Of each flow that begins on this rank, by its position in ``plan.flows``: an array, whose
        elements are sent as they lie in memory. Sizes may differ from what was planned for.
    paths, window
        Of each flow: so many paths, and bytes of a window; chosen by the model unless given.
    costs
        Of the software, as in `Plan.predict`.
    stall_timeout
        Seconds without any movement on this rank after which it gives up.
    strict
        Where the hosts of the topology have names, ranks compare these with their own hosts'. If
        one runs elsewhere, all flows go direct, and rank 0 warns; with `strict` all ranks raise.

    Returns
    -------
    dict
        The bytes of each flow that ends on this rank, as arrays of uint8: ``.view(dtype)`` makes
        elements of them.

    Raises
    ------
    InvalidArgument
        On all ranks: their plans differ, the data of a flow is missing or on another rank, a flow
        begins or ends at a host without ranks, or with `strict` a rank runs elsewhere.
    TimedOut
        Nothing has moved for `stall_timeout`; the exchange is lost.

    Examples
    --------
    >>> import fluvial as fl
    >>> plan = fl.route.plan("torus:4x4", [(0, 0)])
    >>> fl.route.exchange(None, plan, {0: [1.0, 2.0]})[0].view("f8")
    array([1., 2.])
    """
    arrived, warning = _core.exchange_routes(
        handle_of(comm),
        lambda: _prepare(plan, data, paths, window, costs, stall_timeout, strict),
    )
    if warning:
        warnings.warn(warning, UserWarning, stacklevel=2)
    return arrived


def _prepare(
    plan: Plan,
    data: Mapping[int, npt.ArrayLike] | None,
    paths: int | None,
    window: int | None,
    costs: str,
    stall_timeout: float,
    strict: bool,
) -> tuple[object, ...]:
    """Return what the core needs; what this raises on one rank is raised on all."""
    if not isinstance(plan, Plan):
        raise wrong_type("plan", plan, "what fluvial.route.plan returns")
    if not isinstance(strict, bool):
        raise wrong_type("strict", strict, "True or False")
    timeout = to_float(stall_timeout, "stall_timeout")
    if not timeout > 0:
        raise InvalidArgument(f"stall_timeout is out of range: got {timeout}; allowed: above 0 s")
    flows = len(plan.flows)
    given = {
        to_int(flow, "a flow in data", 0, flows - 1): to_bytes(array)
        for flow, array in to_mapping(data, "data", "a dict of arrays by flow").items()
    }
    return (
        plan._core,
        given,
        0 if paths is None else to_int(paths, "paths", 1, 1024),
        0 if window is None else to_int(window, "window", 1, _WINDOW_MAX),
        to_text(costs, "costs"),
        timeout,
        strict,
    )


def to_bytes(array: npt.ArrayLike) -> np.ndarray:
    """Return the elements of an array as they lie in memory."""
    if isinstance(array, bytes | bytearray | memoryview):
        array = np.frombuffer(array, np.uint8)
    values = to_array(array, "data")
    if values.dtype.hasobject:
        raise wrong_type("data", array, "an array of numbers")
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8)
