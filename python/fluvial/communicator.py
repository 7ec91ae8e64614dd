# SPDX-License-Identifier: Apache-2.0
"""The user's communicator as the core takes it."""

from __future__ import annotations

from typing import Any

from . import _core


def handle_of(comm: Any) -> int | None:
    """Return the Fortran handle of an mpi4py communicator; None stands for a serial program."""
    if comm is None:
        return None
    if not hasattr(comm, "py2f"):
        raise _core.InvalidArgument(
            f"not a communicator: got {comm!r}; "
            "allowed: an mpi4py communicator, or None for a serial program"
        )
    return int(comm.py2f())
