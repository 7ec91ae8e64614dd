# SPDX-License-Identifier: Apache-2.0
"""What users of NumPy, xarray and Python expect of arrays, mappings and errors."""

import re

import numpy as np
import pytest
import xarray as xr
from harness.ends import both_ends

import fluvial as fl


@pytest.fixture
def live(tmp_path):
    """A step with a dataset in one chunk, and one in two."""
    with both_ends(tmp_path) as (writer, reader):
        writer.attrs["software"] = "this test"
        with writer.step(time=0.5) as step:
            step.put("temperature", np.arange(12.0).reshape(4, 3), attrs={"units": "K"})
            step.put("halves", np.arange(3), offset=(0,), shape=(6,))
            step.put("halves", np.arange(3, 6), offset=(3,), shape=(6,))
            step.put("number", 7.5)
        yield reader.next()


@pytest.fixture
def file(tmp_path):
    days = np.array(["2000-01-01", "2000-01-02", "2000-02-01", "2000-02-02"], "datetime64[ns]")
    coords = {"time": days, "lat": [0.0, 10.0, 20.0]}
    values = np.arange(12.0).reshape(4, 3)
    path = tmp_path / "t.nc"
    xr.Dataset({"temperature": (tuple(coords), values, {"units": "K"})}, coords).to_netcdf(path)
    with fl.open(path) as opened:
        yield opened


def message_of(call) -> str:
    with pytest.raises(fl.Error) as caught:
        call()
    return str(caught.value)


def stream_by_key(key) -> None:
    with fl.Channel(None, producer=True, consumer=True) as channel:
        channel.stream(dtype=[("id", "i8"), ("x", "f8")], key=key)


def test_errors_are_pythons_too(tmp_path, live, file):
    with pytest.raises(KeyError, match="has no such dataset: got 'pressure'"):
        live["pressure"]
    with pytest.raises(KeyError, match="no such dataset"):
        file["pressure"]
    with pytest.raises(KeyError, match="no operator of this name"):
        fl.reduce("mode", [1.0])
    with pytest.raises(IndexError, match="index out of range along axis 0: got 4"):
        live["temperature"][4]
    with pytest.raises(IndexError, match="index out of range along 'lat': got 3; allowed: -3 to 2"):
        file["temperature"].isel(lat=3)
    with pytest.raises(IndexError, match="no such rank of the writer: got -3; allowed: 0 "):
        live.host_of(-3)
    with pytest.raises(TypeError, match="rank has a type that cannot be used: got 'a'"):
        live.series.host_of("a")
    with pytest.raises(KeyError, match="no such label along 'lat': got 7"):
        file["temperature"].sel(lat=7)
    with pytest.raises(KeyError, match="cannot group by 'nothing': got no 1-D coordinate"):
        file["temperature"].groupby("nothing")
    with pytest.raises(KeyError, match=r"cannot group by 'time\.mnth': got component 'mnth'"):
        file["temperature"].groupby("time.mnth")
    with pytest.raises(IndexError, match="axis"):
        fl.reduce("mean", np.zeros((2, 2)), over=2)
    with pytest.raises(TypeError, match=r"offset.*got \(2\.0,\); allowed: an int|got 2\.0"):
        fl.open("s2", "w", readers=0, directory=tmp_path).step().put(
            "x", np.zeros(4), offset=(4 / 2,), shape=(8,)
        )
    with pytest.raises(FileNotFoundError, match="No such file") as caught:
        fl.open(tmp_path / "missing.nc")
    assert caught.value.errno == 2
    with pytest.raises(FileNotFoundError, match="no such files"):
        fl.open(str(tmp_path / "*.h5"))
    for suffix in ("h5", "nc"):
        with pytest.raises(
            FileNotFoundError, match="cannot be written: got No such file"
        ) as caught:
            fl.open(tmp_path / "nowhere" / f"x.{suffix}", "w")
        assert caught.value.errno == 2
    with pytest.raises(TypeError, match=r"producer has a type .* got 'no'; allowed: True or False"):
        fl.Channel(None, producer="no", consumer=True)
    with pytest.raises(TypeError, match="consumer has a type that cannot be used: got an array"):
        fl.Channel(None, producer=True, consumer=np.array([1, 2]))
    with pytest.raises(TypeError, match=r"not an operator: .*Call the class first"):
        fl.ops.wrap(fl.ops.Mean, {"value": np.array(1.0)})
    with pytest.raises(TypeError, match="known has a type that cannot be used: got 'a'"):
        fl.route.Tuner(fl.route.plan("torus:4x4", [(0, 5)]), known="a")
    with pytest.raises(TimeoutError):
        fl.open("nobody", directory=tmp_path, rendezvous_timeout=0.01)
    with pytest.raises(ValueError, match="allowed"):
        fl.ops.Histogram([2.0, 1.0])


