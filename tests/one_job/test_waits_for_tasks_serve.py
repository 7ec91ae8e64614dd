# SPDX-License-Identifier: Apache-2.0
"""A rank that waits for tasks, programs and exchanges serves its streams meanwhile."""

import itertools
import os
import pathlib
import signal
import threading
import time

import numpy as np
from harness import scenario

ELEMENTS = 3000  # of 8 KB, many times what a stream has room for
LIMIT_S = 8.0
held = []
"""The stream into which the tasks of this rank send."""


def sends(elements=ELEMENTS, until=None):
    """Be a task that needs the lead to process."""
    row = np.ones((1, 1000))
    for _ in range(elements):
        held[-1].send(row)
    held[-1].flush()
    while until is not None and not until.exists():
        time.sleep(0.01)
    return "sent"


def stream_of(fl, comm, op):
    """Return a channel from the other ranks to rank 0, and its stream."""
    channel = fl.Channel(comm, producer=comm.rank > 0, consumer=comm.rank == 0, timeout=LIMIT_S)
    stream = channel.stream("numbers", dtype="f8", shape=1000, op=op)
    held.append(stream)
    return channel, stream


def play(fl, comm, leads):
    """Return what `leads` does with the pool, and how many elements were processed by then.

    They are processed in the main thread, whose channel it is.
    """
    counts = []

    def op(batch):
        assert threading.current_thread() is threading.main_thread()
        counts.append(len(batch))

    channel, _ = stream_of(fl, comm, op)
    found = None
    with fl.Pool(comm=comm) as pool:
        if pool.leads:
            found = leads(pool)
    processed = sum(counts)
    channel.close()
    return found() if callable(found) else found, processed > 0, sum(counts)


@scenario("job on 2 ranks", timeout=60)
class test_a_lead_that_waits_for_a_result_serves:
    def job(comm, fl, where):
        return play(fl, comm, lambda pool: pool.submit(sends).result())

    def check(jobs):
        assert jobs.finish()["job"][0] == ("sent", True, ELEMENTS)


@scenario("job on 2 ranks", timeout=60)
class test_a_lead_that_waits_for_an_exception_serves:
    def job(comm, fl, where):
        return play(fl, comm, lambda pool: pool.submit(sends).exception())

    def check(jobs):
        assert jobs.finish()["job"][0] == (None, True, ELEMENTS)


@scenario("job on 2 ranks", timeout=60)
class test_a_lead_that_waits_for_results_of_map_serves:
    def job(comm, fl, where):
        return play(fl, comm, lambda pool: list(pool.map(sends, [1000, 2000])))

    def check(jobs):
        assert jobs.finish()["job"][0] == (["sent", "sent"], True, ELEMENTS)


@scenario("job on 2 ranks", timeout=60)
class test_a_lead_that_waits_for_results_in_any_order_serves:
    def job(comm, fl, where):
        return play(fl, comm, lambda pool: list(pool.map(sends, [1000, 2000], unordered=True)))

    def check(jobs):
        assert jobs.finish()["job"][0] == (["sent", "sent"], True, ELEMENTS)


@scenario("job on 2 ranks", timeout=60)
class test_a_lead_that_waits_for_the_end_of_its_pool_serves:
    def job(comm, fl, where):
        return play(fl, comm, lambda pool: pool.submit(sends).result)

    def check(jobs):
        assert jobs.finish()["job"][0] == ("sent", True, ELEMENTS)


@scenario("job on 2 ranks", timeout=60)
class test_results_are_late_and_waits_interrupted_as_without_streams:
    """The task goes on after both, and so does the stream."""

    def job(comm, fl, where):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        counts = []

        def interrupt():
            while sum(counts) < ELEMENTS:
                time.sleep(0.01)
            time.sleep(0.1)
            os.kill(os.getpid(), signal.SIGINT)

        channel, _ = stream_of(fl, comm, lambda batch: counts.append(len(batch)))
        found = []
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                future = pool.submit(sends, ELEMENTS, where / "enough")
                begin = time.monotonic()
                try:
                    future.result(0.3)
                except TimeoutError as error:
                    found += [type(error).__name__, 0.25 < time.monotonic() - begin < 3]
                found.append(sum(counts) > 0)
                thread = threading.Thread(target=interrupt)
                try:
                    thread.start()
                    future.result()
                except KeyboardInterrupt:
                    found.append("Ctrl-C")
                (where / "enough").touch()
                found.append(future.result())
        channel.close()
        return found, sum(counts)

    def check(jobs):
        found, processed = jobs.finish()["job"][0]
        assert found == ["TimeoutError", True, True, "Ctrl-C", "sent"]
        assert processed == ELEMENTS


