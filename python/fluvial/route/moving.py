# SPDX-License-Identifier: Apache-2.0
"""Exchanges that go on while the program computes."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping
from typing import Unpack

import numpy.typing as npt

from .. import _core
from .._core import InvalidArgument, TimedOut
from ..base.arguments import to_wait
from ..base.made_here import MadeHere
from ..mpi.communicator import Communicator, check_communicator
from .exchanging import STALL_TIMEOUT_S, Exchanged, ExchangeOptions, exchange_by, prepared
from .planning import Plan


class Moving:
    """An exchange that a thread of this process drives; what `begin` returns."""

    def __init__(
        self,
        comm: Communicator | None,
        arguments: tuple[Plan, Mapping[int, npt.ArrayLike] | None],
        options: ExchangeOptions,
    ) -> None:
        self._made = MadeHere()
        self._comm = comm
        self._arguments = arguments
        self._options = options
        self._exchanged: Exchanged | None = None
        self._error: BaseException | None = None
        self._over = _core.ServingEvent()
        self._thread = threading.Thread(target=self._move, name="fluvial route")
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether `wait` would return, or raise, at once. Not in a child by fork()."""
        self._made.check("an exchange")
        return self._over.is_set()

    def wait(self, timeout: float | None = None) -> Exchanged:
        """Wait for the end, and return what has come. May be called again.

        Serves the streams and scans of the caller's thread meanwhile.

        Collective on its first return: it frees the communicator that `begin` has duplicated.

        Parameters
        ----------
        timeout
            Seconds, 0 or more; without limit unless given. The exchange goes on after a `TimedOut`
            of this.

        Raises
        ------
        TimedOut
            It is not at its end in time.
        InvalidArgument, TimedOut, DamagedMessage
            As `exchange`; InvalidArgument in a child by fork(), too.
        """
        self._made.check("an exchange")
        limit = to_wait(timeout, "timeout")
        if not self._over.wait(math.inf if limit is None else limit):
            raise TimedOut(
                f"an exchange is not at its end in time: got {timeout} s. Wait for it again"
            )
        self._thread.join()
        if self._error is not None:
            # Others may be lost: the duplicate is left to MPI_Finalize.
            raise self._error
        comm, self._comm = self._comm, None
        if comm is not None:
            comm.Free()
        assert self._exchanged is not None
        return self._exchanged

    def _move(self) -> None:
        try:
            self._exchanged = exchange_by(
                self._comm,
                lambda: prepared(*self._arguments, **self._options),
                self._options.get("stall_timeout", STALL_TIMEOUT_S),
            )
        except BaseException as error:
            self._error = error
        finally:
            self._over.set()

    def __repr__(self) -> str:
        state = "inherited" if self._made.inherited else "done" if self.done else "on its way"
        return f"<fluvial.route.Moving, {state}>"


def begin(
    comm: Communicator | None,
    plan: Plan,
    data: Mapping[int, npt.ArrayLike] | None = None,
    **options: Unpack[ExchangeOptions],
) -> Moving:
    """Begin to move the flows of a plan, while this rank goes on with something else. Collective.

    As `exchange`, but a thread of this process does it, so that a rank which is a proxy passes
    data on while it computes. Some ranks may call `exchange` instead, if all do the same with
    `comm` before and after. Blocking only until `comm` is duplicated. The thread sleeps while
    nothing comes; a core to spare makes it quicker.

    Parameters
    ----------
    comm, plan, data, **options
        As in `exchange`. The arrays stay unchanged until `wait` has returned.

    Returns
    -------
    Moving
        Its `wait` returns what `exchange` would.

    Raises
    ------
    InvalidArgument
        MPI was initialised without MPI_THREAD_MULTIPLE, which mpi4py asks for by default.

    Examples
    --------
    >>> import fluvial as fl
    >>> plan = fl.route.plan("torus:4x4", [(0, 0)])
    >>> moving = fl.route.begin(None, plan, {0: [1.0, 2.0]})
    >>> moving.wait()[0].view("f8")
    array([1., 2.])
    """
    return Moving(_copy_for_thread(comm), (plan, data), options)


def _copy_for_thread(comm: Communicator | None) -> Communicator | None:
    if comm is None:
        return None
    check_communicator(comm)
    if not _core.threads_may_call_mpi():
        raise InvalidArgument(
            "an exchange that goes on while its program computes needs a thread that calls MPI: "
            "got a lower thread level; allowed: MPI_THREAD_MULTIPLE. Let mpi4py initialise MPI, "
            "as it does by default, or call exchange"
        )
    return comm.Dup()