def test_the_message_of_a_key_error_has_no_quotes_around_it(live):
    message = message_of(lambda: live["pressure"])
    assert message.startswith("step 0 has no such dataset: got 'pressure'; allowed: ")


@pytest.mark.parametrize(
    ("call", "meant"),
    [
        (lambda live, file: live["temprature"], "temperature"),
        (lambda live, file: file["temprature"], "temperature"),
        (lambda live, file: live["temperature"].attrs["unit"], "units"),
        (lambda live, file: file["temperature"].attrs["unit"], "units"),
        (lambda live, file: live.series.attrs["sofware"], "software"),
        (lambda live, file: fl.reduce("maen", [1.0]), "mean"),
        (lambda live, file: file["temperature"].reduce("mean", over="tiem"), "time"),
        (lambda live, file: file["temperature"].isel(lon=0, lta=1), None),
        (lambda live, file: file["temperature"].isel(Lat=0), "lat"),
        (lambda live, file: file["temperature"].reduce("mean", thread=1), "threads"),
        (lambda live, file: fl.open("s", "w", que_steps=2), "queue_steps"),
        (lambda live, file: fl.open("s", "w", full="blok"), "block"),
        (lambda live, file: fl.open("x", raw={"dtype": "f8", "shpe": 3}), "shape"),
        (lambda live, file: file["temperature"].groupby("tiem.month"), "time"),
        (lambda live, file: file["temperature"].groupby("time.mnth"), "month"),
        (lambda live, file: file["temperature"].sel(lat=7, method="neerest"), "nearest"),
        (lambda live, file: file["temperature"].weighted("cos(lta)"), "lat"),
        (lambda live, file: fl.reduce("quantil(0.5)", [1.0]), "quantile"),
        (lambda live, file: fl.open("x.zarr", "w", compression="zst"), "zstd"),
        (lambda live, file: fl.open("x.h5", "w", compression="gzp:9"), "gzip"),
        (lambda live, file: stream_by_key("idd"), "id"),
    ],
)
def test_the_name_that_was_meant_is_proposed(live, file, call, meant):
    message = message_of(lambda: call(live, file))
    assert "Did you mean" not in message if meant is None else f"Did you mean '{meant}'?" in message


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: fl.reduce(np.arange(1000.0), "mean"), "The operator comes first"),
        (lambda: fl.reduce(list(range(1000)), fl.ops.Mean()), "The operator comes first"),
        (lambda: fl.reduce("mean", ["a", "b"]), r"got \['a', 'b'\]; allowed: an array of numbers"),
        (lambda: fl.reduce("mean", {"a": 1}), "an array of numbers"),
        (lambda: fl.ops.Histogram(np.arange(1000.0)[::-1].tolist()), "got 1000 edges"),
        (lambda: fl.reduce(range(1000), np.zeros(3)), "not an operator"),
        (lambda: fl.open("s" * 1000, "w"), "name of the stream"),
        (
            lambda: fl.route.plan("q" * 1000, [(0, 1)]),
            "topology cannot be read: got 'qqq.*name",
        ),
        (lambda: fl.reduce("quantil(" + "0" * 1000 + ")", [1.0]), "cannot read the operator"),
    ],
)
def test_values_in_messages_are_short(call, words):
    message = message_of(call)
    assert len(message) < 400, message
    assert re.search(words, message), message


def test_a_path_that_the_system_refuses_is_whole(tmp_path):
    path = str(tmp_path / "/".join(["some_folder"] * 20) / "x.nc")
    for mode in ("r", "w"):
        message = message_of(lambda mode=mode: fl.open(path, mode))
        assert f"'{path}'" in message
        assert "\n" not in message


def test_one_int_is_an_offset_and_a_shape_of_one_dimension(tmp_path):
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put("x", np.arange(3), offset=0, shape=6)
            step.put("x", np.arange(3, 6), offset=np.int64(3), shape=6)
            step.span("y", "f4", 2)[:] = 1
            with pytest.raises(fl.InvalidArgument, match="dimensions"):
                step.put("z", np.zeros((2, 2)), offset=0)
        read = reader.next()
        assert read["x"].read().tolist() == list(range(6))
        assert read["y"].read().tolist() == [1, 1]


