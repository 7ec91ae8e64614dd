# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a pool do before it begins."""

from __future__ import annotations

import os
from collections.abc import Callable

from .. import _core
from ..mpi.communicator import Communicator
from .journal import Journal


def opened_journal(
    comm: Communicator | None, path: str | os.PathLike[str] | None
) -> Journal | None:
    """Open a pool's journal where that leads; an error on all ranks when it fails."""
    journal, failed = None, None
    if path is not None and (comm is None or comm.rank == 0):
        try:
            journal = Journal(path)
        except Exception as error:
            failed = error
    said = comm.bcast(failed and str(failed)) if comm is not None else None
    if failed is not None:
        raise failed
    if said:
        raise _core.Error(f"rank 0: {said}")
    return journal


def initialize(
    comm: Communicator | None, initializer: Callable[[], object], lead_works: bool
) -> None:
    """Call it on each rank that runs tasks; an error on all when it fails on one."""
    failed: BaseException | None = None
    if comm is None or comm.size == 1 or comm.rank > 0 or lead_works:
        try:
            initializer()
        except BaseException as error:  # SystemExit, too: the others wait for this rank's word
            failed = error
    found = [failed is not None] if comm is None else comm.allgather(failed is not None)
    if failed is not None:
        raise failed
    if any(found):
        raise _core.Error(f"rank {found.index(True)}: the initializer of a pool raised an error")
