# SPDX-License-Identifier: Apache-2.0
"""Draws pool.png: tasks of one and of several ranks on a pool.

usage: python docs/images/pool.py
"""

from __future__ import annotations

import pathlib
import time
from typing import Any

import fluvial as fl

HERE = pathlib.Path(__file__).resolve().parent


def mesh(part: int) -> int:
    """Make a mesh: some time on one rank."""
    time.sleep(0.05 + 0.02 * (part % 4))
    return part


@fl.parallel
def solve(team: Any, part: int) -> int:
    """Solve on several ranks."""
    time.sleep(0.3 / int(team.size))
    return part


def plot(part: int) -> int:
    """Draw the result of one."""
    time.sleep(0.03)
    return part


def main() -> None:
    """Run twelve parts through all three."""
    with fl.Pool(8, trace=HERE / "pool.png") as pool:
        for part in range(12):
            solved = pool.with_options(ranks=2 + 2 * (part % 2)).submit(
                solve, pool.submit(mesh, part)
            )
            pool.submit(plot, solved)


if __name__ == "__main__":
    main()