def test_times_and_swapped_arguments_are_refused_with_a_remedy(tmp_path):
    times = np.array(["2000-01-01"], "datetime64[ns]")
    with both_ends(tmp_path) as (writer, _), writer.step() as step:
        with pytest.raises(TypeError, match=r"astype\('int64'\).*units"):
            step.put("t", times)
        with pytest.raises(TypeError, match="name comes first"):
            step.put(np.zeros(3), "x")
        with pytest.raises(TypeError, match="Text goes into attrs"):
            step.put("names", ["argon", "neon"])
        step.put("t", times.astype("int64"), attrs={"units": "ns since 1970-01-01"})


def test_masked_elements_are_nan_or_refused(tmp_path):
    floats = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put("floats", floats)
            step.put("complex", floats.astype("c16"))
            step.put("nothing masked", np.ma.masked_array([1, 2]))
            with pytest.raises(TypeError, match=r"got 1 of 3; .*astype"):
                step.put("ints", floats.astype("i8"))
        read = reader.next()
        np.testing.assert_array_equal(read["floats"].read(), [1.0, np.nan, 3.0])
        assert np.isnan(read["complex"].read()).tolist() == [False, True, False]
        assert read["nothing masked"].read().tolist() == [1, 2]
        assert "ints" not in read
    assert float(fl.reduce("mean", floats)) == 2.0
    assert int(fl.reduce("count", floats, mask=[False, True, True])) == 1


def test_a_labelled_array_brings_attributes_and_dimensions(tmp_path, file):
    array = xr.DataArray(
        np.zeros((2, 3)), dims=("lat", "lon"), attrs={"units": "K", "long_name": "t"}
    )
    with both_ends(tmp_path) as (writer, reader):
        with writer.step() as step:
            step.put("a", array, attrs={"units": "degC"})
            step.put("b", xr.DataArray(np.zeros(3)))
            step.put("c", file["temperature"])
        read = reader.next()
        assert read["a"].attrs == {
            "units": "degC",
            "long_name": "t",
            "axisLabels": ["lat", "lon"],
        }
        assert read["a"].dims == ("lat", "lon")
        assert read["b"].attrs == {}
        assert read["c"].dims == ("time", "lat")
        assert read["c"].attrs["units"] == "K"
        with writer.step() as step:
            step.put("d", read["c"])
        again = reader.next()["d"]
        assert again.dims == ("time", "lat")
        assert again.attrs["units"] == "K"


def test_datasets_iterate_over_their_first_axis(live, file):
    expected = np.arange(12.0).reshape(4, 3)
    for dataset in (live["temperature"], file["temperature"]):
        rows = list(dataset)
        assert len(rows) == len(dataset) == 4
        np.testing.assert_array_equal(np.array(rows), expected)
    assert [int(n) for n in live["halves"]] == list(range(6))
    with pytest.raises(TypeError, match="no length"):
        iter(live["number"])


def test_get_has_a_default(live, file):
    assert live.get("temprature") is None
    assert live.get("temprature", 3) == 3
    assert file.get("temprature") is None
    assert live.get("temperature").shape == (4, 3)


def test_none_is_a_new_axis_or_refused(live, file):
    whole = np.arange(12.0).reshape(4, 3)
    dataset = live["temperature"]
    for selection in (None, (None, 1), (slice(2), None, 0), (..., None), (None, ..., 0, None)):
        np.testing.assert_array_equal(dataset[selection], whole[selection])
        assert dataset[selection].shape == whole[selection].shape
    assert dataset.read(None).shape == (4, 3)
    assert file["temperature"][None].shape == (1, 4, 3)
    for one in (dataset, file["temperature"]):
        with pytest.raises(fl.InvalidArgument, match="new axis"):
            one.reduce("mean", selection=(None, 0))


def test_a_step_without_names_of_axes_is_selected_backwards(live):
    whole = np.arange(12.0).reshape(4, 3)
    dataset = live["temperature"]
    for selection in (np.s_[::-1], np.s_[..., ::-1], np.s_[None, 3:0:-2, 1], np.s_[::-1, ::-1]):
        np.testing.assert_array_equal(dataset[selection], whole[selection])
        np.testing.assert_array_equal(
            live.read(["temperature"], selection)["temperature"], whole[selection]
        )
    np.testing.assert_array_equal(dataset.stored(np.s_[::-1]), whole[::-1])
    with pytest.raises(fl.InvalidArgument, match="too many entries"):
        dataset[::-1, 0, 0]


