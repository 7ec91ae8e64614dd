# SPDX-License-Identifier: Apache-2.0
"""Writer: computes for two seconds between its steps, and says what serving a reader cost it.

usage: writer.py [SECONDS] [MIB]
"""

import sys
import time

import numpy as np

import fluvial as fl

seconds, mib = (float(word) for word in (*sys.argv[1:], "2", "64")[:2])
STEPS = 5
field = np.zeros(int(mib * 2**17))
part = np.linspace(0.0, 1.0, 100_000)


def compute(rounds):
    """Compute, on one core and without a call of Fluvial; return the seconds that it took."""
    begin = time.perf_counter()
    for _ in range(rounds):
        np.sin(part, out=part)
    return time.perf_counter() - begin


compute(200)  # to warm up
rounds = max(1, round(200 * seconds / compute(200)))
alone = min(compute(rounds) for _ in range(3))
spent = []
with fl.open("busy", "w") as series:
    for number in range(STEPS):
        with series.step() as step:
            field[:] = number
            step.put("field", field)
        spent.append(compute(rounds))  # while a reader takes the step
served = sorted(spent)[STEPS // 2]
print(f"writer: computing takes {alone:.2f} s alone, {served:.2f} s while {mib:g} MiB are read")
