# SPDX-License-Identifier: Apache-2.0
"""Pipes of several ranks between jobs: a stream is captured, a file replayed, by any strategy."""

import numpy as np
import pytest
from faults.traces import stream_name
from harness import scenario

SHAPE = (23, 7)
WAIT = {"rendezvous_timeout": 30, "step_timeout": 30}
GRID = {"axisLabels": ["y", "x"], "gridSpacing": [0.5, 2.0], "gridGlobalOffset": [0.0, 0.0]}


def field(index):
    return np.arange(np.prod(SHAPE), dtype="f8").reshape(SHAPE) + 1000 * index


def write(comm, fl, where, steps=4):
    """Rows of a mesh, atoms of which one rank has none, and a dataset of the last rank alone."""
    with fl.open(stream_name(where), "w", comm=comm, **WAIT) as series:
        series.attrs["software"] = "two jobs"
        for index in range(steps):
            with series.step(time=index / 2, iteration=10 * index) as step:
                cuts = np.linspace(0, SHAPE[0], comm.size + 1).astype(int)
                begin, end = cuts[comm.rank], cuts[comm.rank + 1]
                rows = field(index)[begin:end]
                step.put("meshes/T", rows, offset=(begin, 0), shape=SHAPE, attrs=GRID)
                atoms = 5 * (comm.size - 1)
                if comm.rank > 0:
                    x = np.arange(5.0) + 5 * (comm.rank - 1)
                    step.put("particles/a/position/x", x, (5 * (comm.rank - 1),), (atoms,))
                if comm.rank == comm.size - 1:
                    step.put("last", np.float64(index))


def check_file(fl, path, steps=4):
    with fl.open(str(path)) as file:
        assert file.steps.indices == [10 * index for index in range(steps)]
        assert file.attrs["software"] == "two jobs"
        for index, step in enumerate(file):
            assert step.time == index / 2
            np.testing.assert_array_equal(step["meshes/T"].read(), field(index))
            assert step["meshes/T"].dims == ("y", "x")
            x = step["particles/a/position/x"].read()
            np.testing.assert_array_equal(x, np.arange(float(x.size)))
            assert step["last"].read() == index


def capture(comm, fl, where, strategy="hyperslabs", target="run.h5"):
    report = fl.pipe(
        *(stream_name(where), where / target, comm), strategy=strategy, reading=WAIT, writing=WAIT
    )
    comm.Barrier()
    check_file(fl, where / target)
    return report.steps, report.bytes


def check_captured(jobs, **arguments):
    jobs.start("writer")
    jobs.start("pipe", **arguments)
    size = SHAPE[0] * SHAPE[1] * 8 + 10 * 8 + 8
    assert jobs.finish()["pipe"] == [(4, 4 * size)] * 2


@scenario("writer on 3 ranks, pipe on 2 ranks", writer=write, pipe=capture)
def test_a_stream_is_captured_by_ranks_that_share_it(jobs):
    check_captured(jobs)


@scenario("writer on 3 ranks, pipe on 2 ranks", writer=write, pipe=capture)
def test_whole_chunks_go_round(jobs):
    check_captured(jobs, strategy="round-robin")


@scenario("writer on 3 ranks, pipe on 2 ranks", writer=write, pipe=capture)
def test_numbered_files_by_the_host_of_the_data(jobs):
    check_captured(jobs, strategy="by-host(even-binpacking)", target="run%T.h5")


def replay(comm, fl, where):
    """Write a file, and pipe a region of it into a stream in another dtype."""
    if comm.rank == 0:
        with fl.open(str(where / "a.h5"), "w") as series:
            for index in range(3):
                with series.step(time=float(index)) as step:
                    step.put("meshes/T", field(index), attrs=GRID)
                    step.put("empty", np.empty((0, 3)))
    comm.Barrier()
    return fl.pipe(
        *(where / "a.h5", stream_name(where), comm),
        strategy="even-binpacking",
        isel={"x": slice(1, None, 3)},
        dtype="f4",
        writing=WAIT,
    ).steps


def read(comm, fl, where):
    seen = 0
    with fl.open(stream_name(where), comm=comm, **WAIT) as series:
        for step in series:
            dataset = step["meshes/T"]
            assert dataset.dtype == "f4"
            expected = field(step.index)[:, 1::3].astype("f4")
            np.testing.assert_array_equal(dataset.read(), expected)
            np.testing.assert_array_equal(dataset.coords["x"], [2.0, 8.0])
            assert step["empty"].shape == (0, 3)
            seen += 1
    return seen


@scenario("pipe on 2 ranks, reader on 3 ranks", pipe=replay, reader=read)
def test_a_region_of_a_file_is_replayed_by_several_ranks(jobs):
    jobs.start("pipe", "reader")
    assert jobs.finish() == {"pipe": [3, 3], "reader": [3, 3, 3]}


def relay(comm, fl, where):
    return fl.pipe(
        *(stream_name(where), f"{stream_name(where)}-b", comm), reading=WAIT, writing=WAIT
    ).steps


def read_second(comm, fl, where):
    numbers = []
    with fl.open(f"{stream_name(where)}-b", comm=comm, **WAIT) as series:
        for step in series:
            np.testing.assert_array_equal(step["meshes/T"].read(), field(step.index))
            numbers.append(step.iteration)
    return numbers


@scenario(
    "writer on 2 ranks, pipe on 2 ranks, reader on 1 rank",
    writer=write,
    pipe=relay,
    reader=read_second,
    timeout=90,
)
def test_a_chain_of_three_jobs(jobs):
    jobs.start("writer", "pipe", "reader")
    found = jobs.finish()
    assert found["pipe"] == [4, 4]
    assert found["reader"] == [[0, 10, 20, 30]]


def observe(comm, fl, where):
    with pytest.raises(fl.InvalidArgument, match="a job of several ranks cannot look on"):
        fl.open(stream_name(where), comm=comm, start="observe", **WAIT)
    return capture(comm, fl, where)


@scenario("writer on 2 ranks, pipe on 2 ranks", writer=write, pipe=observe)
def test_several_ranks_do_not_look_on(jobs):
    jobs.finish()
