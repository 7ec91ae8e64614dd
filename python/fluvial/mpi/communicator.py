# SPDX-License-Identifier: Apache-2.0
"""The user's communicator as the core takes it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, TypeAlias

from .. import _core
from ..base.messages import shown

if TYPE_CHECKING:
    from mpi4py import MPI

Communicator: TypeAlias = "MPI.Comm"

_LAUNCHED = ("PMI_SIZE", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_SIZE", "MPI_LOCALNRANKS")


def handle_of(comm: Communicator | None) -> int | None:
    """Return the Fortran handle of an mpi4py communicator; None stands for a serial program."""
    if comm is None:
        return None
    check_communicator(comm)
    return int(comm.py2f())


def check_communicator(comm: object) -> None:
    """Raise WrongType for what is no communicator of mpi4py."""
    if isinstance(comm, type) or not hasattr(comm, "py2f"):
        raise _core.WrongType(
            f"not a communicator: got {shown(comm)}; "
            "allowed: an mpi4py communicator, or None for a serial program"
        )


def world() -> Communicator | None:
    """Return MPI.COMM_WORLD in a program of several ranks, None in any other.

    MPI is initialised when a launcher's environment variables say that this process is a rank.
    """
    if "mpi4py.MPI" not in sys.modules and not any(name in os.environ for name in _LAUNCHED):
        return None
    from mpi4py import MPI

    if not MPI.Is_initialized() or MPI.Is_finalized():
        return None
    return MPI.COMM_WORLD if MPI.COMM_WORLD.size > 1 else None
