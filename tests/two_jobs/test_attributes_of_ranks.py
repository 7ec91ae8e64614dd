# SPDX-License-Identifier: Apache-2.0
"""Attributes of a dataset are those that a rank gave last, whichever rank that is."""

import numpy as np
from harness import scenario

PLAN = [
    # rank: what it gives; a rank that is not there puts nothing
    ({0: {"u": "m"}, 1: None}, {"u": "m"}),
    ({0: None, 1: {"u": "km"}}, {"u": "km"}),
    ({0: None, 1: None}, {"u": "km"}),
    ({0: {"u": "cm"}, 1: None}, {"u": "cm"}),
    ({0: None, 1: None}, {"u": "cm"}),
    ({1: None}, {"u": "km"}),  # of those that are there
    ({0: {"u": "m"}, 1: {"v": 1}}, {"u": "m", "v": 1}),
    ({0: {"u": "m"}, 1: {"v": 1}}, {"u": "m", "v": 1}),
    ({0: {}, 1: {"v": 2}}, {"v": 2}),
    ({0: None, 1: {}}, {}),
    ({0: {"u": "mm"}, 1: {}}, {"u": "mm"}),
]


def give(comm, fl, where):
    for name, more, way in (
        ("kept", {}, {}),
        ("spilled", {"full": "spill", "queue_steps": 2}, {}),
        ("far", {}, {"transport": "tcp"}),
    ):
        options = {"directory": where, "readers": 0, "queue_steps": len(PLAN)} | more
        with fl.open(name, "w", comm=comm, **options) as writer:
            late = len(PLAN) // 2
            readers = []
            for index, (given, _) in enumerate(PLAN):
                if comm.rank == 0 and index in (0, late):  # one comes later, and knows less
                    start = "oldest" if index == 0 else "next"
                    reading = {"directory": where, "start": start, "step_timeout": 30} | way
                    readers.append((fl.open(name, **reading), index))
                comm.Barrier()
                with writer.step() as step:
                    if comm.rank in given:
                        attrs = given[comm.rank]
                        step.put("x", np.zeros(1), offset=comm.rank, shape=2, attrs=attrs)
                comm.Barrier()
            for reader, first in readers:
                for number, (_, expected) in enumerate(PLAN[first:], first):
                    assert (name, first, number, dict(reader.next()["x"].attrs)) == (
                        name,
                        first,
                        number,
                        expected,
                    )
            comm.Barrier()
            for reader, _ in readers:
                reader.close()


@scenario("job on 2 ranks", timeout=90)
class test_the_rank_that_gave_them_last_counts:
    job = give

    def check(jobs):
        jobs.finish()