@scenario("job on 2 ranks", timeout=60)
class test_ctrl_c_in_an_operation_ends_the_wait_that_serves_it:
    """The operation has failed, and its stream with it."""

    def job(comm, fl, where):
        signal.signal(signal.SIGINT, signal.default_int_handler)

        def op(batch):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(LIMIT_S)

        channel, _ = stream_of(fl, comm, op)
        found = []
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                future = pool.submit(sends)
                try:
                    future.result()
                except KeyboardInterrupt:
                    found.append("Ctrl-C")
                found.append("KeyboardInterrupt" in str(future.exception()))
        try:
            channel.close()
        except fl.Error as error:
            found.append("KeyboardInterrupt" in str(error))
        return found

    def check(jobs):
        assert jobs.finish()["job"][0] == ["Ctrl-C", True, True]


def has_something_to_serve():
    from fluvial import _core

    return _core.serves()


@scenario("job on 2 ranks", timeout=60)
class test_a_pool_alone_is_nothing_to_serve:
    """Neither where it leads, but for the thread that does so, nor where tasks run."""

    def job(comm, fl, where):
        found = []
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                found = [pool.submit(has_something_to_serve).result(), has_something_to_serve()]
        channel, _ = stream_of(fl, comm, lambda batch: None)
        found.append(has_something_to_serve())
        channel.close()
        return [*found, has_something_to_serve()]

    def check(jobs):
        lead, worker = jobs.finish()["job"]
        assert lead == [False, False, True, False]
        assert worker == [True, False]


@scenario("job on 2 ranks", timeout=60)
class test_another_thread_that_waits_for_a_result_leaves_the_stream_alone:
    def job(comm, fl, where):
        counts = []
        channel, _ = stream_of(fl, comm, lambda batch: counts.append(len(batch)))
        found = []
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                few = pool.submit(sends, 1)
                thread = threading.Thread(target=lambda: found.append(few.result()))
                thread.start()
                thread.join()
                found.append(sum(counts))
                many = pool.submit(sends)
                thread = threading.Thread(target=lambda: found.append(many.result()))
                thread.start()
                many.result()  # this thread serves for both
                thread.join()
        channel.close()
        return found, sum(counts)

    def check(jobs):
        assert jobs.finish()["job"][0] == (["sent", 0, "sent"], ELEMENTS + 1)


@scenario("job on 3 ranks", timeout=60)
class test_an_operation_may_wait_for_a_result:
    """The outer wait is served by it, and its own wait serves what comes from another rank."""

    def job(comm, fl, where):
        counts = []
        pools = []

        def op(batch):
            if not counts:
                counts.append(0)
                counts[0] += pools[0].submit(pow, 2, 3).result()  # on the third rank
            counts[0] += len(batch)

        channel, _ = stream_of(fl, comm, op)
        found = None
        with fl.Pool(comm=comm) as pool:
            pools.append(pool)
            if pool.leads:
                found = pool.submit(sends).result()
        channel.close()
        return found, counts

    def check(jobs):
        assert jobs.finish()["job"][0] == ("sent", [ELEMENTS + 8])


@scenario("job on 2 ranks", timeout=60)
class test_an_operation_that_fails_in_a_wait_for_a_result:
    """Its stream fails, and so does the task that sends into it; the next call says why."""

    def job(comm, fl, where):
        def op(batch):
            raise ValueError("no such number")

        channel, _ = stream_of(fl, comm, op)
        said = []
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                said.append(str(pool.submit(sends).exception()))
                said.append(pool.submit(pow, 2, 3).result())
        try:
            channel.close()
        except Exception as error:
            said.append(str(error))
        return said

    def check(jobs):
        task, other, close = jobs.finish()["job"][0]
        assert "no such number" in task
        assert other == 8
        assert "no such number" in close


