# SPDX-License-Identifier: Apache-2.0
"""Streams inside a job of several ranks."""

import time

import numpy as np
from harness import scenario


@scenario("job on 3 ranks")
class test_producers_and_consumers:
    """Two producers and a consumer, by every association, with the results on all ranks."""

    def job(comm, fl, where):
        produces = comm.rank < 2
        found = {}
        with fl.Channel(comm, producer=produces, consumer=not produces) as channel:
            assert (channel.rank, channel.size) == (comm.rank, 3)
            assert (channel.producers, channel.consumers) == ([0, 1], [2])
            for association in ("nearest", "round_robin", "most_room", lambda element: 5):
                stream = channel.stream(
                    f"by {association}",
                    shape=100,
                    op=["sum", "argmax", "count"],
                    association=association,
                    buffer_bytes=16_000,
                    result_on_producers=True,
                )
                if produces:
                    for i in range(200):
                        stream.send(np.full(100, i + 1000.0 * (comm.rank == 1)))
                    stream.terminate()
                total, high, count = stream.result()
                assert count == 2 * 200 * 100
                assert total == 100 * (2 * 200 * 199 / 2 + 200 * 1000)
                assert high.coordinates == (1, 199, 0)
                found[str(association)[:9]] = float(total)
        return found

    def check(jobs):
        jobs.start()
        results = jobs.finish()["job"]
        assert len(results[0]) == 4
        assert results[0] == results[1] == results[2]


@scenario("job on 4 ranks")
class test_keys:
    """Elements with equal keys meet on one of two consumers, in the order of each producer."""

    def job(comm, fl, where):
        particle = np.dtype([("id", "i8"), ("energy", "f8")])
        produces = comm.rank < 2
        with fl.Channel(comm, producer=produces, consumer=not produces) as channel:
            stream = channel.stream(dtype=particle, key="id")
            if produces:
                for turn in range(50):
                    for number in range(10):
                        stream.send((number, turn))
                stream.terminate()
                return set()
            last, ids = {}, set()
            for batch in stream.batches():
                for number, energy in batch.elements.tolist():
                    assert last.get((batch.producer, number), -1) == energy - 1
                    last[batch.producer, number] = energy
                    ids.add(number)
            return ids

    def check(jobs):
        jobs.start()
        _, _, some, others = jobs.finish()["job"]
        assert some | others == set(range(10))
        assert not some & others


@scenario("job on 3 ranks")
class test_equal_keys_of_different_bytes:
    """-0.0 and 0.0 are equal."""

    def job(comm, fl, where):
        met = set()
        with fl.Channel(comm, producer=comm.rank == 0, consumer=comm.rank > 0) as channel:
            for number, kind in enumerate(("f2", "f4", ">f8", "c8", "c16", ("f8", (2,)))):
                place = np.dtype([("id", "i4"), ("k", kind)])
                stream = channel.stream(f"s{number}", dtype=place, key="k")
                if comm.rank == 0:
                    for value in (0.0, -0.0):
                        element = np.zeros(1, place)
                        element["k"] = value
                        stream.send(element)
                    stream.terminate()
                    continue
                for batch in stream.batches():
                    met |= {number for _ in batch.elements}
        return met

    def check(jobs):
        jobs.start()
        _, some, others = jobs.finish()["job"]
        assert some | others == set(range(6))
        assert not some & others


@scenario("job on 2 ranks")
class test_both_roles:
    """Every rank produces for the other and for itself, consumes in between, and none blocks."""

    def job(comm, fl, where):
        with fl.Channel(comm, producer=True, consumer=True) as channel:
            stream = channel.stream(
                dtype="i8", op="sum", association="round_robin", buffer_bytes=4096
            )
            done = 0
            for i in range(5000):
                stream.send(i)
                done += stream.operate_some() if i % 100 == 0 else 0
            pending = stream.iterminate()
            while not stream.ended:
                channel.progress()
            assert pending.test()
            return int(stream.result())

    def check(jobs):
        jobs.start()
        assert jobs.finish()["job"] == [5000 * 4999, 5000 * 4999]


