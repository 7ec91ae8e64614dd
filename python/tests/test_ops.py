# SPDX-License-Identifier: Apache-2.0
"""fl.reduce and fl.ops as a user meets them: forms of results, own operators, errors, ranks."""

import ctypes
import gc
import os
import pickle
import re
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

import fluvial as fl


class Peak(fl.ops.Operator):
    """The largest element and the chunk offset that it came with."""

    def identity(self, shape):
        assert isinstance(shape, tuple)
        return {"value": -np.inf, "offset": np.zeros(len(shape), int)}

    def absorb(self, partial, arrays, offset):
        (x,) = arrays
        if x.max() > partial["value"]:
            return {"value": x.max(), "offset": np.array(offset)}
        return None

    def merge(self, a, b):
        return a if a["value"] >= b["value"] else b

    def finish(self, partial):
        return partial


class Keeper(Peak):
    """Wrongly keeps what it was lent."""

    def absorb(self, partial, arrays, offset):
        return {"value": arrays[0][1:], "offset": offset}


class Failing(Peak):
    def absorb(self, partial, arrays, offset):
        raise KeyError("no such thing")


def test_the_form_of_the_result_follows_the_form_of_the_question():
    x = np.arange(6.0).reshape(2, 3)
    assert isinstance(fl.reduce("mean", x), np.float64)
    assert fl.reduce(["min", fl.ops.Max()], x) == [0, 5]
    assert fl.reduce({"low": "min"}, x) == {"low": 0}
    np.testing.assert_array_equal(fl.reduce("sum", x, over=-1), [3, 12])
    np.testing.assert_array_equal(fl.reduce("sum", [[1, 2], [3, 4]], over=0), [4, 6])
    assert fl.reduce("sum", 7) == 7


def test_every_registered_operator_has_a_class_and_every_class_a_name():
    from fluvial import _core

    camel = {name.lower(): name for name in fl.ops.__all__}
    for name in _core.operator_names():
        assert name.replace("_", "") in camel
    assert set(fl.ops.names()) <= {*_core.operator_names(), "median", "prod", "var"}


def test_partials_by_hand():
    op = fl.ops.Mean()
    x = np.random.default_rng(0).random((10, 4))
    a = op.identity((10, 4), ["float64"], [0])
    b = op.identity((10, 4), ["float64"], [0])
    op.absorb(a, [x[:3]], (0, 0))
    op.absorb(b, [x[3:]], (3, 0))
    copy = op.identity((10, 4), ["float64"], [0])
    copy.decode(b.encode())
    op.merge(a, copy)
    np.testing.assert_allclose(op.finish(a), x.mean(axis=0), rtol=1e-15)
    with pytest.raises(fl.InvalidArgument, match="outside the domain"):
        op.absorb(a, [x], (1, 0))


@pytest.mark.parametrize("dtype", [*"bhilqBHILQefdFD?"])
def test_arrays_are_taken_as_they_are(dtype):
    x = np.zeros((4, 6), dtype)
    x[1, 2] = 1
    view = x[::-1, ::3].T
    view.flags.writeable = False
    assert fl.reduce("sum", view) == view.sum()
    assert fl.reduce("count", view) == 8


def test_fields_of_records_need_no_copy_either():
    records = np.zeros(5, dtype=[("flag", "i1"), ("x", "f8")])  # x lies at odd addresses
    records["x"] = range(5)
    assert fl.reduce("sum", records["x"]) == 10
    assert fl.reduce(fl.ops.Apply(np.square, "max"), records["x"]) == 16


@pytest.mark.parametrize(
    "array", [np.array(["a"]), np.zeros(2, ">f8"), np.zeros(2, "M8[s]"), np.zeros(2, "g")]
)
def test_other_dtypes_are_refused_by_name(array):
    with pytest.raises((fl.InvalidArgument, ValueError, BufferError)):
        fl.reduce("sum", array)


def test_of_another_byte_order_the_conversion_is_named():
    array = np.arange(4, dtype=">f8")
    with pytest.raises(fl.WrongType) as refused:
        fl.reduce("sum", array)
    (call,) = re.findall(r"Convert it with (array\.astype\(.*\))$", str(refused.value))
    assert fl.reduce("sum", eval(call, {"array": array})) == 6


def test_a_python_class_is_an_operator():
    x = np.random.default_rng(1).random((5, 7))
    peak = fl.reduce(Peak(), x)
    assert peak["value"] == x.max()
    by_row = fl.reduce(Peak(), x, over=1)
    np.testing.assert_array_equal(by_row["value"], x.max(axis=1))
    assert by_row["offset"].shape == (5, 1)


