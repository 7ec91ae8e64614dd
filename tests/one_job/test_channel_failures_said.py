# SPDX-License-Identifier: Apache-2.0
"""What a rank of a channel raises reaches the others as it is, whatever its text."""

import re

from harness import scenario

NO_TEXT = "caf\udce9.dat"  # a file's name as os.listdir gives it where its bytes are no UTF-8


def raised(comm, fl, attach, produce=None):
    """What this rank gets of a channel in which rank 1 processes what rank 0 sends."""
    produces = comm.rank == 0
    try:
        with fl.Channel(comm, producer=produces, consumer=not produces, timeout=20) as channel:
            stream = attach(channel)
            if produces:
                stream.send(1.0)
                if produce:
                    produce()
                stream.terminate()
                stream.query()
            else:
                stream.operate()
    except BaseException as error:
        return type(error).__name__, ascii(error.args[0])
    return None


def fail(*_):
    raise FileNotFoundError(NO_TEXT)


class UnsayableError(Exception):
    """An exception whose own text raises."""

    def __str__(self):
        raise ValueError("no text")


def fail_unsayably(*_):
    raise UnsayableError("never seen")


@scenario("job on 2 ranks", timeout=60)
class test_a_function_raises_a_text_that_is_no_utf8:
    """Functions of streams, of associations and of operators."""

    def job(comm, fl, where):
        class Fails(fl.ops.Operator):
            """Knows no state."""

            def identity(self, shape):
                return None

            def absorb(self, state, arrays, offset):
                fail()

            def merge(self, one, other):
                return None

            def finish(self, state):
                return 0.0

        return [
            raised(comm, fl, lambda channel: channel.stream(op=fail)),
            raised(comm, fl, lambda channel: channel.stream(op=Fails())),
            raised(comm, fl, lambda channel: channel.stream(op=fail_unsayably)),
        ]

    def check(jobs):
        producer, consumer = jobs.finish()["job"]
        for told, own in list(zip(producer, consumer, strict=True))[:2]:
            assert own == ("FileNotFoundError", ascii(NO_TEXT))
            assert told[0] == "Error"
            assert re.search(r"^'rank 1 of 2: .*FileNotFoundError: caf\\\\udce9\.dat", told[1])
        assert consumer[2] == ("UnsayableError", "'never seen'")
        assert producer[2][0] == "Error"
        assert "UnsayableError" in producer[2][1]


@scenario("job on 2 ranks", timeout=60)
class test_a_producer_leaves_by_an_exception_that_is_no_utf8:
    def job(comm, fl, where):
        def attach(channel):
            return channel.stream(op="count")

        return [raised(comm, fl, attach, fail), raised(comm, fl, attach, fail_unsayably)]

    def check(jobs):
        producer, consumer = jobs.finish()["job"]
        assert producer[0] == ("FileNotFoundError", ascii(NO_TEXT))
        assert consumer[0][0] == "Error"
        assert consumer[0][1] == r"'rank 0 of 2: FileNotFoundError: caf\\udce9.dat'"
        assert producer[1] == ("UnsayableError", "'never seen'")
        assert "rank 0 of 2: UnsayableError: what it says cannot be had" in consumer[1][1]