@scenario("job on 3 ranks")
class test_failure:
    """What a consumer's function raises is an error on every rank, at once."""

    def job(comm, fl, where):
        def work(batch):
            raise ValueError("cannot make sense of it")

        started = time.monotonic()
        try:
            with fl.Channel(comm, producer=comm.rank > 0, consumer=comm.rank == 0) as channel:
                stream = channel.stream(op=work, buffer_bytes=4096)
                if comm.rank > 0:
                    while True:
                        stream.send(1.0)
                stream.operate()
        except (fl.Error, ValueError) as error:
            return type(error).__name__, str(error), time.monotonic() - started
        return None

    def check(jobs):
        jobs.start()
        results = jobs.finish()["job"]
        assert results[0][0] == "ValueError"
        assert [r[0] for r in results[1:]] == ["Error", "Error"]
        assert all("cannot make sense of it" in r[1] for r in results)
        assert "rank 0 of 3" in results[2][1]
        assert all(r[2] < 20 for r in results)


@scenario("job on 2 ranks")
class test_wrong_on_one_rank:
    """An argument that is wrong on one rank is an error on all; the channel goes on."""

    def job(comm, fl, where):
        with fl.Channel(comm, producer=comm.rank == 0, consumer=comm.rank == 1) as channel:
            texts = []
            for wrong in ({"op": "most"}, {"key": "charge"}, {"shape": 2}, {"op": "histogram"}):
                try:
                    channel.stream(**(wrong if comm.rank == 1 else {}))
                except fl.InvalidArgument as error:
                    texts.append(str(error))
            stream = channel.stream(op="sum")
            if comm.rank == 0:
                stream.send(2.5)
                return texts, None
            return texts, float(stream.result())

    def check(jobs):
        jobs.start()
        (texts, _), (others, total) = jobs.finish()["job"]
        assert len(texts) == 4
        assert texts == others
        assert texts[0].startswith("rank 1 of 2: no operator of this name")
        assert total == 2.5


@scenario("job on 3 ranks")
class test_queries:
    """Producers ask for the result while it grows, and each answer covers what they say."""

    def job(comm, fl, where):
        produces = comm.rank < 2
        with fl.Channel(comm, producer=produces, consumer=not produces) as channel:
            stream = channel.stream(op=["sum", "count", "max"])
            plain = channel.stream(op=lambda batch: None)
            if not produces:
                return stream.result()[0]
            last = 0
            for i in range(1, 301):
                stream.send(1.0)
                if i % 100 == 0:
                    (total, count, _), elements = stream.query()
                    assert last <= total == count == elements <= 600
                    last = elements
                    inquiry = stream.iquery()
                    while not inquiry.test():
                        pass
                    assert inquiry.wait().elements >= last
            plain.send(2.0)
            assert plain.query().result is None
            stream.iquery()  # no rank waits for it
            stream.terminate()
            while stream.query().elements < 600:
                pass
            return float(stream.query().result[0])

    def check(jobs):
        jobs.start()
        assert jobs.finish()["job"] == [600, 600, 600]


@scenario("job on 4 ranks")
class test_thresholds:
    """Verdicts are certain before the slowest has come, and alike on all; rounds do not mix."""

    def job(comm, fl, where):
        with fl.Channel(comm, producer=comm.rank < 3, consumer=comm.rank == 3) as channel:
            over = channel.threshold(10.0)
            most_agree = channel.threshold(
                judge=lambda words, count, of: "stop" in words or None, merge=lambda a, b: a + b
            )
            if comm.rank == 3:
                channel.close()
                return over.late
            verdicts = []
            for turn in range(40):
                if comm.rank == 2:
                    time.sleep(0.002)
                # The first rank alone decides every fourth round, all together decide no other.
                verdicts.append(over.contribute(11.0 if turn % 4 == 0 and comm.rank == 0 else 3.0))
            for word in ("go", "stop" if comm.rank == 1 else "go"):
                verdicts.append(most_agree.contribute([word]))
            for wrong in (-1.0, float("nan")):
                try:
                    over.contribute(wrong)
                except fl.InvalidArgument:
                    verdicts.append("refused")
            return verdicts

    def check(jobs):
        jobs.start()
        *verdicts, late = jobs.finish()["job"]
        expected = [turn % 4 == 0 for turn in range(40)] + [False, True, "refused", "refused"]
        assert verdicts == [expected] * 3
        assert late > 0