def test_an_operator_that_keeps_a_lent_array_is_told():
    with pytest.raises(fl.InvalidArgument, match=r"Keep array.copy\(\)"):
        fl.reduce(Keeper(), np.arange(5.0))


def test_an_exception_of_the_users_code_arrives():
    with pytest.raises(KeyError, match="no such thing"):
        fl.reduce([Failing(), "mean"], np.arange(5.0))
    with pytest.raises(ZeroDivisionError):
        fl.reduce(fl.ops.Apply(lambda x: 1 // 0, "sum", dtype="f8"), np.arange(5.0))


def test_lent_arrays_are_read_only():
    def spoil(x):
        x[0] = 7
        return x

    with pytest.raises(ValueError, match="read-only"):
        fl.reduce(fl.ops.Apply(spoil, "sum", dtype="f8"), np.arange(5.0))


def test_python_objects_are_released():
    class Held:
        def __call__(self, x):
            return x

    held = Held()
    gone = weakref.ref(held)
    op = fl.ops.Apply(held, "sum", inputs=1)
    fl.reduce(op, np.arange(3.0))
    del held, op
    gc.collect()
    assert gone() is None


def test_derived_expressions_run_block_by_block():
    sizes = []

    def speed(x, y, z):
        sizes.append(x.size)
        return np.sqrt(x * x + y * y + z * z)

    v = np.random.default_rng(2).normal(size=(3, 200, 1001)).astype("f4")
    histogram = fl.reduce(fl.ops.Apply(speed, fl.ops.Histogram([0, 1, 2])), list(v))
    expected = np.histogram(speed(*v), [0, 1, 2])[0]
    np.testing.assert_array_equal(histogram.counts, expected)
    assert len(sizes) > 3 and max(sizes[1:-1]) <= 65536
    rows = fl.reduce(fl.ops.Apply(speed, "mean"), list(v), over=1)
    np.testing.assert_allclose(rows, speed(*v).mean(axis=1, dtype="f8"), rtol=1e-6)


@pytest.mark.parametrize("kept", [None, 0])
def test_a_numba_cfunc_is_an_operator(kept):
    numba = pytest.importorskip("numba")
    types = numba.types

    @numba.cfunc(
        types.void(types.voidptr, types.voidptr, types.CPointer(types.intc), types.voidptr)
    )
    def bits(a, b, length, datatype):
        x = numba.carray(a, length[0], dtype=np.int64)
        y = numba.carray(b, length[0], dtype=np.int64)
        for i in range(length[0]):
            y[i] |= x[i]

    x = np.random.default_rng(3).integers(0, 2**50, (7, 5001)) & ~1
    over = None if kept is None else 1 - kept
    result = fl.reduce(fl.ops.FromMPI(bits.address, "int64"), x, over=over)
    np.testing.assert_array_equal(result, np.bitwise_or.reduce(x, axis=over))
    with pytest.raises(fl.InvalidArgument, match="another dtype"):
        fl.reduce(fl.ops.FromMPI(bits.address, "int64"), x.astype("f8"))


def test_the_gil_is_free_while_kernels_run():
    ticks = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            ticks.append(None)
            stop.wait(0.0005)

    thread = threading.Thread(target=count)
    x = np.ones(40_000_000, "f4")
    thread.start()
    before = len(ticks)
    fl.reduce(["sum", "variance", fl.ops.Quantile(0.5)], x)
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during > 10


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fl.reduce("mode", np.ones(3)), "allowed: 'sum'"),
        (lambda: fl.reduce(fl.ops.Mean, np.ones(3)), "Call the class"),
        (lambda: fl.reduce(3, np.ones(3)), "not an operator"),
        (lambda: fl.reduce("max", np.ones(3, "F")), "complex64"),
        (lambda: fl.reduce("sum", np.ones((2, 3)), over=2), "out of range"),
        (lambda: fl.reduce("sum", np.ones((2, 3)), over=(0, -2)), "given twice"),
        (lambda: fl.reduce("sum", np.ones((2, 3)), over=()), "no axis"),
        (lambda: fl.reduce("sum", np.ones(3), mask=[True]), None),
        (lambda: fl.reduce("sum", np.ones(3), weights=np.ones(2)), "broadcasts to"),
        (lambda: fl.reduce("product", np.ones(3), weights=np.ones(3)), "does not take weights"),
        (lambda: fl.reduce("sum", [np.ones(3), np.ones(4)]), "differ in shape"),
        (lambda: fl.reduce(fl.ops.Histogram2D([0, 1], [0, 1]), np.ones(3)), "too few arrays"),
        (lambda: fl.ops.Histogram([1, 0]), "unusable edges"),
        (lambda: fl.ops.Quantile(2), "out of range"),
        (lambda: fl.ops.FromMPI(0, "f8"), "null pointer"),
        (lambda: fl.ops.Apply(max, "sum"), "Pass inputs"),
    ],
)
def test_mistakes_are_named(call, message):
    if message is None:
        assert call() == 3
        return
    with pytest.raises(fl.InvalidArgument, match=message):
        call()


