# SPDX-License-Identifier: Apache-2.0
"""Streams inside a job, in a single process, which is producer and consumer."""

import contextlib
import ctypes
import subprocess
import sys

import numpy as np
import pytest
from fluvial.stream.stream import consumer_number
from mpi4py import MPI

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


def test_bytes_of_varying_size_without_blocking():
    words = [bytes([n]) * n for n in range(200)]
    with alone(
        bytes_max=200, buffer_bytes=4096, op=lambda batch: got.extend(map(bytes, batch))
    ) as stream:
        got = []
        pending = [stream.isend(word) for word in words]
        stream.terminate()
        assert all(one.test() for one in pending)
        stream.operate()
        assert stream.stats["sent_elements"] == 200
        with pytest.raises(fl.InvalidArgument, match="terminated"):
            stream.isend(b"more")
    assert got == words


def test_its_own_buffer_is_full():
    with (
        pytest.raises(fl.InvalidArgument, match="try_next"),
        alone(dtype="i8", buffer_bytes=8192) as stream,
    ):
        stream.send(np.arange(10_000))
    with alone(dtype="i8", buffer_bytes=8192) as stream:
        pending = stream.isend(np.arange(10_000))
        end = stream.iterminate()
        assert taken(stream).sum() == sum(range(10_000))
        assert pending.test()
        assert end.test()


def test_elements_in_parts_have_no_room_of_their_own():
    with alone(dtype="f8", shape=100_000, op="sum") as stream:
        with pytest.raises(fl.InvalidArgument, match="in parts"):
            stream.reserve(1)
        stream.send(np.ones(100_000))
        stream.terminate()
        assert stream.result() == 100_000


@pytest.mark.parametrize("chosen", ["x", None, float("nan"), float("inf")])
def test_an_association_that_gives_no_number_is_told(chosen):
    with pytest.raises(fl.WrongType, match=r"gave no number of a consumer: got .*modulo 2"):
        consumer_number(chosen, 2)


@pytest.mark.parametrize("shape", [2**61, (2**40, 2**40), 2**40])
def test_an_element_that_is_too_large_is_told(shape):
    with (
        pytest.raises(fl.InvalidArgument, match=r"element is too large: got .* bytes; allowed: up"),
        alone(dtype="f8", shape=shape, op="count"),
    ):
        pass


def test_an_association_may_give_any_whole_number():
    with alone(dtype="i8", op="count", association=lambda element: -int(element) - 1) as stream:
        stream.send(np.arange(7))
        stream.terminate()
        assert stream.result() == 7


def test_queries_are_counted():
    with alone(dtype="i8", op="sum") as stream:
        stream.send(np.arange(7))
        assert stream.query().elements in range(8)
        assert stream.stats["queries_answered"] == 1


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
        ending = stream.iterminate()
        ending.wait()
        assert ending.test()
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
    assert np.shape(median.value) == (4,)
    np.testing.assert_array_equal(median.value, np.median(x, axis=(0, 2)))

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


def test_keys_of_fields_that_have_no_plain_bytes_are_refused():
    inner = np.dtype([("a", "i1"), ("b", "f8")], align=True)
    for dtype in (np.dtype([("k", inner)]), np.dtype([("k", np.longdouble)])):
        with (
            fl.Channel(None, producer=True, consumer=True) as channel,
            pytest.raises(fl.InvalidArgument, match=r"not a key of the elements.*bytes that mean"),
        ):
            channel.stream(dtype=dtype, key="k")


def test_a_result_can_be_taken_after_the_end():
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream("s", op="sum")
        stream.send([1.0, 2.0])
        stream.terminate()
        stream.operate()
    assert stream.result() == 3.0
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream("s", op="sum")
        stream.send(1.0)
    assert stream.result() == 1.0


def test_what_a_threshold_refuses():
    with fl.Channel(None, producer=True, consumer=True) as channel:
        with pytest.raises(fl.InvalidArgument, match="a limit, or two functions"):
            channel.threshold()
        with pytest.raises(fl.InvalidArgument, match="limit alone"):
            channel.threshold(1.0, judge=lambda merged, count, of: True)
        for wrong in (0, -1):
            with pytest.raises(fl.InvalidArgument, match="rounds_ahead"):
                channel.threshold(1.0, rounds_ahead=wrong)
        with pytest.raises(fl.InvalidArgument, match="no number"):
            channel.threshold(float("nan"))
        unlimited = channel.threshold(1.0, rounds_ahead=2**70)
        assert [unlimited.contribute(x) for x in (1, 2, 3)] == [False, True, True]


def test_a_threshold_takes_numpy_booleans():
    with fl.Channel(None, producer=True, consumer=True) as channel:
        over = channel.threshold(
            judge=lambda merged, count, of: np.sum(merged) > 3, merge=lambda a, b: a + b
        )
        assert over.contribute([1, 3])
        assert not over.contribute([1, 2])


_PROGRAM = """
import fluvial as fl
with fl.Channel(None, producer=True, consumer=True) as channel:
    over = channel.threshold(judge=lambda m, count, of: True, merge=lambda a, b: a + b)
    stream = channel.stream(op=lambda batch: None, association=lambda element: 0)
    over.contribute(3), stream.send(1.0)
    inquiry = stream.iquery()
channel = fl.Channel(None, producer=True, consumer=True)
try:
    with channel:
        stream = channel.stream(op=lambda batch: 1 / 0, association=lambda element: 0)
        over = channel.threshold(judge=lambda m, count, of: True, merge=lambda a, b: a + b)
        stream.send(1.0)
        stream.operate()
except ZeroDivisionError:
    print("as expected")
"""


def test_functions_that_know_their_stream_are_set_free():
    # The functions know their module, which knows the channel, which knows the functions.
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "as expected\n", "")


def test_a_program_of_a_channel_without_mpiexec_is_told_to_use_it():
    for roles in ({"producer": True}, {"consumer": True}):
        with pytest.raises(fl.InvalidArgument, match=r"none of 1 rank; .*`mpiexec -n 4 PROGRAM`"):
            fl.Channel(MPI.COMM_WORLD, **roles)
