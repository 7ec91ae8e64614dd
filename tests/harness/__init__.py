# SPDX-License-Identifier: Apache-2.0
"""Scenarios: tests that launch separate MPI jobs, told in one line.

::

    from harness import scenario

    @scenario("writer on 2 ranks, reader on 3 ranks", timeout=60)
    class test_readers_agree:
        def writer(comm, fl, where):
            with fl.open("ramp", "w", comm=comm) as series: ...

        def reader(comm, fl, where):
            with fl.open("ramp", comm=comm) as series:
                return [step["x"].read().sum() for step in series]

        def check(jobs):                       # in the test's own process; may be left out
            results = jobs.finish()            # {"writer": [None, None], "reader": [… 3 values]}
            assert results["reader"][0] == results["reader"][1] == results["reader"][2]

Each rank of each job imports the test's module and calls the function of its role with its
communicator, the module `fluvial`, and the scenario's directory `where` (a `pathlib.Path`; contact
files go there by default). What it returns, or raises, comes back to the test. Which words the line
may have: `sentence`. What `check` can do with the jobs (start one later, signal one rank, expect a
failure): `jobs.Jobs`.
"""

from harness.jobs import Jobs, Outcome, RankError, ScenarioFailed, wait_until, write_whole
from harness.scenario import scenario
from harness.sentence import Cast, parse

__all__ = [
    "Cast",
    "Jobs",
    "Outcome",
    "RankError",
    "ScenarioFailed",
    "parse",
    "scenario",
    "wait_until",
    "write_whole",
]