def test_ctypes_functions_run_on_every_dtype_they_name():
    signature = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p
    )

    def add(a, b, length, datatype):
        count = length[0] * 4
        x = np.frombuffer((ctypes.c_char * count).from_address(a), "f4")
        y = np.frombuffer((ctypes.c_char * count).from_address(b), "f4")
        y += x

    function = signature(add)
    op = fl.ops.FromMPI(ctypes.cast(function, ctypes.c_void_p).value, "float32")
    assert fl.reduce(op, np.arange(100, dtype="f4")) == 4950


RANKS = """
import numpy as np, fluvial as fl
from mpi4py import MPI
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
whole = np.random.default_rng(9).normal(size=(40, 3)).astype("f4")
bounds = [0, *sorted(np.random.default_rng(size).integers(0, 41, size - 1)), 40]
mine = whole[bounds[rank]:bounds[rank + 1]]
mean, high, top = fl.reduce(["mean", "argmax", fl.ops.TopK(5)], mine, comm=comm)
assert abs(mean - whole.mean(dtype="f8")) < 1e-15
assert high.coordinates == tuple(np.unravel_index(whole.argmax(), whole.shape))
np.testing.assert_array_equal(top.values, np.sort(whole.ravel())[::-1][:5])
np.testing.assert_array_equal(fl.reduce("max", mine, over=0, comm=comm), whole.max(axis=0))
class Mean(fl.ops.Operator):
    def identity(self, shape): return np.zeros(2)
    def absorb(self, partial, arrays, offset):
        partial += [arrays[0].sum(dtype="f8"), arrays[0].size]
    def merge(self, a, b): a += b
    def finish(self, partial): return partial[0] / partial[1]
assert abs(fl.reduce(Mean(), mine, comm=comm) - mean) < 1e-12
class Bad(Mean):
    def merge(self, a, b): raise ArithmeticError("cannot merge")
def refused(*args, **kwargs):
    try:
        fl.reduce(*args, comm=comm, **kwargs)
    except fl.InvalidArgument as error:
        return str(error)
    raise SystemExit(f"rank {rank}: no error")
if size > 1:
    assert "rank 1" in refused("sum", mine if rank != 1 else np.ones(3, "U1")) or rank == 1
    refused("sum", mine if rank else mine.astype("f8"))
    refused("sum", mine[:, :2] if rank else mine, over=0)
    assert "cannot merge" in refused(Bad(), mine)
assert fl.reduce("count", mine, comm=comm) == 120
for over in (None, 0):
    op = fl.ops.Quantile([0.1, 0.5], accuracy=0.5, exact=True)
    exact = fl.reduce(op, mine, over=over, comm=comm)
    right = np.quantile(whole.astype("f8"), [0.1, 0.5], axis=over)
    np.testing.assert_array_equal(exact.value, np.moveaxis(right, 0, -1))
print("rank", rank, "fine")
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_over_the_ranks_of_a_communicator(ranks, tmp_path):
    pytest.importorskip("mpi4py")
    script = tmp_path / "ranks.py"
    script.write_text(RANKS)
    mpiexec = os.environ.get(
        "FLUVIAL_MPIEXEC", os.path.join(os.path.dirname(sys.executable), "mpiexec")
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [mpiexec, "-n", str(ranks), sys.executable, str(script)],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("fine") == ranks


def test_an_operator_that_lives_to_the_end_of_a_program_is_no_matter_of_complaint():
    """The function of one that is a global holds the globals, and so the operator."""
    program = (
        "import fluvial as fl\nop = fl.ops.Apply(lambda x: abs(x), fl.ops.Histogram([0, 1, 2]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


def test_states_of_python_operators_travel_by_pickle():
    assert pickle.loads(pickle.dumps(Peak().identity((3,))))["value"] == -np.inf
