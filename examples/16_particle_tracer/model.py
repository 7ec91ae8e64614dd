# SPDX-License-Identifier: Apache-2.0
"""How long a compiled tracer takes, by assumption; for `fluvial simulate script`.

The seconds of a task are the sum of

    4800 / processes · (1 + 8 / √blocks)    particles move; a few blocks share them out badly
    0.5 · blocks                            what each block of a process costs
    0.12 · processes · blocks^(1/3)         rounds of handing particles over, each among all

so that, as in the paper, the fastest is inside the range of both numbers.
"""

import math


def mpidraw(ranks, bf):
    """Return the seconds that the tracer takes on `ranks` processes with `bf` blocks each."""
    particles = 4800 / ranks * (1 + 8 / math.sqrt(bf))
    return particles + 0.5 * bf + 0.12 * ranks * bf ** (1 / 3)
