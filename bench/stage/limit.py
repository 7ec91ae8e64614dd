# SPDX-License-Identifier: Apache-2.0
"""What no transport can beat here: one process copies, or only sums, the same bytes over and over.

python -m bench.stage.limit LIBRARY SOCKET_FD
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.child import serve
from bench.native import Native
from bench.stage import payload


def measure(native: Native, bytes_: int, budget_s: float) -> dict[str, Any]:
    """Measure bytes per second of memcpy and of the reader's sum, hot, `budget_s` seconds each."""
    source = payload.body(bytes_ // 8)
    target = np.zeros_like(source)
    return {
        "memcpy": bytes_ * _rate(lambda: native.copy(target, source), budget_s),
        "sum": bytes_ * _rate(lambda: native.sum(source), budget_s),
    }


def _rate(call: Any, budget_s: float) -> float:
    """Return the calls per second, two at least, after one that does not count."""
    call()
    begin = time.perf_counter()
    calls = 0
    while calls < 2 or time.perf_counter() - begin < budget_s:
        call()
        calls += 1
    return calls / (time.perf_counter() - begin)


def main() -> None:
    """Answer the benchmark's commands."""
    native = Native(Path(sys.argv[1]))
    serve(int(sys.argv[2]), lambda command: measure(native, command["bytes"], command["budget_s"]))


if __name__ == "__main__":
    main()
