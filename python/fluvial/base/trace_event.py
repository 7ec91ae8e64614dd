# SPDX-License-Identifier: Apache-2.0
"""When an event of a trace was, in files that may come from anywhere."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .._core import InvalidArgument
from .messages import shown


def span_of(event: Mapping[str, Any]) -> tuple[float, float]:
    """Return begin and end, in seconds, of an event of Chrome's traces that has a duration.

    Raises
    ------
    InvalidArgument
        A time that is not finite, or a negative duration.

    Examples
    --------
    >>> span_of({"ts": 1e6, "dur": 5e5})
    (1.0, 1.5)
    """
    begin, duration = 1e-6 * event["ts"], 1e-6 * event["dur"]
    if not math.isfinite(begin) or not 0 <= duration < math.inf:
        raise InvalidArgument(
            f"the times of an event are out of range: got ts {shown(event['ts'])} and dur "
            f"{shown(event['dur'])}; allowed: finite microseconds, dur 0 or more"
        )
    return begin, begin + duration
