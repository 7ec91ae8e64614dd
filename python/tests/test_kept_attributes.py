# SPDX-License-Identifier: Apache-2.0
"""Attributes of datasets that later steps keep: the same in streams and in files."""

import contextlib
import threading

import netCDF4
import numpy as np
import pytest
import xarray as xr

import fluvial as fl

PACKED = {"scale_factor": 0.5, "units": "K"}
GRID = {"axisLabels": ["y", "x"], "gridSpacing": [1.0, 0.5], "gridGlobalOffset": [10.0, 2.0]}


@pytest.fixture
def stream(tmp_path):
    """Open a stream without waiting: what was written, and its reader."""

    def begin(**options):
        writer = fl.open("kept", "w", directory=tmp_path, readers=0, **options)
        return writer, fl.open("kept", directory=tmp_path, step_timeout=20)

    return begin


def stepwise(writer, *said):
    for attrs in said:
        with writer.step() as step:
            step.put("T", np.array([1, 2], "i2"), attrs=attrs)


def test_given_anew_they_take_the_place_of_all_in_streams_and_files(stream, tmp_path):
    said = (PACKED, None, {"note": "b"}, None, {}, PACKED)
    expected = [PACKED, PACKED, {"note": "b"}, {"note": "b"}, {}, PACKED]
    writer, reader = stream(queue_steps=8)
    with writer, reader:
        stepwise(writer, *said)
        for attrs in expected:
            step = reader.next()
            assert dict(step["T"].attrs) == attrs
            np.testing.assert_array_equal(
                step["T"].read(), np.array([1, 2]) * attrs.get("scale_factor", 1)
            )
    path = str(tmp_path / "kept%T.h5")
    with fl.open(path, "w") as writer:
        stepwise(writer, *said)
    with fl.open(path) as series:
        assert [dict(step["T"].attrs) for step in series] == expected


def test_several_puts_of_a_step_say_them_together(stream):
    writer, reader = stream()
    with writer, reader:
        for attrs in ({"units": "K"}, {"note": "b"}):
            with writer.step() as step:
                step.put("T", np.zeros(2), shape=4, attrs=attrs)
                step.put({"T": np.ones(2)}, offset=2, shape=4, attrs={"more": 1})
            assert dict(reader.next()["T"].attrs) == {**attrs, "more": 1}


def test_a_discarded_step_says_them_all_the_same(stream):
    writer, reader = stream(queue_steps=2, full="discard-newest")
    with writer, reader:
        for index in range(4):
            with writer.step() as step:
                assert step.accepted == (index != 2)
                step.put("x", np.zeros(2))
                if index >= 2:
                    step.put("T", np.array([1, 2], "i2"), attrs=PACKED if index == 2 else None)
            if index == 2:
                assert [reader.next().index for _ in range(2)] == [0, 1]
        step = reader.next()
        assert (step.index, dict(step["T"].attrs)) == (3, PACKED)
        np.testing.assert_array_equal(step["T"].read(), [0.5, 1])


def test_another_dtype_takes_none_away(stream):
    writer, reader = stream(queue_steps=4)
    with writer, reader:
        for dtype, attrs in (("i2", PACKED), ("i4", None), ("f8", None), ("i2", None)):
            with writer.step() as step:
                step.put("T", np.array([1, 2], dtype), attrs=attrs)
            found = reader.next()["T"]
            assert (found.stored_dtype, dict(found.attrs)) == (np.dtype(dtype), PACKED)


def test_a_pipe_through_a_stream_says_what_each_step_says(tmp_path):
    steps = [
        (np.full(3, 5.0), {"value": 5.0, "shape": [3]}, "i2", {**PACKED, "_FillValue": 3}),
        (np.array([1.0, 2, 3]), {}, "i4", {"note": "b"}),
        (np.array([3.0, 2, 1]), {}, "i4", {}),
        (np.array([3.0, 2, 1]), {}, "i2", PACKED),
    ]
    for index, (mass, of_mass, dtype, attrs) in enumerate(steps):
        with fl.open(tmp_path / f"in_{index}.h5", "w") as file, file.step(iteration=index) as step:
            step.put("particles/e/mass", mass, attrs=of_mass)
            step.put("T", np.array([1, 2, 3], dtype), attrs=attrs)
    options = {"directory": tmp_path, "rendezvous_timeout": 20}
    out = threading.Thread(
        target=lambda: fl.pipe("mid", tmp_path / "out_%T.h5", reading=options), daemon=True
    )
    out.start()
    fl.pipe(tmp_path / "in_%T.h5", "mid", writing=options)
    out.join(30)
    with fl.open(tmp_path / "in_%T.h5") as before, fl.open(tmp_path / "out_%T.h5") as after:
        assert len(after) == len(steps)
        for one, other in zip(before, after, strict=True):
            for name in ("particles/e/mass", "T"):
                xr.testing.assert_identical(other[name].read(), one[name].read())
                assert other[name].attrs == one[name].attrs


