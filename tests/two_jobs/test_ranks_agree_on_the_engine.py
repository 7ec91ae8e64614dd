# SPDX-License-Identifier: Apache-2.0
"""Ranks that are told different engines, or other options, all get the same error."""

import os

import pytest
from harness import scenario


def differ(comm, fl, where):
    last = comm.rank == comm.size - 1
    path = str(where / "a")
    for mode in ("r", "w"):
        with pytest.raises(
            fl.InvalidArgument, match=r"differ in what to open: got .*files.*on rank 1"
        ):
            fl.open("melt", mode, comm=comm, engine="hdf5" if last else "stage")
        os.environ["FLUVIAL_OPTIONS"] = 'engine = "hdf5"' if last else ""
        with pytest.raises(fl.InvalidArgument, match=r"got files, engine hdf5, with .*; allowed: "):
            fl.open("melt", mode, comm=comm)
        del os.environ["FLUVIAL_OPTIONS"]
        options = {"path": path, "engine": "hdf5"}
        with pytest.raises(fl.InvalidArgument, match="the ranks differ in what to open"):
            fl.open("melt", mode, comm=comm, options=options | ({"path": "b"} if last else {}))
        with pytest.raises(fl.InvalidArgument, match="unknown option in options: got 'engin'"):
            fl.open("melt", mode, comm=comm, options={"engin": "hdf5"} if last else options)
    for _ in range(2):
        with fl.open("melt", "w", comm=comm, options=options) as series, series.step() as step:
            if last:
                step.put("x", [1.0, 2.0])
    with fl.open("melt", comm=comm, options=options) as series:
        assert [float(step["x"].sum()) for step in series] == [3.0]
    if last:
        comm.Barrier()
    else:
        with pytest.raises(TimeoutError, match="a rank did not come to open 'melt' in time"):
            fl.open("melt", comm=comm, options=options, step_timeout=0.5)
        comm.Barrier()


@scenario("job on 2 ranks", timeout=60)
class test_ranks_that_differ:
    job = differ

    def check(jobs):
        jobs.finish()
