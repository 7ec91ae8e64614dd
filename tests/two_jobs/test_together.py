# SPDX-License-Identifier: Apache-2.0
"""Ranks of two jobs that put, and read, many datasets by one call, and what they are told."""

import numpy as np
from harness import scenario

STEPS, FIELDS, ROWS = 4, 300, 10
NAMES = [f"meshes/f{n}" for n in range(FIELDS)]


def field(index, number):
    return np.arange(2.0 * ROWS).reshape(2 * ROWS, 1) + 100 * number + 0.25 * index


def write(comm, fl, where):
    """Each rank has half the rows of the fields; `alone` is of the first rank only."""
    mine = slice(ROWS * comm.rank, ROWS * (comm.rank + 1))
    told = None
    with fl.open("fields", "w", comm=comm, step_timeout=30) as series:
        for index in range(STEPS):
            fields = {name: field(index, n)[mine] for n, name in enumerate(NAMES)}
            with series.step() as step:
                if index == 2:
                    told = put_at_odds(comm, fl, step)
                step.put(fields, offset=(mine.start, 0), shape=(2 * ROWS, 1))
                if comm.rank == 0:
                    step.put({"alone": np.full(5, index)})
    return told


def put_at_odds(comm, fl, step):
    """Rank 1 wants another shape of one dataset; what it put with that is not there, too."""
    if comm.rank == 0:
        step.put({"odd": np.zeros(3)})
    comm.Barrier()
    if comm.rank == 0:
        return None
    try:
        step.put({"other": np.zeros(3, "i2"), "odd": np.zeros(4)})
    except fl.InvalidArgument as error:
        step.put({"other": np.ones(2)})  # so its own word of `other` does not bind it
        return str(error)
    return "nothing"


def read(comm, fl, where):
    """Read all of it on each rank, and then a part by its names."""
    seen = []
    with fl.open("fields", comm=comm, step_timeout=30) as series:
        for step in series:
            whole = step.read()
            part = step.read(NAMES[7:9], np.s_[comm.rank :: comm.size, 0])
            for n, name in enumerate(NAMES):
                np.testing.assert_array_equal(whole[name], field(step.index, n))
            for n, name in enumerate(part, 7):
                wanted = field(step.index, n)[comm.rank :: comm.size, 0]
                np.testing.assert_array_equal(part[name], wanted)
            assert whole["alone"].tolist() == [step.index] * 5
            seen.append({name: array.tolist() for name, array in whole.items() if "o" in name})
    return seen


@scenario("writer on 2 ranks, reader on 2 ranks", writer=write, reader=read, timeout=120)
def test_all_ranks_get_all_datasets_and_none_of_a_mapping_that_is_at_odds(jobs):
    results = jobs.finish()
    told = results["writer"][1]
    assert "disagree about the dataset 'odd'" in told
    assert "(4,) on rank 1" in told
    for seen in results["reader"]:
        assert len(seen) == STEPS
        assert seen[2]["other"] == [1.0, 1.0]
        assert seen[2]["odd"] == [0.0] * 3
        assert "odd" not in seen[3]
