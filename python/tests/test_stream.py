# SPDX-License-Identifier: Apache-2.0
"""Streams inside a job: in a single process, which is producer and consumer, and on several."""

import contextlib
import ctypes
import time

import numpy as np
import pytest
from harness import scenario

import fluvial as fl

DTYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bool", "S5"),
]
PARTICLE = np.dtype([("id", "i8"), ("energy", "f8"), ("position", "f4", 3)])


@contextlib.contextmanager
def alone(**options):
    with fl.Channel(None, producer=True, consumer=True) as channel:
        yield channel.stream(**options)


def taken(stream):
    """Copies of all batches, joined."""
    return np.concatenate([batch.copy() for batch in stream])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 1, 4)])
def test_elements_of_every_dtype_and_shape(dtype, shape):
    array = np.random.default_rng(1).integers(0, 2, (5, *shape)).astype(dtype)
    with alone(dtype=dtype, shape=shape) as stream:
        assert stream.dtype == np.dtype(dtype)
        assert stream.shape == shape
        stream.send(array[0])
        stream.send(array[1:])
        stream.terminate()
        got = taken(stream)
        assert got.dtype == array.dtype
        np.testing.assert_array_equal(got, array)


def test_records_lists_and_strides():
    particles = np.zeros(10, PARTICLE)
    particles["id"] = np.arange(10)
    particles["position"] = np.arange(30).reshape(10, 3)
    with alone(dtype=PARTICLE) as stream:
        stream.send(particles[::-2])  # with steps
        stream.send((3, 1.5, [1, 2, 3]))
        stream.terminate()
        got = taken(stream)
    assert got.dtype == PARTICLE
    assert got["id"].tolist() == [9, 7, 5, 3, 1, 3]
    assert got["position"][-1].tolist() == [1, 2, 3]
    with alone(dtype="f8", op="sum", buffer_bytes=1 << 22) as stream:
        table = np.arange(400_000.0).reshape(-1, 2)
        stream.send(table[:, 1])  # a column
        stream.send([1, 2])
        stream.send(7)
        stream.terminate()
        assert stream.result() == table[:, 1].sum() + 10


def test_bytes_of_varying_size():
    words = [b"a", b"", b"longer than eight bytes", bytes(100)]
    with alone(bytes_max=100) as stream:
        for word in words:
            stream.send(word)
        room = stream.reserve(3)
        room[:] = np.frombuffer(b"xyz", np.uint8)
        stream.commit()
        with pytest.raises(fl.InvalidArgument, match="up to 100 bytes"):
            stream.send(bytes(101))
        stream.terminate()
        got = [bytes(word) for batch in stream for word in batch]
    assert got == [*words, b"xyz"]


def test_room_is_filled_in_place():
    with alone(dtype="f4", shape=2, op="sum", over=("producer", "element")) as stream:
        room = stream.reserve(10)
        assert room.dtype == np.float32
        assert 1 <= len(room) <= 10
        room[:] = [[1, 2]] * len(room)
        with pytest.raises(fl.InvalidArgument, match="reservation"):
            stream.send([3, 4])
        stream.commit(1)
        pending = stream.isend(np.float32([[10, 20], [30, 40]]))
        pending.wait()
        assert pending.test()
        stream.flush()
        assert stream.iterminate().test() in (True, False)
        stream.operate()
        np.testing.assert_array_equal(stream.result(), [41, 62])


def test_operators_by_name_object_list_dict():
    x = np.random.default_rng(2).normal(size=(50, 4, 3))
    with alone(shape=(4, 3), op={"high": "argmax", "mean": fl.ops.Mean()}) as stream:
        stream.send(x)
        stream.terminate()
        result = stream.result()
    assert result["mean"] == pytest.approx(x.mean())
    assert result["high"].value == x.max()
    assert result["high"].coordinates == (0, *np.unravel_index(x.argmax(), x.shape))
    with alone(shape=(4, 3), op=["std", fl.ops.Quantile(0.5)], over=[0, 1, 3]) as stream:
        stream.send(x)
        stream.terminate()
        deviation, median = stream.result()
    np.testing.assert_allclose(deviation, x.std(axis=(0, 2)))
    assert np.shape(median) == (4,)

    class Longest(fl.ops.Operator):
        def identity(self, shape):
            return 0

        def absorb(self, partial, arrays, offset):
            return max(partial, arrays[0].size)

        def merge(self, a, b):
            return max(a, b)

        def finish(self, partial):
            return partial

    with alone(dtype="i2", op=Longest()) as stream:
        stream.send(np.arange(7, dtype="i2"))
        stream.terminate()
        assert 1 <= stream.result() <= 7


