# SPDX-License-Identifier: Apache-2.0
"""What the jobs tell the launcher while they run: one JSON object a line, on rank 0's output.

Every event has a name under ``event``: ``ready`` when the job has started, ``output`` for each step
written or analysed, ``finished`` with the job's figures at its end.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

Event = dict[str, Any]


def emit(event: str, **fields: Any) -> None:
    """Tell the launcher; numbers that JSON has no word for (NaN, infinity) become null."""
    cleaned = {name: _clean(value) for name, value in fields.items()}
    sys.stdout.write(json.dumps({"event": event, **cleaned}, allow_nan=False) + "\n")
    sys.stdout.flush()


def parse(line: str) -> Event | None:
    """Return the event on a line, or None when it is something else that the job printed."""
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        return None
    return event if isinstance(event, dict) and "event" in event else None


def _clean(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
