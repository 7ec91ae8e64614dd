# SPDX-License-Identifier: Apache-2.0
"""The parallel function of the paper's Figure 9: how long the tracer takes on these ranks."""

import os
import time

import numpy as np
from tracer import Problem, trace

STREAMLINES = 150


def mpidraw(comm, bf):
    """Trace particles with `bf` blocks on each rank of `comm`; return the seconds it took."""
    problem = Problem(particles=int(os.environ.get("PARTICLES", 2000)))
    comm.Barrier()
    begin = time.perf_counter()
    ended, _ = trace(comm, bf, problem)
    seconds = comm.allreduce(time.perf_counter() - begin) / comm.size
    assert comm.allreduce(len(ended)) == problem.particles, "no particle is lost"
    return seconds


def streamlines(comm, bf, path):
    """Draw the streamlines of some particles."""
    problem = Problem(particles=STREAMLINES, steps=250)
    noted = []
    trace(
        comm, bf, problem,
        lambda numbers, step, at: noted.append(np.column_stack([numbers, step, at])),
    )  # fmt: skip
    rows = comm.gather(np.concatenate([np.empty((0, 5)), *noted]))
    if comm.rank == 0:
        from pictures import draw_streamlines

        rows = np.concatenate(rows)
        rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        draw_streamlines(rows, problem, path)


def contour(lines, path):
    """Draw the run times that the lines of a sweep have."""
    from pictures import draw_contour

    draw_contour(list(lines.values()) if isinstance(lines, dict) else lines, path)
