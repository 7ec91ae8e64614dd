# SPDX-License-Identifier: Apache-2.0
"""One message along the paths of a plan, in the manner of mpi4py."""

from __future__ import annotations

from typing import Unpack

import numpy as np
import numpy.typing as npt

from .._core import InvalidArgument
from ..base.arguments import wrong_type
from ..base.messages import shown
from ..mpi.communicator import Communicator
from .exchanging import STALL_TIMEOUT_S, Exchanged, ExchangeOptions, exchange_by, prepared
from .planning import Plan


def send(
    comm: Communicator | None, plan: Plan, data: npt.ArrayLike, **options: Unpack[ExchangeOptions]
) -> Exchanged:
    """Send an array along the paths of a plan with one flow, from where it begins.

    Collective over `comm`, blocking: while the first rank of the flow calls `send`, the last one
    calls `recv`, and all others `forward`, whether they are proxies or not. All agree on the plan
    first, so a rank that calls the wrong one of the three is an error on all.

    Parameters
    ----------
    comm, plan
        As in `exchange`; the plan has one flow.
    data
        An array, whose elements are sent row by row, as in `exchange`.
    **options
        `paths`, `window`, `costs`, `stall_timeout`, `reroute_after`, `checksum` and `strict`, as in
        `exchange`.

    Returns
    -------
    Exchanged
        Its `explain()` says which paths were used.

    Raises
    ------
    InvalidArgument
        On all ranks: the plan has several flows, a rank calls another of the three than its place
        in the plan is; and what `exchange` raises.
    TimedOut, DamagedMessage
        As `exchange`.

    Examples
    --------
    The first and the last of four ranks::

        plan = fl.route.plan("torus:2x2", [(0, 3)])
        if comm.rank == 0:
            fl.route.send(comm, plan, field)
        elif comm.rank == 3:
            field = fl.route.recv(comm, plan, "f8")
        else:
            fl.route.forward(comm, plan)
    """
    return exchange_by(
        comm,
        lambda: prepared(_one(comm, plan, "send"), {0: data}, **options),
        options.get("stall_timeout", STALL_TIMEOUT_S),
    )


def recv(
    comm: Communicator | None,
    plan: Plan,
    dtype: npt.DTypeLike = np.uint8,
    **options: Unpack[ExchangeOptions],
) -> np.ndarray:
    """Return the elements that the first rank of a plan's flow sends, as an array of one dimension.

    Collective over `comm`, blocking: as `send`.

    Parameters
    ----------
    comm, plan, **options
        As in `send`.
    dtype
        Of the elements.

    Raises
    ------
    InvalidArgument
        As `send`; and on this rank alone, after the bytes have come, where these are no whole
        number of elements.
    """

    def prepare() -> tuple[object, ...]:
        kind = _to_dtype(dtype)
        if kind.itemsize == 0 or kind.hasobject:
            raise wrong_type("dtype", dtype, "a dtype of numbers")
        return prepared(_one(comm, plan, "recv"), None, **options)

    arrived = exchange_by(comm, prepare, options.get("stall_timeout", STALL_TIMEOUT_S))[0]
    kind = np.dtype(dtype)
    if arrived.size % kind.itemsize:
        raise InvalidArgument(
            f"what has come is no whole number of elements: got {arrived.size} bytes; allowed: a "
            f"multiple of {kind.itemsize}. Give the dtype that was sent"
        )
    return arrived.view(kind)


def forward(comm: Communicator | None, plan: Plan, **options: Unpack[ExchangeOptions]) -> None:
    """Pass on what others send, as the plan says. Collective over `comm`, blocking: as `send`."""
    exchange_by(
        comm,
        lambda: prepared(_one(comm, plan, "forward"), None, **options),
        options.get("stall_timeout", STALL_TIMEOUT_S),
    )


def _to_dtype(dtype: npt.DTypeLike) -> np.dtype:
    try:
        return np.dtype(dtype)
    except TypeError:
        raise wrong_type("dtype", dtype, "a dtype of NumPy's, such as 'f8'") from None


def _one(comm: Communicator | None, plan: Plan, called: str) -> Plan:
    """Return the plan if it has one flow, in which this rank has the place that it calls for."""
    if not isinstance(plan, Plan):
        raise wrong_type("plan", plan, "what fluvial.route.plan returns")
    if len(plan.flows) != 1:
        raise InvalidArgument(
            f"the plan is not one of a single flow: got {len(plan.flows)} flows; allowed: 1. Move "
            "several by fluvial.route.exchange"
        )
    source, target, _ = plan.flows[0]
    rank = 0 if comm is None else comm.Get_rank()
    hosts = plan.topology.host_of_rank
    places = {
        hosts.index(host): name
        for name, host in (("send", source), ("recv", target))
        if host in hosts
    }
    if source != target and called != places.get(rank, "forward"):
        raise InvalidArgument(
            f"rank {rank} has another place in the plan: got {shown(called)}; allowed: "
            f"{places.get(rank, 'forward')}"
        )
    if source == target:
        raise InvalidArgument(
            f"the flow of the plan ends where it begins: got host {source}; allowed: two hosts"
        )
    return plan
