# SPDX-License-Identifier: Apache-2.0
"""Ranks of a reader that read steps from a disk, each at its own pace."""

import numpy as np
import pytest
from harness import scenario, wait_until

AHEAD = 1024
"""Steps on a disk that a rank may have before another rank of its job."""


def write(comm, fl, where):
    with fl.open("disk", "w", readers=0, retain=where, directory=where, queue_steps=16) as series:
        for index in range(AHEAD + 20):
            with series.step() as step:
                step.put("x", np.full(4, index))
        (where / "written").touch()
        wait_until((where / "done").exists, timeout=40)


def read(comm, fl, where, **options):
    wait_until((where / "written").exists, timeout=40)
    message, seen = None, []
    with fl.open(
        "disk", comm=comm, start="first", retained=where, directory=where, step_timeout=3, **options
    ) as series:
        if comm.rank == 1:
            wait_until((where / "told").exists, timeout=40)
        while len(seen) < AHEAD + 20:
            try:
                seen.append(series.next().index)
            except fl.TimedOut as error:
                message = str(error)
                (where / "told").touch()
    comm.barrier()
    (where / "done").touch()
    return message, seen == list(range(AHEAD + 20))


@pytest.mark.parametrize("options", [{}, {"transport": "tcp"}])
@scenario("writer on 1 process, reader on 2 ranks", writer=write, reader=read)
def test_a_rank_that_is_far_ahead_of_another_is_told_so(jobs, options):
    jobs.start("writer")
    jobs.start("reader", **options)
    (message, saw_all), other = jobs.outcome("reader").values
    assert f"another rank of this reader is {AHEAD} steps behind" in message
    assert "writer is alive but slow" not in message
    assert saw_all
    assert other == (None, True)
    jobs.finish()