@scenario("job on 2 ranks", timeout=60)
class test_a_rank_that_waits_for_an_exchange_serves:
    """The other rank comes to the exchange when all that it sends is on its way."""

    def job(comm, fl, where):
        counts = []
        channel, _ = stream_of(fl, comm, lambda batch: counts.append(len(batch)))
        plan = fl.route.plan("torus:2x1", [(0, 1), (1, 0)])
        data = {comm.rank: np.full(5, comm.rank + 1.0)}
        if comm.rank == 0:
            moving = fl.route.begin(comm, plan, data)
            late = False
            try:
                moving.wait(0)
            except fl.TimedOut:
                late = not moving.done
            moved = moving.wait()
            found = late, moving.done, moved[1].view("f8").tolist(), sum(counts) > 0
        else:
            own = comm.Dup()
            sends()
            found = fl.route.exchange(own, plan, data)[0].view("f8").tolist()
            own.Free()
        channel.close()
        return found, sum(counts)

    def check(jobs):
        first, second = jobs.finish()["job"]
        assert first == ((True, True, [2.0] * 5, True), ELEMENTS)
        assert second == ([1.0] * 5, 0)


@scenario("job on 2 ranks", timeout=60)
class test_a_rank_that_waits_for_a_program_serves:
    """It answers queries at once, not only when it looks whether the program has ended."""

    def job(comm, fl, where):
        channel = fl.Channel(
            comm, producer=comm.rank == 1, consumer=comm.rank == 0, timeout=LIMIT_S
        )
        stream = channel.stream("numbers", dtype="i8", op="sum")
        if comm.rank == 0:
            stream.operate_some()
            script = f"until test -e {where}/asked; do sleep 0.01; done; head -c 300000 /dev/zero"
            done = fl.command(
                ["sh", "-c", f"{script}; echo end >&2; exit 3"], text=False, check=False
            )
            found = [len(done.stdout), done.stderr, done.returncode]
            try:
                fl.command(["sh", "-c", "echo begun >&2; exec sleep 60"], timeout=0.2)
            except fl.TimedOut as error:
                found.append("begun" in str(error))
        else:
            stream.send(np.arange(10))
            stream.flush()
            while stream.query().elements < 10:
                pass
            begin = time.monotonic()
            answers = [stream.query().elements for _ in range(40)]
            found = answers == [10] * 40, time.monotonic() - begin
            (where / "asked").touch()
        channel.close()
        return found

    def check(jobs):
        waits, (right, seconds) = jobs.finish()["job"]
        assert waits == [300_000, b"end\n", 3, True]
        assert right
        assert seconds < 2  # 4 where it looks ten times a second


def waits_for(begun):
    import fluvial as fl

    held[-1].operate_some()
    fl.command(["sh", "-c", f"touch {begun}; exec sleep 60"])


@scenario("job on 2 ranks", timeout=60)
class test_a_program_of_a_task_is_killed_when_the_task_is_cancelled:
    """The rank that runs it has a stream to serve."""

    def job(comm, fl, where):
        channel = fl.Channel(
            comm, producer=comm.rank == 0, consumer=comm.rank == 1, timeout=LIMIT_S
        )
        counts = []
        held.append(channel.stream("numbers", dtype="i8", op=lambda batch: counts.extend(batch)))
        found = []
        with fl.Pool(comm=comm) as pool:
            if pool.leads:
                begun = where / "begun"
                future = pool.submit(waits_for, pathlib.Path(begun))
                for number in itertools.count():
                    held[-1].send(np.array([number]))
                    held[-1].flush()
                    if begun.exists() and held[-1].query().elements > number:
                        break
                begin = time.monotonic()
                found += [future.cancel(running=True), pool.submit(pow, 2, 3).result()]
                found.append(time.monotonic() - begin < 5)
        channel.close()
        return found, len(counts)

    def check(jobs):
        (found, _), (_, processed) = jobs.finish()["job"]
        assert found == [True, 8, True]
        assert processed > 0