def test_one_dtype_for_all_leaves_coordinates_as_they_are(tmp_path):
    with fl.open(tmp_path / "a.nc", "w") as series:
        for index in range(3):
            with series.step(time=1e8 + index) as step:
                lat = xr.DataArray([0.1, 0.2], dims="lat", coords={"lat": [0.1, 0.2]})
                step.put("T", lat + index)
    fl.pipe(tmp_path / "a.nc", tmp_path / "b.nc", dtype="f4")
    fl.pipe(tmp_path / "a.nc", tmp_path / "c.nc", dtype={"*": "f4", "time": "f8"})
    with fl.open(tmp_path / "b.nc") as series:
        assert [step.time for step in series] == [1e8, 1e8 + 1, 1e8 + 2]
        assert series["T"].dtype == np.float32
        np.testing.assert_array_equal(series["T"].coords["lat"], [0.1, 0.2])
    with fl.open(tmp_path / "c.nc") as series:
        assert series["T"].dtype == np.float32


def test_one_dtype_for_all_takes_components_that_are_called_like_axes(tmp_path):
    with fl.open(tmp_path / "a.h5", "w") as file, file.step() as step:
        for name in ("meshes/E/x", "meshes/E/y"):
            step.put(name, np.arange(3.0), attrs={"axisLabels": ["x"]})
    fl.pipe(tmp_path / "a.h5", tmp_path / "b.h5", dtype="f4")
    with fl.open(tmp_path / "b.h5") as file:
        for step in file:
            assert {str(step[name].dtype) for name in step} == {"float32"}


def selections(t):
    return {
        "part": t.isel(x=slice(1, 3)),
        "every other": t.isel(x=slice(None, None, 2)),
        "backwards": t.isel(y=slice(None, None, -1)),
        "one row": t.isel(y=slice(1, 2)),
        "whole": t,
    }


@pytest.mark.parametrize("position", [None, [0.5, 0.25]])
def test_a_mesh_that_was_selected_has_its_own_grid(stream, position):
    writer, reader = stream()
    attrs = GRID | ({} if position is None else {"position": position})
    with writer, reader:
        with writer.step() as step:
            step.put("meshes/T", np.arange(12.0).reshape(3, 4), attrs=attrs)
        t = reader.next()["meshes/T"]
        read = {f"read {name}": found.read() for name, found in selections(t).items()}
        more = {"transposed": t.read().T, "row": t.read()[0], "mean": t.mean("y")}
        given = selections(t) | {"lazy row": t[0]} | read | more
        expected = [one.read() if hasattr(one, "read") else one for one in given.values()]
        with writer.step() as step:
            for index, one in enumerate(given.values()):
                step.put(f"meshes/T{index}", one)
        step = reader.next()
        for index, (name, one) in enumerate(zip(given, expected, strict=True)):
            found = step[f"meshes/T{index}"].read()
            np.testing.assert_array_equal(found, one, err_msg=name)
            assert found.dims == one.dims, name
            for dim in one.dims:
                np.testing.assert_allclose(
                    found.coords[dim], one.coords[dim], rtol=1e-12, err_msg=name
                )


def test_what_was_not_decoded_keeps_what_decodes_it(stream, tmp_path):
    path = str(tmp_path / "packed.nc")
    with netCDF4.Dataset(path, "w") as file:
        file.createDimension("x", 3)
        packed = file.createVariable("T", "i2", ("x",), fill_value=np.int16(-1))
        packed.set_auto_maskandscale(False)
        packed.scale_factor = 0.5
        packed[:] = [3, -1, 6]
    writer, reader = stream()
    with writer, reader, fl.open(path) as decoded, fl.open(path, decode=False) as stored:
        for given in (
            xr.open_dataset(path, mask_and_scale=False)["T"],
            xr.open_dataset(path)["T"],
            stored["T"],
            stored["T"].read(),
            decoded["T"],
            decoded["T"].read(),
        ):
            with writer.step() as step:
                step.put("T", given)
            np.testing.assert_array_equal(reader.next()["T"].read(), [1.5, np.nan, 3])


@pytest.mark.parametrize("name", ["stream", "kept%T.h5", "kept.h5", "kept.nc", "kept.zarr"])
def test_those_of_a_step_that_fails_do_not_hold_for_the_next(stream, tmp_path, name):
    if name == "stream":
        writer, reader = stream(queue_steps=8)
    else:
        writer, reader = fl.open(str(tmp_path / name), "w"), None
    with writer:
        for attrs, fails in (({"bad": 1}, True), ({"good": 1}, False), ({"bad": 2}, True)):
            with contextlib.suppress(ZeroDivisionError), writer.step() as step:
                step.put("T", np.zeros(2), attrs=attrs)
                if fails:
                    1 / 0  # noqa: B018
        with writer.step() as step:
            step.put("T", np.zeros(2))
    with reader or fl.open(str(tmp_path / name)) as series:
        said = [dict(step["T"].attrs) for step in series]
    assert [("good" in attrs, "bad" in attrs) for attrs in said] == [(True, False)] * 2
