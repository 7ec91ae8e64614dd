# SPDX-License-Identifier: Apache-2.0
"""What mpiexec itself says on standard error, apart from the ranks, whose guards pass theirs on."""

from __future__ import annotations

import contextlib
import os

from .guard_reports import write_all

_BYTES = 1 << 16


class LauncherWords:
    """A pipe that mpiexec writes into.

    Of a rank that has failed its guard has told, which ends with 0. Open MPI still complains, now
    and then, of guards that end a moment before others: that is no news, and 24 lines.
    """

    def __init__(self) -> None:
        self.source, self.target = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.source, False)

    def given(self) -> None:
        """Close the end that mpiexec has got."""
        os.close(self.target)

    def pass_on(self, wanted: bool) -> bool:
        """Pass on what is there, or forget it; False at the end."""
        with contextlib.suppress(BlockingIOError):
            while text := os.read(self.source, _BYTES):
                if wanted:
                    write_all(2, text)
            return False
        return True

    def close(self) -> None:
        """Close the end that is read."""
        os.close(self.source)
