# SPDX-License-Identifier: Apache-2.0
"""Waits that Python has of its own, for files and for time, serve the streams of the rank."""

import contextlib

import numpy as np
from harness import scenario

ELEMENTS = 3000  # of 8 KB, many times what a stream has room for
LIMIT_S = 20.0


def stream_of(fl, comm):
    """Return a channel from rank 0 to rank 1, its stream, and the counts of what was processed."""
    counts = []
    channel = fl.Channel(
        comm, producer=comm.rank == 0, consumer=comm.rank == 1, timeout=2 * LIMIT_S
    )
    stream = channel.stream(
        "numbers", dtype="f8", shape=1000, op=lambda batch: counts.append(len(batch))
    )
    return channel, stream, counts


def send_all(stream):
    row = np.ones((1, 1000))
    for _ in range(ELEMENTS):
        stream.send(row)
    stream.flush()


def work_in_a_ring(fl, comm, work):
    """Rank 1 waits for rank 2 in `work`, which waits for rank 0, which waits for rank 1 to process.

    Return whether elements were processed before the end of `work`, what that returned, and how
    many were in the end. The stream has no room for all of them.
    """
    pair = comm.Split(int(comm.rank == 0), comm.rank)
    streaming = comm.Split(int(comm.rank == 2), comm.rank)
    if comm.rank == 0:
        channel, stream, _ = stream_of(fl, streaming)
        send_all(stream)
        comm.send("sent", 2)
        channel.close()
        return None
    counts = []
    with work(pair) as finish:
        if comm.rank == 1:
            channel, stream, counts = stream_of(fl, streaming)
            stream.operate_some()
        else:
            comm.recv(source=0)
        result = finish()
    served = sum(counts) > 0
    if comm.rank == 1:
        channel.close()
    return served, result, sum(counts)


@scenario("job on 3 ranks", timeout=90)
class test_ranks_that_write_files_together_serve:
    def job(comm, fl, where):
        @contextlib.contextmanager
        def write(pair):
            name = str(where / "numbers.h5")
            with fl.open(name, "w", comm=pair, step_timeout=LIMIT_S) as writer:

                def put():
                    with writer.step() as step:
                        step.put("x", np.arange(3.0), offset=(3 * pair.rank,), shape=(6,))

                yield put

        return work_in_a_ring(fl, comm, write)

    def check(jobs):
        assert jobs.finish()["job"] == [None, (True, None, ELEMENTS), (False, None, 0)]


@scenario("job on 3 ranks", timeout=90)
class test_ranks_that_reduce_arrays_together_serve:
    def job(comm, fl, where):
        @contextlib.contextmanager
        def add_up(pair):
            yield lambda: float(fl.reduce("sum", np.full(5, float(comm.rank)), comm=pair))

        return work_in_a_ring(fl, comm, add_up)

    def check(jobs):
        assert jobs.finish()["job"] == [None, (True, 15.0, ELEMENTS), (False, 15.0, 0)]


@scenario("job on 2 ranks", timeout=90)
class test_a_rank_that_follows_files_serves:
    """The writer of the files first sends more than the follower's stream has room for."""

    def job(comm, fl, where):
        alone = comm.Split(comm.rank, 0)
        name = str(where / "run%T.h5")
        channel, stream, counts = stream_of(fl, comm)
        if comm.rank == 0:
            send_all(stream)
            with fl.open(name, "w", comm=alone) as writer, writer.step() as step:
                step.put("x", np.arange(3.0))
            channel.close()
            return None
        stream.operate_some()
        limits = {"rendezvous_timeout": LIMIT_S, "step_timeout": LIMIT_S}
        with fl.open(name, comm=alone, follow=True, **limits) as series:
            seen = [(float(step["x"].sum()), sum(counts) > 0) for step in series]
        channel.close()
        return seen, sum(counts)

    def check(jobs):
        assert jobs.finish()["job"] == [None, ([(3.0, True)], ELEMENTS)]


@scenario("job on 2 ranks", timeout=90)
class test_a_pipe_that_waits_until_a_step_is_due_serves:
    """The stream is through long before the second step is due."""

    def job(comm, fl, where):
        from fluvial.pipeline.pacing import Pacing

        channel, stream, counts = stream_of(fl, comm)
        if comm.rank == 0:
            send_all(stream)
            channel.close()
            return None
        stream.operate_some()
        pacing = Pacing(rate=0.2, original_timing=False, speed=1)
        pacing.wait(None)
        pacing.wait(None)
        processed = sum(counts)
        channel.close()
        return processed

    def check(jobs):
        assert jobs.finish()["job"] == [None, ELEMENTS]
