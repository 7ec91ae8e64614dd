# SPDX-License-Identifier: Apache-2.0
"""SIGSTOP: alive, but without a heartbeat."""

import signal
import time

from faults.roles import SHORT, read, write
from faults.traces import stream_name
from harness import scenario, wait_until


def hold(comm, fl, where):
    """Read a step, hold its data over the stop, and check both afterwards."""
    with fl.open(stream_name(where), **SHORT) as series:
        view = series.next()["x"].read()
        (where / "holding").touch()
        while not (where / "go on").exists():
            time.sleep(0.01)
        intact = bool((view == 0).all())
        try:
            series.next()
            error = None
        except fl.Error as caught:
            error = (type(caught).__name__, str(caught))
        stats = series.stats
    return intact and bool((view == 0).all()), error, stats["bytes_copied"]


@scenario("writer on 1 process, reader on 1 process", writer=write, reader=hold)
def test_a_stopped_reader_is_evicted_and_what_it_views_stays(jobs):
    jobs.start("writer", queue_steps=2, steps=60, pause=0.001)
    jobs.start("reader")
    wait_until((jobs.where / "holding").exists, timeout=30)
    jobs["reader"].signal(signal.SIGSTOP)
    stopped = time.monotonic()
    wait_until((jobs.where / "step-59").exists, timeout=10)  # memory has been used again and again
    assert time.monotonic() - stopped < SHORT["stall_timeout"] + 3
    writer = jobs.outcome("writer").values[0]
    (jobs.where / "go on").touch()
    jobs["reader"].signal(signal.SIGCONT)
    assert writer["error"] is None
    assert writer["readers_evicted"] == 1
    assert writer["steps_written"] == 60
    assert 0.5 < writer["longest_step_s"] < SHORT["stall_timeout"] + 2
    intact, (kind, message), copied = jobs.outcome("reader").values[0]
    assert intact
    assert copied == 0
    assert kind == "PeerStalled"
    assert "lost its place" in message
    assert "stall_timeout=1 s" in message


def read_on(comm, fl, where):
    """Read to the end, whatever stalls on the way; tell how long each error took."""
    seen, waited, messages = [], [], []
    with fl.open(stream_name(where), **SHORT) as series:
        while True:
            begin = time.monotonic()
            try:
                step = series.next()
            except fl.PeerStalled as error:
                waited.append(time.monotonic() - begin)
                messages.append(str(error))
                (where / "stalled").touch()
                time.sleep(0.05)
                continue
            if step is None:
                return seen, waited, messages
            seen.append(step.index)
            (where / f"read-{step.index}").touch()


@scenario("writer on 1 process, reader on 1 process", writer=write, reader=read_on)
def test_a_stopped_writer_is_an_error_in_time_after_which_the_reader_goes_on(jobs):
    jobs.start("writer", steps=100, pause=0.05)  # still at it when the signal comes
    jobs.start("reader")
    wait_until((jobs.where / "read-5").exists, timeout=30)
    jobs["writer"].signal(signal.SIGSTOP)
    wait_until((jobs.where / "stalled").exists, timeout=10)
    jobs["writer"].signal(signal.SIGCONT)
    seen, waited, messages = jobs.finish()["reader"][0]
    assert seen == list(range(100))
    assert waited[0] < SHORT["stall_timeout"] + 1
    assert "no heartbeat" in messages[0] or "was stopped" in messages[0]


@scenario("writer on 2 ranks, reader on 1 rank", writer=write, reader=read)
def test_one_stopped_rank_of_the_writer_is_named(jobs):
    jobs.start("writer", steps=2000)
    jobs.start("reader")
    wait_until((jobs.where / "read-3").exists, timeout=30)
    jobs["writer"].signal(signal.SIGSTOP, rank=1)
    pid = jobs["writer"].pid(1)
    kind, message = jobs.outcome("reader").values[0]["error"]
    assert kind == "PeerStalled"
    assert f"process {pid}" in message or f"thread {pid}" in message
