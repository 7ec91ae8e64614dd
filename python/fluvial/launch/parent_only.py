# SPDX-License-Identifier: Apache-2.0
"""Ends of pipes, sockets and locks by which others see that this process lives.

A child by fork() inherits them. It gives them up before its fork() returns, or it would stand in
for its parent when that has died.
"""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class ParentOnly(Protocol):
    """Holds what a child is not to keep."""

    def give_up(self) -> None:
        """Close it, in a child; other threads may have been in the middle of anything: no lock."""


_holders: weakref.WeakSet[ParentOnly] = weakref.WeakSet()


def give_up_in_children(holder: ParentOnly) -> None:
    """Have `holder` give it up in each child that this process forks from now on."""
    _holders.add(holder)


def _give_up() -> None:
    for holder in list(_holders):
        holder.give_up()
    _holders.clear()


os.register_at_fork(after_in_child=_give_up)
