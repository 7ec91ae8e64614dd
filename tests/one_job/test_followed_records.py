# SPDX-License-Identifier: Apache-2.0
"""Ranks follow a file of another program, which adds records while they reduce its steps."""

import contextlib

from harness import scenario
from harness.history_files import LIMITS, add, classic, define


@scenario("job on 2 ranks")
class test_a_step_of_a_file_in_which_the_first_rank_has_found_more:
    """The other one has the step in the file as it opened it before."""

    def job(comm, fl, where):
        sums = []
        with contextlib.ExitStack() as model:
            if comm.rank == 0:
                file = model.enter_context(classic(where / "his_0.nc"))
                define(file)
                add(file, 0)
                add(file, 1)
            comm.Barrier()
            with fl.open(str(where / "his_*.nc"), follow=True, comm=comm, **LIMITS) as series:
                for step in series:
                    sums.append(float(step["v"].sum()))
                    if len(sums) == 3:
                        return sums
                    comm.Barrier()
                    if comm.rank == 0:
                        add(file, 1 + len(sums))
                    comm.Barrier()

    def check(jobs):
        assert jobs.finish()["job"] == [[0, 5, 10]] * 2
