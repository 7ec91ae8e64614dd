# SPDX-License-Identifier: Apache-2.0
"""A long description of a step crosses the network once for all ranks of a host."""

import numpy as np
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario

DATASETS = 4000
STEPS = 20


def write(comm, fl, where):
    """Put steps whose layout differs from that of the step before, so that it is sent again."""
    with fl.open(stream_name(where), "w", **SHORT) as series:
        for index in range(STEPS):
            with series.step() as step:
                for number in range(DATASETS - index % 2):
                    step.put(f"meshes/field{number:05d}/x", np.full(2, index * DATASETS + number))


def read(comm, fl, where, **options):
    """Look at some datasets of each step, which came whole."""
    rank = comm.rank if comm else 0
    with fl.open(stream_name(where), comm=comm, **{**SHORT, **options}) as series:
        for step in series:
            assert len(list(step)) == DATASETS - step.index % 2
            for number in range(rank, DATASETS - 1, 97):
                values = step[f"meshes/field{number:05d}/x"].read()
                assert values.tolist() == [step.index * DATASETS + number] * 2
        return step.index


def sent(jobs, **options):
    """Run the jobs; return the bytes that left the writer's host."""
    before = jobs.box.sent_bytes(1)
    jobs.start("writer")
    jobs.start("reader", **options)
    assert set(jobs.finish()["reader"]) == {STEPS - 1}
    return jobs.box.sent_bytes(1) - before


@scenario("writer on 1 process of host 1, reader on 3 ranks of host 2", writer=write, reader=read)
def test_three_ranks_get_it_once(jobs):
    """Three ranks cost the writer's host little more than one, and without sharing three times."""
    for_each = sent(jobs, fetch="each")
    assert sent(jobs) < 0.45 * for_each
