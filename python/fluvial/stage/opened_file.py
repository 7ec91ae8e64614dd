# SPDX-License-Identifier: Apache-2.0
"""The descriptor by which a rank writes its parts into the file of a series."""

from __future__ import annotations

import os

from .._core import SystemError


class OpenedFile:
    """One file at a time, opened when a part is written; `kept` for the next step of its path."""

    def __init__(self, *, kept: bool) -> None:
        self._kept = kept
        self._opened: tuple[str, int] | None = None

    def at(self, path: str) -> int:
        """Return a descriptor of the file at a path.

        Raises
        ------
        SystemError
            This rank cannot open it.
        """
        if self._kept and self._opened is not None and self._opened[0] == path:
            return self._opened[1]
        self.close()
        try:
            self._opened = (path, os.open(path, os.O_RDWR | os.O_CLOEXEC))
        except OSError as error:
            raise SystemError(
                f"'{path}' cannot be opened: got {error.strerror}; allowed: a file that all ranks "
                "see, on a file system that they share"
            ) from None
        return self._opened[1]

    def close(self) -> None:
        """Give the descriptor back. Idempotent."""
        opened, self._opened = self._opened, None
        if opened is not None:
            os.close(opened[1])
