# SPDX-License-Identifier: Apache-2.0
"""Ranks that do nothing but pass on what others exchange."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Unpack

import numpy.typing as npt

from .. import _core
from ..base.arguments import to_bool
from ..mpi.communicator import Communicator, handle_of
from .exchanging import Exchanged, ExchangeOptions, exchanged_of, prepared
from .planning import Plan


class HelperRanks:
    """Ranks of a job that are proxies and nothing else, for as long as the others want.

    A proxy passes data on only while it is in a call. Ranks that compute cannot be in one, unless
    MPI was initialised with MPI_THREAD_MULTIPLE (then there is `begin`); helpers can. Make it over
    a communicator of the ranks that exchange and of the helpers: ranks that compute meanwhile are
    not in it. Collective, blocking.

    Also a context manager: at its end the others release the helpers. A rank that leaves it by an
    exception tells all the rest, which raise `TimedOut` instead of waiting for it.

    Parameters
    ----------
    comm
        An mpi4py communicator. None: this process alone.
    helps
        Whether this rank helps. On one rank at least it does not.

    Raises
    ------
    InvalidArgument
        On all ranks: all of them are to help.

    Examples
    --------
    Four ranks on two hosts: one of each host helps::

        with fl.route.HelperRanks(comm, helps=comm.rank % 2 == 1) as helpers:
            if helpers.helping:
                helpers.serve()
            else:
                for step in range(steps):
                    arrived = helpers.exchange(plan, data)
    """

    def __init__(self, comm: Communicator | None, helps: bool) -> None:
        self._core = _core.make_helpers(handle_of(comm), lambda: to_bool(helps, "helps"))
        others = set(range(1 if comm is None else comm.Get_size())) - set(self._core.ranks())
        self._first = (0 if comm is None else comm.Get_rank()) == min(others)

    @property
    def helping(self) -> bool:
        """Whether this rank is a helper."""
        return self._core.helps()

    @property
    def ranks(self) -> tuple[int, ...]:
        """All helpers."""
        return tuple(self._core.ranks())

    def serve(self) -> int:
        """Pass on what the others exchange, until they release. On helpers alone, blocking.

        The rank sleeps while there is nothing to do.

        Returns
        -------
        int
            How many exchanges there were.

        Raises
        ------
        TimedOut, DamagedMessage
            As `exchange`; and TimedOut where another rank has given up.
        """
        return self._core.serve()

    def exchange(
        self,
        plan: Plan,
        data: Mapping[int, npt.ArrayLike] | None = None,
        **options: Unpack[ExchangeOptions],
    ) -> Exchanged:
        """Move the flows of a plan, as `fluvial.route.exchange`. On ranks that do not help.

        Collective among these. On a host that has helpers the first of them is the proxy; flows
        begin and end at the first rank of a host that does not help. A helper that does not come is
        a TimedOut after `stall_timeout`.
        """
        said = self._core.exchange(lambda: prepared(plan, data, **options), self._first)
        if said[2]:
            warnings.warn(said[2], UserWarning, stacklevel=2)
        return exchanged_of(*said[:2])

    def release(self) -> None:
        """End `serve` on the helpers. On ranks that do not help; collective with the helpers."""
        self._core.release()

    def __enter__(self) -> HelperRanks:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and not self.helping:
            self.release()
        else:
            self._core.abandon()  # nothing after serve()

    def __repr__(self) -> str:
        return f"<fluvial.route.HelperRanks, ranks {', '.join(map(str, self.ranks))}>"
