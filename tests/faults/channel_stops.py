# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a job do in which one is stopped: each case is a channel of its own."""

from __future__ import annotations

import time

STALL_TIMEOUT = 1.0
PRODUCERS = (0, 1)


def stand_by(where, name):
    """Say that this rank may be stopped now, and wait until it was."""
    (where / name).touch()
    deadline = time.monotonic() + 40
    while not (where / f"{name} is over").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def open_channel(comm, fl, **options):
    """Open a channel of two producers and two consumers."""
    options = {"stall_timeout": STALL_TIMEOUT} | options
    producer = comm.rank in PRODUCERS
    return fl.Channel(comm, producer=producer, consumer=not producer, **options)


def numbers(channel, **options):
    """Attach a stream with room for few elements."""
    return channel.stream("numbers", dtype="i8", **({"buffer_bytes": 4096} | options))


def send_and_operate(comm, fl, channel, wait):
    """Consumer 3 is stopped: its producer finds no room, and consumer 2 gets no result."""
    stream = numbers(channel, op="sum")
    if comm.rank == 3:
        wait()
    if channel.producer:
        for i in range(100_000):
            stream.send(i)
        stream.terminate()
        channel.close()
    else:
        stream.operate()


def next_and_close(comm, fl, channel, wait):
    """Producer 1 is stopped: the other one closes, consumers wait for elements or poll for them."""
    stream = numbers(channel)
    if comm.rank == 0:
        channel.close()
    if comm.rank == 1:
        wait()
        stream.terminate()
    if comm.rank == 2:
        next(iter(stream))
    while comm.rank == 3:
        stream.try_next()
        time.sleep(0.001)


def query_and_threshold(comm, fl, channel, wait):
    """Consumer 2 is stopped, the first one, which answers queries and knows verdicts."""
    stream = numbers(channel, op="sum")
    threshold = channel.threshold(1.0)
    if comm.rank == 0:
        stream.query()
    if comm.rank == 1:
        while threshold.contribute(0.0) is not None:
            pass
    if comm.rank == 2:
        wait()
        stream.operate()
    if comm.rank == 3:
        stream.result()


def attach(comm, fl, channel, wait):
    """Producer 0 is stopped while the others attach a second stream."""
    stream = numbers(channel, op="sum")
    if comm.rank == 0:
        wait()
    second = numbers(channel, op="sum")
    second.result() if channel.consumer else stream.terminate()


def close(comm, fl, channel, wait):
    """Producer 1 has finished, and is stopped while the others close."""
    stream = numbers(channel, op="sum")
    if channel.producer:
        stream.send(1)
        stream.terminate()
    if comm.rank == 1:
        wait()
    channel.close()


CASES = {
    "send and operate": (send_and_operate, 3, {}),
    "next and close": (next_and_close, 1, {}),
    "query and threshold": (query_and_threshold, 2, {"shared_memory": False}),
    "attach": (attach, 0, {}),
    "close": (close, 1, {}),
}
