# SPDX-License-Identifier: Apache-2.0
"""Verdicts on what all producers of a channel contribute, without waiting for the slowest."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import TypeVar

from .. import _core
from .._core import InvalidArgument, declared_by
from ..base.arguments import to_float, to_index, wrong_type
from ..base.messages import shown

State = TypeVar("State")
"""What a producer contributes, and what several contributions come to."""
Merge = Callable[[State, State], State]
Judge = Callable[[State, int, int], bool | None]


class Threshold:
    """A collective that returns as soon as its verdict is certain. Made by `Channel.threshold`.

    Rounds follow each other: every producer contributes once to each, at its own pace, and gets the
    same verdict as all others of that round, whether it comes before or after it. Contributions
    that come after the verdict never count for another round. Consumers do their part in whatever
    they wait for in the channel.
    """

    def __init__(
        self,
        channel: _core.Channel,
        limit: float | None,
        judge: Judge[State] | None,
        merge: Merge[State] | None,
        rounds_ahead: int,
    ) -> None:
        self._any = limit is None

        def prepare() -> dict[str, object]:
            """Return what the core needs; what this raises is raised on all ranks."""
            rounds = to_index(rounds_ahead, "rounds_ahead")
            if rounds < 1:
                raise InvalidArgument(
                    f"rounds_ahead is out of range: got {shown(rounds)}; allowed: 1 or more"
                )
            for what, function in (("judge", judge), ("merge", merge)):
                if function is not None and not callable(function):
                    raise wrong_type(what, function, "a function")
            wanted = {"limit": None, "rounds_ahead": min(rounds, 2**64 - 1)}
            if judge is not None and merge is not None and limit is None:
                return wanted | {
                    "declared": f"merge {declared_by(merge)}, judge {declared_by(judge)}",
                    "merge": lambda a, b: pickle.dumps(merge(pickle.loads(a), pickle.loads(b)), 5),
                    "judge": lambda merged, count, of: judge(pickle.loads(merged), count, of),
                }
            if limit is None or judge is not None or merge is not None:
                raise InvalidArgument(
                    f"a threshold needs a limit, or two functions: got limit={shown(limit)}, "
                    f"judge={shown(judge)}, merge={shown(merge)}; "
                    "allowed: limit alone, or judge and merge"
                )
            return wanted | {"limit": to_float(limit, "limit")}

        self._core = _core.ThresholdCollective(channel, prepare)

    def contribute(self, value: object) -> bool:
        """Return the verdict of the next round, as soon as it is certain. Producers; blocking.

        With a limit: whether the sum of all contributions, which must not be negative, exceeds it.
        After `TimedOut` a further call waits for the same round, whatever its value: this rank has
        contributed to it already.

        Raises
        ------
        InvalidArgument
            A negative value or NaN beside a limit, or a rank that does not produce. On all ranks,
            when a producer closes the channel whose value is wanted.
        """
        if self._any:
            return self._core.contribute_bytes(pickle.dumps(value, 5))
        return self._core.contribute(to_float(value, "the contribution"))

    @property
    def late(self) -> int:
        """On the first consumer: contributions that came after their verdict."""
        return self._core.late
