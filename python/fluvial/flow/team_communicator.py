# SPDX-License-Identifier: Apache-2.0
"""The communicator of a team as a task gets it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from .. import _core

if TYPE_CHECKING:
    from mpi4py import MPI


def team_communicator(handle: int) -> MPI.Intracomm:
    """Return the mpi4py communicator of this Fortran handle, which only the pool frees.

    The next task of the same ranks has it, too; what a task makes of it is the task's.
    """
    from mpi4py import MPI

    comm = _kind()(MPI.Comm.f2py(handle))
    comm.__dict__["of_the_pool"] = True  # duplicates are of the same class, but not the pool's
    return comm


@functools.cache
def _kind() -> type[MPI.Intracomm]:
    from mpi4py import MPI

    class TeamCommunicator(MPI.Intracomm):
        def Free(self) -> None:  # noqa: N802
            self._check("Free")
            super().Free()

        def Disconnect(self) -> None:  # noqa: N802
            self._check("Disconnect")
            super().Disconnect()

        def _check(self, what: str) -> None:
            if self.__dict__.get("of_the_pool"):
                raise _core.InvalidArgument(
                    f"the communicator of a team is the pool's: got {what}(); allowed: everything "
                    "else, as later tasks have it, too. Free what you have made of it, as by Dup()"
                )

    return TeamCommunicator