def test_the_largest_of_nothing():
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream(dtype="i4", op=["max", "count"])
        stream.terminate()
        with pytest.raises(fl.InvalidArgument, match="max"):
            stream.result()
        other = channel.stream(dtype="f4", op=["max", "count"])
        other.terminate()
        largest, count = other.result()
        assert np.isnan(largest)
        assert count == 0


def test_a_c_function_of_mpi_type():
    pointer = ctypes.POINTER(ctypes.c_double)

    @ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p)
    def farthest(x, best, length, datatype):
        for i in range(length[0]):
            best[i] = max(x[i], best[i], key=abs)

    address = ctypes.cast(farthest, ctypes.c_void_p).value
    with alone(op=fl.ops.FromMPI(address, "float64")) as stream:
        stream.send([1, -7, 3])
        stream.terminate()
        assert stream.result() == -7


def test_a_function_of_batches():
    seen = []
    with alone(dtype="i4", shape=2, op=lambda batch: seen.extend(batch[:, 1].tolist())) as stream:
        for i in range(5):
            stream.send([0, i])
        stream.terminate()
        stream.operate()
        assert stream.ended
        assert stream.result() is None
        assert stream.stats["sent_elements"] == stream.stats["elements"] == 5
        assert stream.stats["bytes"] == 40
    assert seen == list(range(5))


def test_what_a_function_raises_ends_the_channel():
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream(op=lambda batch: 1 / 0)
        stream.send(1.0)
        with pytest.raises(ZeroDivisionError):
            stream.operate()
        with pytest.raises(fl.Error, match="ZeroDivisionError"):
            stream.send(2.0)
    kept = []
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream(op=kept.append)
        stream.send(1.0)
        with pytest.raises(fl.InvalidArgument, match="copy"):
            stream.operate()


def test_what_is_refused():
    with fl.Channel(None, producer=True, consumer=True) as channel:
        with pytest.raises(fl.InvalidArgument, match="Python objects"):
            channel.stream(dtype=object)
        with pytest.raises(fl.InvalidArgument, match=r"operators work on numbers: got .*energy"):
            channel.stream(dtype=PARTICLE, op="sum")
        with pytest.raises(fl.InvalidArgument, match="no operator of this name"):
            channel.stream(op="most")
        with pytest.raises(fl.InvalidArgument, match="not an axis"):
            channel.stream(op="sum", over="time")
        with pytest.raises(fl.InvalidArgument, match="axis 1"):
            channel.stream(shape=3, op="sum", over=(0, 2))
        with pytest.raises(fl.InvalidArgument, match="not a key"):
            channel.stream(dtype=PARTICLE, key="charge")
        with pytest.raises(fl.InvalidArgument, match="'most_room'"):
            channel.stream(association="random")
        with pytest.raises(fl.InvalidArgument, match="buffer_bytes"):
            channel.stream(shape=1000, buffer_bytes=100)
        stream = channel.stream(dtype="f4", shape=(2, 2))
        for wrong in (np.zeros((2, 2)), np.zeros((3, 2), "f4"), np.zeros((1, 2, 2, 2), "f4")):
            with pytest.raises(fl.InvalidArgument, match=r"float32 of shape \(2, 2\)") as error:
                stream.send(wrong)
            assert f"{wrong.dtype} of shape {wrong.shape}" in str(error.value)
        with pytest.raises(fl.InvalidArgument, match="no operation"):
            stream.operate()
        assert stream.try_next() is None
        stream.terminate()
        assert not list(stream)
        with pytest.raises(fl.InvalidArgument, match="was terminated"):
            stream.send(np.zeros((2, 2), "f4"))
    with pytest.raises(fl.InvalidArgument, match="no consumer"):
        fl.Channel(None, producer=True)
    with pytest.raises(fl.InvalidArgument, match="not a communicator"):
        fl.Channel("world", producer=True, consumer=True)


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
