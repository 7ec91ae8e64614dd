# SPDX-License-Identifier: Apache-2.0
"""Datasets of a step that are put by one call, and read by one: the same as one by one."""

import gc

import numpy as np
import pytest
from harness.ends import both_ends

import fluvial as fl

DTYPES = [
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]


def fields():
    rng = np.random.default_rng(7)
    arrays = {dtype: rng.integers(0, 100, (3, 4)).astype(dtype) for dtype in DTYPES}
    base = np.arange(120.0).reshape(10, 12)
    return arrays | {
        "column": base[:, 3],
        "reversed": base[::-1, ::-2],
        "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
        "scalar": np.float32(7.5),
        "empty": np.zeros((3, 0, 2), "i2"),
        "bool": np.array([True, False]),
        "list": [1.0, 2.0],
        "tuple": (1.0, (2.0,)[0], 3),
        "masked": np.ma.masked_array([1.0, 2.0], [False, True]),
        "naïve/名": np.ones(3),
    }


def same(got, wanted):
    assert list(got) == list(wanted)
    for name, array in wanted.items():
        assert type(got[name]) is type(array), name
        assert got[name].dtype == array.dtype, name
        assert got[name].shape == array.shape, name
        assert got[name].tobytes() == array.tobytes(), name


def singly(step, names=None, selection=None):
    return {name: step[name].read(selection) for name in (step if names is None else names)}


