# SPDX-License-Identifier: Apache-2.0
"""A rank of a channel forks: its child has no part in the channel, and disturbs no rank."""

import os
import time

from harness import scenario


def child_says(work):
    """Fork; in the child do `work` and tell what it raised. Return that, in the parent."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        told = "nothing"
        try:
            work()
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        os.write(writes, told.encode())
        os._exit(0)  # MPI is its parent's, too
    os.close(writes)
    with os.fdopen(reads) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return told


@scenario("channel on 3 ranks", timeout=60)
class test_a_child_disturbs_nobody:
    def channel(comm, fl, where):
        told = []
        for shared_memory in (True, False):
            channel = fl.Channel(
                comm,
                producer=comm.rank > 0,
                consumer=comm.rank == 0,
                shared_memory=shared_memory,
                stall_timeout=1.0,
            )
            stream = channel.stream("numbers", dtype="i8", op=["sum", "count"])
            forks = comm.rank == 1
            for i in range(1000):
                if channel.producer:
                    stream.send(i)
                if i == 500 and forks:

                    def leave_by_an_error(channel=channel):
                        with channel:
                            raise RuntimeError("in the child")

                    told += [
                        child_says(lambda stream=stream: [stream.send(x) for x in range(1000)]),
                        child_says(channel.close),
                        child_says(leave_by_an_error),
                        child_says(lambda: globals().update(channel=None)),
                    ]
                    time.sleep(1.5)  # the parent beats
            if channel.producer:
                stream.terminate()
            else:
                told.append([int(x) for x in stream.result()])
            channel.close()
        return told

    def check(jobs):
        told = jobs.finish()["channel"]
        assert told[0] == [[2 * sum(range(1000)), 2000]] * 2
        refused = "InvalidArgument: the channel belongs to another process"
        for send, close, error, nothing in (told[1][:4], told[1][4:]):
            assert send.startswith(refused)
            assert close.startswith(refused)
            assert error == "RuntimeError: in the child"
            assert nothing == "nothing"
