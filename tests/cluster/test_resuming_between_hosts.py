# SPDX-License-Identifier: Apache-2.0
"""Reading jobs that resume, with ranks on the writer's host and on another."""

import os
import signal

import numpy as np
from faults.roles import SHORT
from faults.traces import stream_name
from harness import scenario, wait_until

STEPS = 40
LATER = 20


@scenario(
    "writer on 1 process of host 1, reader on 2 ranks of hosts 1-2, "
    "far reader on 1 process of host 2"
)
class test_each_host_keeps_how_far_its_ranks_have_come:
    def writer(comm, fl, where):
        with fl.open(stream_name(where), "w", full="spill", retain=where, **SHORT) as series:
            for index in range(STEPS):
                if index == LATER:
                    wait_until((where / "the far reader is there").exists, timeout=60)
                with series.step() as step:
                    step.put("x", np.full(100, index))

    def reader(comm, fl, where):
        with fl.open(
            stream_name(where), comm=comm, resume="plot", retained=where, **SHORT
        ) as series:
            for step in series:
                assert (step["x"].read() == step.index).all()
                (where / f"rank {comm.rank} has {step.index}").touch()

    def far_reader(comm, fl, where):
        with fl.open(stream_name(where), resume="plot", **SHORT) as series:
            (where / "the far reader is there").touch()
            seen = []
            for step in series:
                assert (step["x"].read() == step.index).all()
                seen.append(step.index)
            return series.stats["transport"], seen

    def check(jobs):
        jobs.start("writer")
        jobs.start("reader")
        for rank in range(2):
            wait_until((jobs.where / f"rank {rank} has 5").exists, timeout=30)
        os.kill(jobs["reader"].pid(1), signal.SIGKILL)
        jobs.outcome("reader")
        before = min(sum(1 for _ in jobs.where.glob(f"rank {rank} has *")) - 1 for rank in range(2))
        jobs.start("far_reader")
        ((transport, seen),) = jobs.outcome("far_reader").values
        assert transport == "tcp"
        assert seen == list(range(seen[0], STEPS))
        assert before <= seen[0] <= before + 1
        assert jobs.outcome("writer").ok
