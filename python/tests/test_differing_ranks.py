# SPDX-License-Identifier: Apache-2.0
"""Ranks that ask for different things: an error on all of them that says which, and no result."""

import ctypes

import numpy as np
import pytest
from harness import scenario
from harness.refusal import refused


def log_mean(fl, version):
    class LogMean(fl.ops.Operator):
        def identity(self, shape):
            return (0.0, 0)

        def absorb(self, partial, arrays, offset):
            return partial[0] + np.log(arrays[0]).sum(), partial[1] + arrays[0].size

        def merge(self, a, b):
            return a[0] + b[0], a[1] + b[1]

        def finish(self, partial):
            return partial[0] / partial[1]

    LogMean.version = version
    return LogMean()


@ctypes.CFUNCTYPE(
    None,
    *[ctypes.POINTER(ctypes.c_double)] * 2,
    ctypes.POINTER(ctypes.c_int),
    ctypes.c_void_p,
)
def largest(x, best, length, datatype):
    for i in range(length[0]):
        best[i] = max(x[i], best[i])


def arrays_in_memory(comm, fl, odd):
    """Go through fl.reduce(…, comm=comm)."""
    x = np.arange(1.0, 7.0) + comm.rank
    h = fl.ops.Histogram

    def reduce(op, array=x, **options):
        return fl.reduce(op, array, comm=comm, **options)

    where = f"on rank {comm.size - 1}" if comm.size > 1 else ""
    refused(
        fl,
        lambda: reduce(h([0, 1, 3] if odd else [0, 1, 2])),
        "the ranks differ in the operator of '0'",
        f"histogram(edges=[0, 1, 3], skipna=false) {where}",
        "histogram(edges=[0, 1, 2], skipna=false) as on rank 0",
    )
    long = np.linspace(0, 1, 1001)
    if odd:
        long[500] += 1e-12
    refused(fl, lambda: reduce(h(long)), "1001 numbers, checksum")
    refused(fl, lambda: reduce("sum" if odd else "mean"), f"sum(skipna=true) {where}")
    refused(fl, lambda: reduce("mean", skipna=odd), "mean(skipna=true)")
    refused(fl, lambda: reduce(fl.ops.Median(exact=odd)), "again=true")
    refused(fl, lambda: reduce({"b" if odd else "a": "mean"}), "names of the results", "'b'")
    refused(fl, lambda: reduce("mean", x.astype("f4" if odd else "f8")), "float32")
    refused(fl, lambda: reduce("mean", x[None], over=1 if odd else 0), "do not fit")
    refused(fl, lambda: reduce("mean", weights=x if odd else None), "whether there are weights")
    refused(fl, lambda: reduce(log_mean(fl, 2 if odd else 1)), "LogMean, version '2'")
    assert reduce(log_mean(fl, 1)) > 0
    f = np.sqrt if odd else np.square
    refused(fl, lambda: reduce(fl.ops.Apply(f, "sum")), "sum(skipna=true) of sqrt of 1 inputs")
    refused(
        fl,
        lambda: reduce(fl.ops.Apply(lambda a: a, "sum", version="2" if odd else "1")),
        "<lambda>, version '2'",
    )
    refused(fl, lambda: reduce(fl.ops.Apply(np.square, "max" if odd else "sum")), "max(")
    address = ctypes.cast(largest, ctypes.c_void_p).value
    refused(
        fl,
        lambda: reduce(fl.ops.FromMPI(address, "f8", name="largest", version="2" if odd else "1")),
        "mpi_function(largest, version '2', float64)",
    )
    q = np.array([[0, 0, 1 + 1e-13 * odd]])
    refused(
        fl,
        lambda: fl.reduce(fl.ops.StructureFactor.at(q), [x, x, x], comm=comm),
        "structure_factor(q=[0, 0, 1.0000000000001]",
    )
    assert reduce("max") == 6 + comm.size - 1


