# SPDX-License-Identifier: Apache-2.0
"""When an event of a trace was, in files that may come from anywhere."""

from __future__ import annotations

import math

from .._core import InvalidArgument
from .messages import shown


def span_of(ts: float, dur: float) -> tuple[float, float]:
    """Return begin and end, in seconds, of an event by its members "ts" and "dur" in a file.

    Raises
    ------
    InvalidArgument
        A time that is not finite, or a negative duration.

    Examples
    --------
    >>> span_of(ts=1e6, dur=5e5)
    (1.0, 1.5)
    """
    begin, duration = 1e-6 * ts, 1e-6 * dur
    if not math.isfinite(begin) or not 0 <= duration < math.inf:
        raise InvalidArgument(
            f"the times of an event are out of range: got ts {shown(ts)} and dur {shown(dur)}; "
            "allowed: finite microseconds, dur 0 or more"
        )
    return begin, begin + duration