def test_packed_values_are_decoded_whatever_is_selected(tmp_path):
    packed = np.array([[1, 2, -9], [4, 5, 6]], "i2")
    expected = np.array([[0.5, 1, np.nan], [2, 2.5, 3]])
    with fl.open("packed", "w", directory=tmp_path, readers=0) as writer:
        with writer.step() as step:
            step.put("x", packed, attrs={"scale_factor": 0.5, "_FillValue": -9})
        with fl.open("packed", directory=tmp_path) as series:
            dataset = series.next()["x"]
            for selection in (None, (1, None), (..., None, slice(None, None, -2))):
                np.testing.assert_array_equal(dataset[selection], expected[selection])
            assert (dataset.dtype, dataset.stored_dtype) == ("float64", "int16")
            np.testing.assert_array_equal(dataset.stored(), packed)


def test_no_copy_where_none_is_allowed(live, file):
    whole = np.arange(12.0).reshape(4, 3)
    view = np.array(live["temperature"], copy=False)
    assert not view.flags.writeable  # the writer's memory
    np.testing.assert_array_equal(view, whole)
    copied = np.array(live["temperature"], copy=True)
    assert copied.flags.writeable
    np.testing.assert_array_equal(copied, whole)
    assert np.asarray(live["temperature"], "f4").dtype == np.float32
    for needs_one in (
        lambda: np.array(live["temperature"], "f4", copy=False),
        lambda: np.array(live["halves"], copy=False),
        lambda: np.array(file["temperature"], copy=False),
    ):
        with pytest.raises(ValueError, match="a copy is needed"):
            needs_one()


def test_a_data_array_is_reduced_by_the_names_of_its_dimensions():
    array = xr.DataArray(
        np.arange(6.0).reshape(2, 3),
        dims=("time", "lat"),
        coords={"lat": [0.0, 10.0, 20.0]},
        attrs={"units": "K"},
        name="t",
    )
    mean = fl.reduce("mean", array, over="time")
    xr.testing.assert_allclose(mean, array.mean("time"))
    assert mean.attrs["units"] == "K"
    assert mean.name == "t"
    both = fl.reduce(["min", "max"], array, over=["lat"])
    xr.testing.assert_allclose(both["max"], array.max("lat").rename("max"))
    named = fl.reduce({"low": "min"}, array)
    assert float(named["low"]) == 0.0
    highest = fl.reduce("argmax", array, over="lat")
    assert highest.coords["lat"].values.tolist() == [20.0, 20.0]
    with pytest.raises(KeyError, match=r"no such dimension: got 'lta'.*Did you mean 'lat'"):
        fl.reduce("mean", array, over="lta")
    assert isinstance(fl.reduce("mean", array.values, over=0), np.ndarray)


def test_partials_of_other_kinds_do_not_merge():
    data = np.arange(6.0)

    def of(op, length=6):
        partial = op.identity((length,))
        op.absorb(partial, [data[:length]])
        return partial

    wide, narrow = fl.ops.Histogram(np.arange(100.0)), fl.ops.Histogram([0.0, 1.0])
    for a, b in [
        (of(narrow), of(wide)),
        (of(fl.ops.Mean()), of(fl.ops.Quantile(0.5))),
        (of(fl.ops.Mean()), of(fl.ops.Mean(), 5)),
        (of(fl.ops.Mean()), of(fl.ops.Mean(skipna=False))),
    ]:
        with pytest.raises(fl.InvalidArgument, match="do not fit together"):
            a.merge(b)
    total = of(fl.ops.Mean())
    total.merge(of(fl.ops.Mean()))
    assert float(fl.ops.Mean().finish(total)) == 2.5


def test_ranks_with_selections_of_their_own(tmp_path):
    path = str(tmp_path / "t.nc")
    values = np.arange(6, dtype="i4").reshape(2, 3)
    xr.Dataset({"i": (("y", "x"), values)}, {"y": [5, 6]}).to_netcdf(path, engine="netcdf4")
    i = fl.open(path)["i"]
    for shuffle, dtype in (("common", "int64"), ("to-one", "float64"), ("to-all", "float64")):
        sums = i.groupby("y").reduce("sum", over="y", shuffle=shuffle)
        assert sums.values.tolist() == values.tolist()
        assert sums.dtype == dtype  # whether a group is empty differs among ranks
    some = i.where("i > 1")
    assert np.isnan(some.reduce("sum", skipna=False, shuffle="to-one"))
    assert np.isnan(some.reduce("sum", skipna=False, shuffle="to-all"))
