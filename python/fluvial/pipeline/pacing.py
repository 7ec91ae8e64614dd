# SPDX-License-Identifier: Apache-2.0
"""When the next step is due."""

from __future__ import annotations

import math
import time

from .._core import InvalidArgument, serve
from ..base.arguments import to_bool, to_float
from ..base.messages import shown
from .sources import JoinedStep


class Pacing:
    """Steps as fast as they go, at a rate, or at the times that they have.

    Parameters
    ----------
    rate
        Steps a second; None: as they come.
    original_timing
        By the attribute `time` of the steps, which counts in `timeUnitSI` seconds.
    speed
        How many times as fast as that.
    """

    def __init__(self, rate: float | None, original_timing: bool, speed: float) -> None:
        self._rate = None if rate is None else _above_zero(rate, "rate")
        self._by_time = to_bool(original_timing, "original_timing")
        self._speed = _above_zero(speed, "speed")
        if self._rate is not None and self._by_time:
            raise InvalidArgument(
                "a rate does not go with the original timing: got both; allowed: one of them"
            )
        if self._speed != 1 and not self._by_time:
            raise InvalidArgument(
                f"speed goes with the original timing: got {shown(speed)} alone; allowed: "
                "original_timing=True beside it, or rate"
            )
        self._begun: float | None = None
        self._steps = 0
        self._first_time = 0.0

    def wait(self, step: JoinedStep) -> None:
        """Wait until a step is due."""
        due = self._due(step)
        now = time.monotonic()
        if self._begun is None:
            self._begun = now
        elif (rest := self._begun + due - now) > 0:
            serve(rest)

    def _due(self, step: JoinedStep) -> float:
        """Return the seconds after the first step."""
        if self._rate is not None:
            self._steps += 1
            return (self._steps - 1) / self._rate
        if not self._by_time:
            return 0.0
        at = step.time
        if not isinstance(at, float) or not math.isfinite(at):
            raise InvalidArgument(
                f"step {step.iteration} has no time that counts seconds: got {shown(at)}; allowed: "
                "steps with the attribute 'time'. Give a rate instead"
            )
        at *= to_float(step.attrs.get("timeUnitSI", 1.0), "timeUnitSI")
        if self._begun is None:
            self._first_time = at
        return (at - self._first_time) / self._speed


def _above_zero(value: object, what: str) -> float:
    number = to_float(value, what)
    if not 0 < number < float("inf"):
        raise InvalidArgument(f"{what} is out of range: got {shown(value)}; allowed: above 0")
    return number