def scans(comm, fl, odd, path):
    """Go through reductions of a file."""
    with fl.open(str(path), raw={"dtype": "f8", "shape": (40, 50)}) as file:
        (name,) = file.keys()
        data = file[name]
        bound = 0.5 if odd else 0.25
        refused(
            fl,
            lambda: data.where(f"{name} > {bound}").reduce("mean"),
            "the ranks differ in the conditions: got input 0 > 0.5",
        )

        def warm(values):
            return values > 0.5

        warm.version = 2 if odd else 1
        refused(fl, lambda: data.where(warm).reduce("mean"), "warm, version '2' of inputs 0")
        quantile = fl.ops.Quantile(0.25 if odd else 0.5)
        refused(fl, lambda: data.reduce(quantile), "the operator of", "quantile(")
        median = "median(exact)" if odd else "median"
        refused(fl, lambda: data.reduce(median), "the operator of", "again=true")
        refused(fl, lambda: data.reduce("mean", over=0 if odd else 1), "axes to reduce over")
        refused(fl, lambda: data.reduce("mean", buffer="8 KiB" if odd else "4 KiB"), "got 8192")
        refused(fl, lambda: data.reduce("mean", reproducible=odd), "reproducible: got true")
        hint = {"fluvial_reproducible": str(odd).lower()}
        refused(fl, lambda: data.reduce("mean", info=hint), "reproducible: got true")
        mine = data.isel({data.dims[0]: slice(2 * comm.rank, 2 * comm.rank + 2)})
        refused(fl, lambda: mine.reduce("sum"), "the selection", "shuffle")
        whole = np.fromfile(path).reshape(40, 50)
        np.testing.assert_allclose(
            mine.reduce("sum", shuffle="to-one"), whole[: 2 * comm.size].sum(), rtol=1e-12
        )
        rows = whole[2 * comm.rank : 2 * comm.rank + 2]
        np.testing.assert_allclose(mine.reduce("sum", shuffle="to-all"), rows.sum(), rtol=1e-12)
        refused(fl, lambda: mine.reduce("max" if odd else "sum", shuffle="to-all"), "max(")


def streams(comm, fl, odd):
    """Go through streams and threshold collectives; every rank is producer and consumer."""
    with fl.Channel(comm, producer=True, consumer=True) as channel:

        def attach(**options):
            return channel.stream("numbers", **options)

        op = "sum" if odd else "mean"
        refused(fl, lambda: attach(op=op), "the operation of stream 0", "sum(")
        edges = [0, 1, 3] if odd else [0, 1, 2]
        refused(fl, lambda: attach(op=fl.ops.Histogram(edges)), "edges=[0, 1, 3]")
        refused(fl, lambda: attach(op="sum", over="element" if odd else None), "over [1]")
        refused(fl, lambda: attach(op={"b" if odd else "a": "sum"}), "'b': sum(")
        refused(fl, lambda: attach(op=log_mean(fl, 2 if odd else 1)), "LogMean, version '2'")
        refused(fl, lambda: attach(op=print if odd else "sum"), "a function")
        refused(fl, lambda: attach(op=None if odd else "sum"), "got none")

        def count(batch):
            pass

        count.version = "2" if odd else "1"
        refused(fl, lambda: attach(op=count), "count, version '2'")
        pairs = [("a", "i4"), ("b", "f4")]
        refused(fl, lambda: attach(dtype=pairs[::-1] if odd else pairs), "the elements of stream 0")
        key = "b" if odd else "a"
        refused(fl, lambda: attach(dtype=pairs, key=key), "a key of 4 bytes at byte 4")
        refused(fl, lambda: channel.threshold(2 if odd else 1), "the limit", "got 2")

        def judge(merged, count, producers):
            return None

        judge.version = 2 if odd else 1
        refused(fl, lambda: channel.threshold(judge=judge, merge=max), "judge, version '2'")
        stream = attach(op=print if odd else repr)  # functions without a version may differ
        stream.terminate()


def job(comm, fl, where):
    odd = comm.rank == comm.size - 1
    path = where / "numbers.raw"
    if comm.rank == 0:
        np.random.default_rng(9).random((40, 50)).tofile(path)
    comm.barrier()
    arrays_in_memory(comm, fl, odd)
    scans(comm, fl, odd, path)
    streams(comm, fl, odd)
    return comm.allreduce(1)


def on_ranks(ranks):
    def check(jobs):
        jobs.start()
        assert jobs.finish()["job"] == [ranks] * ranks

    check.__name__ = f"test_on_{ranks}_ranks"
    return scenario(f"job on {ranks} ranks", job=job)(check)


test_on_2_ranks, test_on_3_ranks = on_ranks(2), on_ranks(3)


@pytest.mark.parametrize("hint", ["perhaps", 7])
def test_a_hint_that_is_no_truth_is_refused(hint, tmp_path):
    import fluvial as fl

    np.arange(4.0).tofile(tmp_path / "x.raw")
    with fl.open(str(tmp_path / "x.raw"), raw={"dtype": "f8", "shape": (4,)}) as file:
        (name,) = file.keys()
        with pytest.raises(fl.InvalidArgument, match="fluvial_reproducible makes no sense"):
            file[name].reduce("sum", info={"fluvial_reproducible": hint})