def test_a_stream_has_what_single_puts_give(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put(fields())
        got = reader.next()
        together = got.read()
        same(together, singly(got))
        assert set(together) == set(fields())
        assert not any(array.flags.writeable for array in together.values())
        with writer.step() as step:
            for name, array in fields().items():
                step.put(name, array)
        same(reader.next().read(), together)


def test_names_in_any_order_and_a_selection_of_each(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put({f"f{n}": np.arange(12.0).reshape(3, 4) + n for n in range(20)})
            step.put({f"g{n}": np.arange(30).reshape(6, 5) + n for n in range(3)})
        step = reader.next()
        names = ["g2", "f7", "f8", "f0", "f19", "g0"]
        for selection in (None, 1, np.s_[::2, 1:3], np.s_[..., -1], np.s_[2, 2], np.s_[None, 1:2]):
            same(step.read(names, selection), singly(step, names, selection))
            same(step.read(iter(names), selection), singly(step, names, selection))
        assert step.read([]) == {}
        assert list(step.read(["f1", "f1"])) == ["f1"]


def test_steps_that_change_have_what_was_put(tmp_path):
    rng = np.random.default_rng(11)
    with both_ends(tmp_path) as (writer, reader):
        for _ in range(30):
            names = rng.permutation([f"d{n}" for n in range(12)])[: rng.integers(1, 12)].tolist()
            arrays = {name: rng.random(int(rng.integers(0, 5))) for name in names}
            alone = {f"s{n}": rng.random(2) for n in range(int(rng.integers(0, 3)))}
            with writer.step() as step:
                for name, array in alone.items():
                    step.put(name, array)
                step.put(arrays)
            got = reader.next().read()
            assert set(got) == {*arrays, *alone}
            for name, array in (arrays | alone).items():
                np.testing.assert_array_equal(got[name], array)


def test_what_was_read_stays_when_all_else_is_gone(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        for index in range(10):
            with writer.step() as step:
                step.put({"a": np.full(1000, index), "b": np.full(3, -index)})
            got = reader.next().read()
            if index == 2:
                kept = got["b"]
            del got
    gc.collect()
    assert kept.tolist() == [-2, -2, -2]
    assert kept[1:].base is not None


def test_chunks_of_several_puts_are_gathered(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            for half in range(2):
                rows = {"x": np.full((2, 3), half), "y": np.full((2, 3), -half)}
                step.put(rows, offset=(2 * half, 0), shape=(4, 3))
        step = reader.next()
        same(step.read(), singly(step))
        assert step.read()["y"][:, 0].tolist() == [0, 0, -1, -1]
        assert step.read(selection=3)["x"].tolist() == [1, 1, 1]


def test_labelled_and_packed_datasets_are_read_as_one_by_one(tmp_path):
    xr = pytest.importorskip("xarray")
    data = xr.Dataset(
        {
            "t": (("y", "x"), np.arange(6.0).reshape(2, 3), {"units": "K"}),
            "n": (("y",), np.arange(2)),
        }
    )
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put(data, attrs={"source": "model"})
            step.put({"plain": np.arange(3)})
            step.put("packed", np.arange(3, dtype="i2"), attrs={"scale_factor": 0.5})
        step = reader.next()
        got = step.read()
        assert got["t"].dims == ("y", "x")
        assert got["n"].dims == ("y",)
        assert dict(step["t"].attrs) == {"units": "K", "axisLabels": ["y", "x"], "source": "model"}
        assert type(got["plain"]) is np.ndarray
        for name in got:
            assert type(got[name]) is type(step[name].read())
            np.testing.assert_array_equal(got[name], step[name].read())
        assert np.asarray(got["packed"]).tolist() == [0.0, 0.5, 1.0]
        with writer.step(attrs={"axisLabels": ["x"]}) as step:
            step.put({"a": np.zeros(3)})
        step = reader.next()
        assert step.read()["a"].identical(step["a"].read())


def test_attributes_of_all_are_kept_for_later_steps(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put({"a": np.zeros(1), "b": np.zeros(1)}, attrs={"unitSI": 2.0})
        with writer.step() as step:
            step.put({"a": np.zeros(1), "b": np.zeros(1)})
        reader.next()
        step = reader.next()
        assert [step[name].attrs["unitSI"] for name in "ab"] == [2.0, 2.0]


WRONG = {
    "a dtype": ({"good": np.zeros(3), "bad": np.zeros(3, "M8[s]")}, {}, "datetime64|M8"),
    "text": ({"good": np.zeros(3), "bad": "text"}, {}, "array of 'bad'"),
    "a name": ({"good": np.zeros(3), 7: np.zeros(3)}, {}, "name of the dataset.*got 7"),
    "no name": ({"good": np.zeros(3), "": np.zeros(3)}, {}, "name of a dataset|''"),
    "a surrogate": ({"good": np.zeros(3), "\ud800": np.zeros(3)}, {}, "name of the dataset"),
    "outside": ({"good": np.zeros(3), "bad": np.zeros(4)}, {"shape": 3}, "bad"),
    "another dimension": ({"good": np.zeros(3), "bad": np.zeros((1, 3))}, {"shape": 3}, "bad"),
    "an offset": ({"good": np.zeros(3)}, {"offset": "x"}, "offset"),
    "attributes": ({"good": np.zeros(3)}, {"attrs": {"a": {}}}, "attribute 'a'"),
    "two arrays": ({"good": np.zeros(3)}, {"array": np.zeros(3)}, "nothing beside a mapping"),
}


@pytest.mark.parametrize("case", [case for case in WRONG if case != "no name"])
@pytest.mark.parametrize("suffix", ["h5", "nc"])
def test_of_a_mapping_with_something_wrong_nothing_is_in_a_file(tmp_path, suffix, case):
    arrays, options, said = WRONG[case]
    with fl.open(tmp_path / f"run%T.{suffix}", "w") as series, series.step() as step:
        with pytest.raises(fl.InvalidArgument, match=said):
            step.put(arrays, **options)
        step.put("good", np.ones(5))  # which has another shape than the one that was not put
    with fl.open(tmp_path / f"run%T.{suffix}") as series:
        assert list(next(iter(series)).read()) == ["good"]


@pytest.mark.parametrize("case", WRONG)
def test_of_a_mapping_with_something_wrong_nothing_is_in_a_stream(tmp_path, case):
    arrays, options, said = WRONG[case]
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            with pytest.raises(fl.InvalidArgument, match=said):
                step.put(arrays, **options)
            step.put("good", np.ones(5, "i2"))
        got = reader.next().read()
        assert {name: array.tolist() for name, array in got.items()} == {"good": [1] * 5}


def test_a_mapping_that_never_fits_is_an_error_that_says_how_much(tmp_path):
    with both_ends(tmp_path, queue_bytes=1 << 20) as (writer, reader):
        with writer.step() as step:
            with pytest.raises(fl.InvalidArgument, match=r"'a' and 2 more: got 1200000 bytes"):
                step.put({name: np.zeros(50_000) for name in "abc"})
            step.put({"a": np.ones(3)})
        assert list(reader.next().read()) == ["a"]


def test_a_step_that_was_discarded_takes_a_mapping_for_nothing(tmp_path):
    with both_ends(tmp_path, queue_steps=1, full="discard-newest") as (writer, reader):
        for index in range(2):
            with writer.step() as step:
                step.put({"a": np.full(3, index), "b": np.zeros(2)})
                assert step.accepted == (index == 0)
        assert reader.next().read()["a"].tolist() == [0, 0, 0]


def test_steps_on_the_disk_have_all_of_a_mapping(tmp_path):
    options = {"queue_steps": 1, "full": "spill", "spill": tmp_path}
    with both_ends(tmp_path, **options) as (writer, reader):
        for index in range(3):
            with writer.step() as step:
                step.put({f"d{n}": np.full(n, index) for n in range(50)})
        assert writer.stats["steps_spilled"] == 2
        for index in range(3):
            got = reader.next().read()
            assert all(got[f"d{n}"].tolist() == [index] * n for n in range(50))


@pytest.mark.parametrize("suffix", ["h5", "nc", "nc4", "bp"])
def test_files_have_what_single_puts_give(tmp_path, suffix):
    folder = "" if suffix.startswith("nc") else "meshes/"
    arrays = {f"{folder}f{n}": np.arange(6.0).reshape(2, 3) + n for n in range(5)}
    together, alone = tmp_path / f"t%T.{suffix}", tmp_path / f"s%T.{suffix}"
    with fl.open(together, "w") as a, fl.open(alone, "w") as b:
        for _ in range(2):
            with a.step() as one, b.step() as two:
                one.put(arrays, attrs={"unitSI": 2.0})
                for name, array in arrays.items():
                    two.put(name, array, attrs={"unitSI": 2.0})
    with fl.open(together) as a, fl.open(alone) as b:
        for one, two in zip(a, b, strict=True):
            got, wanted = one.read(), {name: two[name].read() for name in two}
            assert list(got) == list(wanted)
            for name in wanted:
                assert got[name].identical(wanted[name])
            first = [next(iter(two))]
            part = one.read(first, np.s_[1:, 0])
            assert list(part) == first
            assert part[first[0]].identical(two[first[0]].read(np.s_[1:, 0]))


def test_reading_what_is_not_there_names_it(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put({"ab": np.zeros(2), "hole": np.zeros(2)})
            step.put("gap", np.zeros(2), offset=0, shape=5)
        step = reader.next()
        with pytest.raises(fl.UnknownName, match=r"'ac'.*allowed: 'ab', 'gap', 'hole'"):
            step.read(["ab", "ac"])
        with pytest.raises(fl.WrongType, match="got 3"):
            step.read(["ab", 3])
        with pytest.raises(fl.WrongType, match=r"names.*got 'ab'.*step\[name\]"):
            step.read("ab")
        with pytest.raises(fl.OutOfBounds):
            step.read(["ab"], 7)
        with pytest.raises(fl.Error, match="gap"):
            step.read()
        with writer.step() as following:
            following.put({"x": np.zeros(1)})
        reader.next()
        with pytest.raises(fl.InvalidArgument, match="has ended"):
            step.read(["ab"])
    path = tmp_path / "one%T.h5"
    with fl.open(path, "w") as series, series.step() as step:
        step.put({"ab": np.zeros(2)})
    with fl.open(path) as series:
        step = next(iter(series))
        with pytest.raises(fl.UnknownName, match="ac"):
            step.read(["ab", "ac"])
        with pytest.raises(fl.WrongType, match="names"):
            step.read("ab")


def test_labels_that_differ_leave_nothing_of_a_mapping_in_a_file(tmp_path):
    xr = pytest.importorskip("xarray")
    right = xr.DataArray(np.zeros(3), dims="x", coords={"x": [0.0, 1.0, 2.0]})
    wrong = right.assign_coords(x=[0.0, 1.0, 3.0])
    with fl.open(tmp_path / "run%T.nc", "w") as series, series.step() as step:
        with pytest.raises(fl.InvalidArgument, match="coordinate 'x'"):
            step.put({"a": right, "b": wrong})
        step.put({"b": wrong})
    with fl.open(tmp_path / "run%T.nc") as series:
        got = next(iter(series)).read(["b"])
        assert got["b"].x.values.tolist() == [0.0, 1.0, 3.0]
