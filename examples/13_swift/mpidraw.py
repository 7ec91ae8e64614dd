# SPDX-License-Identifier: Apache-2.0
"""Stands for MpiDraw of the paper: traces particles through a vortex.

The particles are given to the ranks in blocks. The cost counts steps and messages, so that it is
the same on every machine.
"""

import numpy as np

PARTICLES, STEPS = 240, 20


def mpidraw(comm, bf):
    """Trace the particles on all ranks of `comm`, in `bf` blocks a rank."""
    blocks = np.array_split(np.arange(PARTICLES), bf * comm.size)[comm.rank :: comm.size]
    moved = sum(trace(block) for block in blocks)
    ends = comm.allreduce(moved)  # of all particles: the same for any number of ranks and blocks
    assert abs(ends - trace(np.arange(PARTICLES))) < 1e-9
    busiest = max(comm.allgather(sum(map(len, blocks))))
    return busiest * STEPS / 1000 + 0.1 * bf * np.log2(2 * comm.size)


def trace(particles):
    """Return how far the particles come in all."""
    x, y = np.cos(particles * 1.0), np.sin(particles * 1.0)
    start = x.copy(), y.copy()
    for _ in range(STEPS):
        speed = np.exp(-(x**2 + y**2))
        x, y = x - 0.1 * speed * y, y + 0.1 * speed * x
    return float(np.hypot(x - start[0], y - start[1]).sum())
