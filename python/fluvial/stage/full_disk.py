# SPDX-License-Identifier: Apache-2.0
"""Telling both sides of a stream, once, that the disk of its steps was full."""

from __future__ import annotations

import warnings

from .. import _core


class FullDisk:
    """What one side of the stream `name` has been told."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._told = False

    def tell(self, core: _core.Writer | _core.Reader) -> None:
        """Warn when the disk has had no room, the first time that this is seen."""
        if self._told or not core.disk_was_full:
            return
        self._told = True
        warnings.warn(
            f"the disk of the steps of '{self._name}' was full: the writer waits for room, or "
            "steps are given up, as its option full says after the comma. Make room, raise "
            "spill_bytes, or let readers go faster",
            RuntimeWarning,
            stacklevel=4,
        )
