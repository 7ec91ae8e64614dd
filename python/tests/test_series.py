# SPDX-License-Identifier: Apache-2.0
"""Both ends of a stream in one process: what is put is read, without needless copies."""

import contextlib
import gc
import os
import pathlib

import numpy as np
import pytest
from harness.ends import both_ends

import fluvial as fl

DTYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


def sent(writer, reader, **arrays):
    with writer.step() as step:
        for name, array in arrays.items():
            step.put(name, array)
    return reader.next()


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_any_shape(tmp_path, dtype):
    rng = np.random.default_rng(DTYPES.index(dtype))
    with both_ends(tmp_path) as (writer, reader):
        for shape in [(), (1,), (0,), (3, 0, 2), (5, 4), (2, 3, 1, 2), (1,) * 16]:
            array = np.asarray(rng.integers(0, 100, shape)).astype(dtype)
            if dtype.startswith("complex"):
                array = array * (1 - 2j)
            array = array.astype(dtype)
            dataset = sent(writer, reader, x=array)["x"]
            assert dataset.dtype == array.dtype
            assert dataset.shape == array.shape
            got = dataset.read()
            assert got.dtype == array.dtype
            assert got.shape == array.shape
            np.testing.assert_array_equal(got, array)


def test_special_values_come_bit_by_bit(tmp_path):
    array = np.array([np.nan, -0.0, np.inf, 5e-324])
    with both_ends(tmp_path) as (writer, reader):
        assert sent(writer, reader, x=array)["x"].read().tobytes() == array.tobytes()


def test_sources_with_any_strides(tmp_path):
    base = np.arange(120.0).reshape(10, 12)
    sources = {
        "column": base.reshape(-1, 3)[:, 0],
        "reversed": base[::-1, ::-2],
        "transposed": base.T,
        "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
        "fortran": np.asfortranarray(base),
        "record": np.rec.array([(1, 2.0), (3, 4.0)], dtype=[("a", "i1"), ("b", "f8")])["b"],
        "list": [1.0, 2.0],
        "scalar": 7.5,
        "bool": np.array([True, False]),
    }
    with both_ends(tmp_path) as (writer, reader):
        step = sent(writer, reader, **sources)
        assert sorted(step.names()) == sorted(sources)
        for name, array in sources.items():
            np.testing.assert_array_equal(step[name].read(), np.asarray(array), err_msg=name)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros(2, ">f8"),
        np.array(["a"]),
        np.zeros(2, "M8[s]"),
        np.zeros(2, object),
        np.zeros(2, "f8,i4"),
        np.zeros(2, "g"),
    ],
    ids=lambda array: array.dtype.str,
)
def test_what_no_dtype_holds_is_refused_and_the_step_goes_on(tmp_path, array):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            with pytest.raises((fl.InvalidArgument, ValueError)):
                step.put("bad", array)
            step.put("good", np.ones(2))
        assert reader.next().names() == ["good"]


