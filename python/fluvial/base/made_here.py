# SPDX-License-Identifier: Apache-2.0
"""What a child process that was made by fork() may do with what it inherited: nothing."""

from __future__ import annotations

import os

from .._core import InvalidArgument


class MadeHere:
    """Member of an object that belongs to one process: knows which."""

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def inherited(self) -> bool:
        """Whether this is a child of the process that made the object."""
        return os.getpid() != self._process

    def check(self, what: str) -> None:
        """Raise in a child.

        Raises
        ------
        InvalidArgument
            `what` is the object, as in "the series 'melt'".
        """
        if self.inherited:
            raise InvalidArgument(
                f"{what} belongs to another process: got process {os.getpid()}, a child by fork of "
                f"process {self._process}; allowed: process {self._process}, which opened it. Open "
                "one in the child, or hand data to and fro between the two"
            )
