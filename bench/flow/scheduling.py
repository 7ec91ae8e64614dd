# SPDX-License-Identifier: Apache-2.0
"""Utilisation by simulated tasks of the pools' own scheduler: prints lines of JSON.

python scheduling.py LOAD RANKS ROUNDS ERROR SEEDS, in an environment that has Fluvial.
"""

from __future__ import annotations

import json
import sys

from fluvial import _core


def main() -> None:
    """Simulate the load with each seed from 1; print its utilisation, and the most it can be."""
    load, ranks, rounds, error, seeds = sys.argv[1:]
    used, bounds = [], []
    for seed in range(1, int(seeds) + 1):
        utilisation, end_s, _, _, earliest_end_s = _core.simulate_flow(
            load, int(ranks), int(rounds), float(error), 0.8, seed
        )
        used.append(100 * utilisation)
        bounds.append(100 * utilisation * end_s / earliest_end_s)
    print(json.dumps({"used": used, "bounds": bounds}), flush=True)


if __name__ == "__main__":
    main()