def test_a_view_is_read_only_and_no_copy(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        dataset = sent(writer, reader, x=np.arange(1000.0))["x"]
        whole, part = dataset.read(), dataset[100:200:3]
        assert np.shares_memory(whole, part)
        assert not whole.flags.writeable
        assert not part.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            whole[0] = 1
        with pytest.raises(ValueError):
            whole.flags.writeable = True
        assert reader.stats["bytes_viewed"] == whole.nbytes + part.nbytes
        assert reader.stats["bytes_copied"] == 0
        assert np.asarray(dataset) is not None
        copied = np.array(dataset, copy=True)
        copied[0] = 1  # a copy that was asked for is the caller's


def test_a_selection_over_two_chunks_is_gathered_once(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put("x", np.arange(6), offset=(0,), shape=(10,))
            step.put("x", np.arange(6, 10), offset=(6,), shape=(10,))
        dataset = reader.next()["x"]
        assert [c[:3] for c in dataset.chunks] == [((0,), (6,), 0), ((6,), (4,), 0)]
        assert {c.host for c in dataset.chunks} == {os.uname().nodename}
        np.testing.assert_array_equal(dataset[4:8], [4, 5, 6, 7])
        assert reader.stats["bytes_copied"] == 4 * 8
        np.testing.assert_array_equal(dataset[6:], [6, 7, 8, 9])
        assert reader.stats["bytes_viewed"] == 4 * 8
        gathered = dataset.read()
        gathered[0] = 5  # no other array sees it


def streams_mapped():
    """Return how many memories of streams this process maps; its channels' heartbeats are none."""
    maps = pathlib.Path("/proc/self/maps").read_text()
    return maps.count("memfd:fluvial") - maps.count("memfd:fluvial-beats")


def test_what_is_read_stays_valid_when_everything_else_is_gone(tmp_path):
    with both_ends(tmp_path, queue_steps=2) as (writer, reader):
        view = sent(writer, reader, x=np.full(100, 7.0))["x"][10:]
        for value in range(5):
            sent(writer, reader, x=np.full(100, float(value)))
        assert (view == 7).all()
    del writer, reader
    gc.collect()
    assert (view == 7).all()
    assert streams_mapped() > 0
    del view
    gc.collect()
    assert streams_mapped() == 0


def test_a_span_is_written_in_place(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            span = step.span(
                "x", "float32", (4, 2), offset=(1, 0), shape=(6, 2), attrs={"unitSI": 2.0}
            )
            assert span.flags.writeable
            assert span.shape == (4, 2)
            span[...] = np.arange(8).reshape(4, 2)
            step.put("x", np.zeros((1, 2), "float32"), shape=(6, 2))
            step.put("x", np.zeros((1, 2), "float32"), offset=(5, 0), shape=(6, 2))
        dataset = reader.next()["x"]
        np.testing.assert_array_equal(dataset[1:5], np.arange(8).reshape(4, 2))
        assert dataset.attrs == {"unitSI": 2.0}
        assert writer.stats["bytes_in_place"] == 32
        assert writer.stats["bytes_copied"] == 16
        assert reader.stats["bytes_copied"] == 0
    span[...] = 1  # a mistake after the end of the step, but no crash
    writer = reader = dataset = None
    gc.collect()
    span[...] = 2


def test_a_span_of_bool_is_uint8_as_what_is_put(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            span = step.span("mask", bool, (2,), shape=(4,))
            assert span.dtype == np.bool_
            span[...] = [True, False]
            step.span("one", np.bool_, ())[...] = True
            step.put("mask", np.array([False, True]), offset=2, shape=4)
        step = reader.next()
        assert step["mask"].dtype == np.uint8
        np.testing.assert_array_equal(step["mask"].read(), [1, 0, 0, 1])
        assert step["one"].read() == 1
        assert writer.stats["bytes_in_place"] == 3


def test_time_steps_and_series_carry_their_words(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        writer.attrs["openPMD"] = "1.1.0"
        with writer.step(time=1.5, dt=0.5, attrs={"timeUnitSI": 1e-15}) as step:
            assert step.index == 0
            assert step.accepted
        step = reader.next()
        assert (step.index, step.time, step.dt) == (0, 1.5, 0.5)
        assert step.attrs == {"time": 1.5, "dt": 0.5, "timeUnitSI": 1e-15}
        assert reader.attrs == {"openPMD": "1.1.0"}
        assert step.names() == []
        with writer.step():
            pass
        assert np.isnan(reader.next().time)


def test_hundreds_of_datasets_and_steps_that_change_shape(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        for size in (3, 0, 8, 1):
            arrays = {
                f"particles/e/field {i}": np.full((size, i % 3), i, "int32") for i in range(400)
            }
            step = sent(writer, reader, **arrays)
            assert len(step) == 400
            assert set(step) == set(arrays)
            for name in list(arrays)[::37]:
                np.testing.assert_array_equal(step[name].read(), arrays[name])


def test_a_hole_is_an_error_that_names_it_not_made_up_data(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put("x", np.ones(4), offset=(2,), shape=(10,))
        dataset = reader.next()["x"]
        np.testing.assert_array_equal(dataset[2:6], 1)
        with pytest.raises(fl.Error, match="part of 'x' was not written"):
            dataset.read()


def test_where_chunks_overlap_the_later_put_counts(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put("x", np.zeros(6))
            step.put("x", np.ones(2), offset=(2,), shape=(6,))
        np.testing.assert_array_equal(reader.next()["x"].read(), [0, 0, 1, 1, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"array": np.zeros(3), "offset": (8,), "shape": (10,)}, "chunk of 'x'"),
        ({"array": np.zeros(3), "offset": (-1,), "shape": (10,)}, "chunk of 'x'"),
        ({"array": np.zeros(3), "offset": (0, 0), "shape": (10, 10)}, "chunk of 'x'"),
        ({"array": np.zeros(3), "shape": (2,)}, "chunk of 'x'"),
        ({"array": np.zeros(3), "shape": (10, 2)}, "chunk of 'x'"),
        ({"array": np.zeros((1,) * 17)}, "16 dimensions"),
    ],
)
def test_a_chunk_outside_its_dataset_is_refused(tmp_path, arguments, message):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step, pytest.raises(fl.InvalidArgument, match=message):
            step.put("x", **arguments)
        assert reader.next().names() == []


@pytest.mark.parametrize("shape", [(2**62, 2**62), (2**60, 1, 1, 8), (2**63 - 1, 1)])
def test_a_dataset_whose_bytes_no_number_counts_is_refused(tmp_path, shape):
    """On every rank, as all give the same shape; the step goes on."""
    one = np.ones((1,) * len(shape))
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            for call in (
                lambda: step.put("x", one, shape=shape),
                lambda: step.put({"x": one, "y": one}, shape=shape),
                lambda: step.span("x", "f8", one.shape, shape=shape),
            ):
                with pytest.raises(
                    fl.InvalidArgument,
                    match=rf"'x' is too large: got shape \({shape[0]}, .*of float64; "
                    r"allowed: at most 9223372036854775807 bytes\. Look for",
                ):
                    call()
        assert reader.next().names() == []


@pytest.mark.parametrize("name", ["", "/x", "x/", "a//b", "a/./b", "a\0b"])
def test_a_name_that_no_file_takes_is_refused_by_streams_too(tmp_path, name):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            for call in (
                lambda: step.put(name, np.ones(1)),
                lambda: step.put({"x": np.ones(1), name: np.ones(1)}),
                lambda: step.span(name, "f8", (1,)),
            ):
                with pytest.raises(fl.InvalidArgument, match=r"single slashes|has a NUL"):
                    call()
        assert reader.next().names() == []


def test_a_dataset_has_one_dtype_and_shape_in_a_step(tmp_path):
    with both_ends(tmp_path) as (writer, _), writer.step() as step:
        step.put("x", np.zeros(3), shape=(6,))
        with pytest.raises(fl.InvalidArgument, match="disagree about the dataset 'x': got float32"):
            step.put("x", np.zeros(3, "float32"), offset=(3,), shape=(6,))
        with pytest.raises(fl.InvalidArgument, match=r"\(7,\)"):
            step.put("x", np.zeros(3), offset=(3,), shape=(7,))


def test_what_is_used_after_its_end_says_so(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as ended:
            ended.put("x", np.zeros(3))
            with pytest.raises(fl.InvalidArgument, match="another step is open"):
                writer.step()
            with pytest.raises(fl.InvalidArgument, match="a step is open"):
                writer.close()
        with pytest.raises(fl.InvalidArgument, match=r"step has ended.*before it ends$"):
            ended.put("x", np.zeros(3))
        with pytest.raises(fl.InvalidArgument, match=r"ended already.*one end of each step$"):
            ended.__exit__(None)
        old = reader.next()
        dataset = old["x"]
        with pytest.raises(fl.InvalidArgument, match="'y'; allowed: 'x'"):
            old["y"]
        assert "y" not in old
        sent(writer, reader, y=np.zeros(1))
        with pytest.raises(fl.InvalidArgument, match="step 0 has ended"):
            dataset.read()
    with pytest.raises(fl.InvalidArgument, match="closed"):
        writer.step()
    with pytest.raises(fl.InvalidArgument, match="closed"):
        reader.next()
    writer.close()
    reader.close()
    assert writer.stats["steps_written"] == reader.stats["steps_read"] == 2


def test_equal_parts_by_rank(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        dataset = sent(writer, reader, x=np.arange(20).reshape(10, 2), scalar=np.float64(1))["x"]
        parts = [dataset[dataset.slab(rank, 4)] for rank in range(4)]
        assert [len(part) for part in parts] == [3, 3, 2, 2]
        np.testing.assert_array_equal(np.concatenate(parts), dataset.read())
        with pytest.raises(fl.InvalidArgument, match="got rank 4; allowed: 0 to 3"):
            dataset.slab(4, 4)


def test_a_step_given_up_is_not_seen_and_the_stream_goes_on_or_ends(tmp_path):
    with both_ends(tmp_path, queue_steps=2, full="discard-oldest") as (writer, reader):
        sent(writer, reader, x=np.zeros(1))
        with contextlib.suppress(KeyError), writer.step() as step:
            step.put("x", np.ones(1))
            raise KeyError
        assert writer.stats["steps_spoiled"] == 1
        assert sent(writer, reader, x=np.full(1, 2)).index == 2
        with writer.step() as step:  # completes, and makes room for one that never does
            step.put("x", np.ones(1))
        with contextlib.suppress(KeyError), writer.step() as step:
            raise KeyError
        writer.close()
        assert reader.next() is None


def test_axes_by_name(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        field = np.arange(12.0).reshape(3, 4)
        with writer.step() as step:
            step.put("named", field, attrs={"axisLabels": ["y", "x"]})
            step.put("plain", field)
        step = reader.next()
        assert step["named"].dims == ("y", "x")
        np.testing.assert_array_equal(step["named"].reduce("sum", over="x"), field.sum(1))
        np.testing.assert_array_equal(step["named"].reduce("sum", over=["y", 1]), field.sum())
        np.testing.assert_array_equal(step["plain"].reduce("sum", over="dim_0"), field.sum(0))
        with pytest.raises(fl.InvalidArgument, match=r"got 'z'; allowed: 'y', 'x'"):
            step["named"].reduce("sum", over="z")
