# SPDX-License-Identifier: Apache-2.0
"""Why tasks that start together have failed.

When the writer of a stream fails, its reader loses it, and may be the first to say so. The program
is to hear of the cause.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from .. import _core
from .future import AnyFuture, Outcome
from .keyed import Settled

_CAUSE_WITHIN_S = 2.0
"""How long the cause is waited for, when other members go on."""


class _Held(NamedTuple):
    future: AnyFuture
    outcome: Outcome
    until: float


class JointFailures:
    """Holds back failures of tasks that start together which may be consequences of another.

    For the one thread that serves the pool.
    """

    def __init__(self) -> None:
        self._held: list[_Held] = []

    @property
    def held(self) -> int:
        """How many are held back."""
        return len(self._held)

    def without(self, settled: list[Settled]) -> list[Settled]:
        """Hold back those that are to be, and return the others."""
        if not any(one.future.members for one in settled):
            return settled
        until = time.monotonic() + _CAUSE_WITHIN_S
        others = []
        for one in settled:
            if one.future.members and _is_consequence(one.outcome.error):
                self._held.append(_Held(one.future, one.outcome, until))
            else:
                others.append(one)
        return others

    def settle(self) -> list[Outcome]:
        """Settle those of which the cause is known, or has not come; return what they are told."""
        told = []
        held, self._held = self._held, []
        for one in held:
            if (outcome := _found(one)) is None:
                self._held.append(one)
            else:
                one.future.settle(outcome)
                told.append(outcome)
        return told

    def let_go(self) -> list[AnyFuture]:
        """Return all, and hold none any more."""
        held, self._held = self._held, []
        return [one.future for one in held]


def _found(one: _Held) -> Outcome | None:
    members = one.future.members
    ended = [member for member in members if member.done()]
    errors = [member.exception() for member in ended if not member.cancelled()]
    causes = [error for error in errors if error is not None and not _is_consequence(error)]
    if causes:
        return Outcome(error=causes[0])
    over = len(ended) == len(members) or time.monotonic() >= one.until
    return one.outcome if over else None


def _is_consequence(error: BaseException | None) -> bool:
    return isinstance(error, _core.PeerLost | _core.PeerStalled)
