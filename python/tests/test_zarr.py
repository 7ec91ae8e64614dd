# SPDX-License-Identifier: Apache-2.0
"""Series in folders of Zarr, versions 2 and 3, as xarray and its own library have them."""

import importlib.util
import json
import os
import pathlib
import pickle
import signal
import subprocess
import sys

import numcodecs
import numpy as np
import pytest
import xarray as xr
import zarr
from reading_files.climate import climate, same

import fluvial as fl

LAT, LON = np.linspace(60, -60, 4), np.arange(6) * 60.0
DTYPES = [*(f"{s}{n}" for s in "iu" for n in (1, 2, 4, 8)), "f2", "f4", "f8", "c8", "c16"]


def field(index=0):
    array = xr.DataArray(
        np.arange(24.0).reshape(4, 6) + 100 * index, {"lat": LAT, "lon": LON}, ("lat", "lon")
    )
    return array.assign_attrs(units="K", levels=[1, 2])


def write(name, steps=3, **options):
    with fl.open(str(name), "w", **options) as series:
        series.attrs.update(title="waves", version=3)
        for index in range(steps):
            said = {
                "groups": {"meshes/E": {"geometry": "cartesian"}},
                "attrs": {"cycle": 7 + index},
            }
            with series.step(time=index / 4, dt=0.25, **said) as step:
                step.put("t", field(index))
                step.put(
                    "meshes/E/x", np.full((6, 2), index, "f4"), attrs={"axisLabels": ["lon", "k"]}
                )
                step.put("count", np.int16(index))


@pytest.fixture(params=[2, 3])
def version(request):
    return request.param


@pytest.mark.parametrize("name", ["run.zarr", "data%T.zarr", "data_%06T.zarr"])
def test_what_was_written_is_read_again(tmp_path, name, version):
    write(tmp_path / name, zarr_format=version)
    with fl.open(str(tmp_path / name)) as series:
        assert series.format == f"Zarr (version {version})"
        assert series.attrs == {"software": "Fluvial", "title": "waves", "version": 3}
        assert len(series) == 3
        for index, step in enumerate(series):
            assert (step.index, step.time, step.dt) == (index, index / 4, 0.25)
            assert step.attrs == {"time": index / 4, "dt": 0.25, "cycle": 7 + index}
            xr.testing.assert_equal(step["t"].read().drop_vars("time"), field(index))
            assert step["t"].attrs == {"units": "K", "levels": [1, 2]}
            assert step.meshes["E"].x.dims == ("lon", "k")
            assert step.meshes["E"].x.sum() == 12 * index
            assert step["count"].read() == index
    assert not [entry for entry in os.listdir(tmp_path) if entry.endswith(".part")]


def test_xarray_and_its_own_library_read_it(tmp_path, version):
    write(tmp_path / "run.zarr", zarr_format=version)
    with xr.open_zarr(tmp_path / "run.zarr", consolidated=True) as found:
        expected = xr.concat([field(i) for i in range(3)], "time")
        xr.testing.assert_equal(found["t"].load(), expected.assign_coords(time=[0, 0.25, 0.5]))
        assert found["t"].attrs == {"units": "K", "levels": [1, 2]}
    group = zarr.open_group(tmp_path / "run.zarr", mode="r")
    assert group.metadata.zarr_format == version
    np.testing.assert_array_equal(group["meshes/E/x"][2], np.full((6, 2), 2))
    assert dict(group["meshes/E"].attrs) == {"geometry": "cartesian"}


@pytest.mark.parametrize("dtype", DTYPES)
def test_any_dtype_and_shape(tmp_path, dtype):
    shapes = [(), (1,), (5,), (0,), (3, 0, 2), (2, 3, 4, 5)]
    values = [
        [(np.arange(np.prod(s)).reshape(s) + index).astype(dtype) for s in shapes]
        for index in range(2)
    ]
    with fl.open(str(tmp_path / "a.zarr"), "w") as series:
        for arrays in values:
            with series.step() as step:
                for number, array in enumerate(arrays):
                    step.put(f"x{number}", array)
    with fl.open(str(tmp_path / "a.zarr")) as series:
        for arrays, step in zip(values, series, strict=True):
            for number, array in enumerate(arrays):
                assert step[f"x{number}"].stored_dtype == dtype
                np.testing.assert_array_equal(step[f"x{number}"].read(), array)


CODECS = {
    2: [None, numcodecs.Blosc("lz4", shuffle=2), numcodecs.GZip(), numcodecs.Zstd()],
    3: [None, zarr.codecs.BloscCodec(), zarr.codecs.GzipCodec(), zarr.codecs.ZstdCodec()],
}


@pytest.mark.parametrize("number", range(4))
def test_folders_of_xarray(tmp_path, version, number):
    """Missing and packed values, times and all codecs, reduced as xarray does it."""
    path = tmp_path / "t.zarr"
    codec = CODECS[version][number]
    packing = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.0, "_FillValue": -32768}
    how = {"compressors": codec if codec is None else (codec,)}
    encoding = {
        "temperature": how | {"_FillValue": -999.0, "chunks": (5, 2, 7, 8)},
        "packed": how | packing,
        "u": how | {"chunks": (5, 3, 8)},
    }
    dataset = climate()
    dataset["temperature"][3, 0, 2, 1] = np.nan
    for variable in dataset.variables.values():
        variable.encoding = {}
    dataset.to_zarr(path, zarr_format=version, encoding=encoding, consolidated=True)
    with fl.open(path) as file, xr.open_zarr(path) as expected:
        assert file["u"].chunks == (5, 3, 8)
        np.testing.assert_array_equal(file["u"].coords["time"], expected["time"])
        for name in ("temperature", "packed", "u"):
            for chosen in [
                {},
                {"time": slice(3, 20, 4)},
                {"lat": 2},
                {"lon": slice(None, None, -1)},
            ]:
                mine, theirs = file[name].isel(chosen), expected[name].isel(chosen)
                same(mine.read(), theirs)
                same(mine.reduce("max"), theirs.max())
            same(
                file[name].groupby("time.month").reduce("count"),
                expected[name].groupby("time.month").count("time"),
            )
        assert file["height"].read() == 2
        low = file["u"].where("v > 2").reduce("argmin")
        assert low["time"] == expected["time"][low["time_index"]]
        again = pickle.loads(pickle.dumps(file["u"]))
        assert again.reduce("sum") == file["u"].reduce("sum")


def test_shards_groups_and_what_are_no_numbers(tmp_path):
    root = zarr.create_group(tmp_path / "g.zarr", attributes={"a": {"b": None}, "n": [1, 2]})
    values = np.arange(64.0).reshape(8, 8)
    shards = {"chunks": (2, 2), "shards": (4, 8), "dimension_names": ("y", "x")}
    root.create_array("deep/er/s", data=values, **shards)
    root.create_array("flags", data=values > 5)
    root.create_array("words", data=np.array(["a", "b"]))
    root["deep"].attrs["units"] = "m"
    with fl.open(tmp_path / "g.zarr") as file:  # not consolidated
        assert sorted(file.names) == ["deep/er/s", "flags"]
        assert file.attrs == {"a": '{"b": null}', "n": [1, 2]}
        assert file["deep/er/s"].chunks == (4, 8)
        assert file["deep/er/s"].sum("y").values.tolist() == values.sum(0).tolist()
        assert file["flags"].sum() == 58
        assert len(file) == 1
    zarr.create_array(tmp_path / "alone.zarr", data=values, dimension_names=("y", "x"))
    with fl.open(str(tmp_path / "alone.zarr"), engine="zarr") as file:
        assert file.names == ["data"]
        assert file["data"].isel(x=3).max() == 59


def test_chunks_that_are_damaged_or_gone(tmp_path):
    write(tmp_path / "run.zarr")
    chunk = tmp_path / "run.zarr" / "t" / "c" / "1" / "0" / "0"
    whole = chunk.read_bytes()
    with fl.open(tmp_path / "run.zarr") as file:
        for broken in (b"", whole[: len(whole) // 2], b"nothing of it"):
            chunk.write_bytes(broken)
            assert file["t"].isel(time=0).max() == 23
            with pytest.raises(fl.DamagedFile, match=r"'t' of '.*run\.zarr' cannot be read: got"):
                file["t"].max()
        chunk.unlink()
        assert file["t"].isel(time=1).max() == 0  # the fill value, as the format has it
    for mark, damaged in [
        ("zarr.json", b"{}"),
        ("zarr.json", b"\xff"),
        (".zarray", b"{"),
        (".zgroup", b"[]"),
    ]:
        (tmp_path / "bad.zarr").mkdir(exist_ok=True)
        for entry in (tmp_path / "bad.zarr").iterdir():
            entry.unlink()
        (tmp_path / "bad.zarr" / mark).write_bytes(damaged)
        with pytest.raises(fl.DamagedFile, match=r"metadata of '.*bad\.zarr' cannot be read"):
            fl.open(tmp_path / "bad.zarr")


@pytest.mark.parametrize(("version", "index"), [(2, None), (3, None), (3, "start"), (3, "end")])
def test_a_chunk_of_blosc_without_its_last_byte(tmp_path, version, index):
    path = tmp_path / "b.zarr"
    how = {"compressors": (CODECS[version][1],), "chunks": (8,)}
    if index is not None:
        how["shards"] = {"shape": (32,), "index_location": index}
    values = np.random.default_rng(1).random(64)
    zarr.open_group(path, mode="w", zarr_format=version).create_array("deep/x", data=values, **how)
    key = "c/1" if version == 3 else "1"
    chunk = path / "deep" / "x" / key
    chunk.write_bytes(chunk.read_bytes()[:-1])
    with fl.open(path) as file:
        together = 8 if index is None else 32
        assert file["deep/x"].isel(dim_0=slice(together)).max() == values[:together].max()
        expected = rf"chunk {key} of 'deep/x' of '.*b\.zarr' cannot be read: got"
        with pytest.raises(fl.DamagedFile, match=expected):
            file["deep/x"].read()
        with pytest.raises(fl.DamagedFile, match=expected):
            file["deep/x"].reduce("max")


FILLS = [("f2", -998.5), ("f2", np.inf), ("c8", -999.1), ("c16", -999 + 1j), ("c16", np.nan)]


@pytest.mark.parametrize(("dtype", "fill"), FILLS)
def test_fill_values_of_any_dtype_are_missing(tmp_path, version, dtype, fill):
    path = tmp_path / "f.zarr"
    values = np.arange(300).astype(dtype)
    fill = values.dtype.type(fill)
    values[[2, 250]] = fill
    dataset = xr.Dataset({"x": (("i", "j"), values.reshape(20, 15))})
    dataset.to_zarr(path, zarr_format=version, encoding={"x": {"_FillValue": fill}})
    with fl.open(path) as file, xr.open_zarr(path) as theirs:
        x, expected = file["x"], theirs["x"]
        assert x.attrs["_FillValue"] == expected.encoding["_FillValue"] or np.isnan(fill)
        np.testing.assert_array_equal(x.read(), expected)
        for over in (None, "i", "j"):
            np.testing.assert_array_equal(x.reduce("count", over), expected.count(over))
            wide = expected.astype("c16" if x.stored_dtype.kind == "c" else "f8")
            np.testing.assert_allclose(x.reduce("sum", over), wide.sum(over), rtol=1e-12)
        with xr.open_dataset(path, engine="fluvial") as mine:
            np.testing.assert_array_equal(mine["x"], expected)
        copy = tmp_path / "copy.zarr"  # and with it goes what is missing
        with fl.open(copy, "w", zarr_format=version) as series, series.step() as step:
            step.put("x", values.reshape(20, 15), attrs=x.attrs)
    with fl.open(copy) as file, xr.open_zarr(copy) as theirs:
        assert file["x"].reduce("count") == theirs["x"].count() == 298


def test_arrays_that_the_library_cannot_open_leave_others_readable(tmp_path, version):
    path = tmp_path / "u.zarr"
    root = zarr.open_group(path, mode="w", zarr_format=version)
    for name in ("a", "deep/codec", "deep/dtype", "deep/damaged", "z"):
        root.create_array(name, data=np.arange(4.0))
    mark, codec, dtype = [
        (".zarray", {"compressor": {"id": "acme"}}, {"dtype": "<q9"}),
        ("zarr.json", {"codecs": [{"name": "acme.zip"}]}, {"data_type": "int24"}),
    ][version - 2]
    for name, edit in (("codec", codec), ("dtype", dtype)):
        said = path / "deep" / name / mark
        said.write_text(json.dumps(json.loads(said.read_text()) | edit))
    (path / "deep" / "damaged" / mark).write_text("{")
    with fl.open(path) as file:
        assert file.names == ["a", "z", "deep/codec", "deep/damaged", "deep/dtype"]
        assert file["a"].sum() == file["z"].sum() == 6
        assert sorted(file.unreadable) == ["deep/codec", "deep/damaged", "deep/dtype"]
        assert "acme" in file.unreadable["deep/codec"]
        with pytest.raises(fl.InvalidArgument, match=r"'deep/codec' of .*acme.*; allowed: codecs"):
            file["deep/codec"]
        with pytest.raises(fl.InvalidArgument, match=r"cannot be opened.* Install the package"):
            file["deep/dtype"].read()
        with pytest.raises(fl.DamagedFile, match=r"'deep/damaged' of .* cannot be opened"):
            file["deep/damaged"]
        assert len(file) == 1
    for command in ("info", "ls"):
        words = [sys.executable, "-m", "fluvial", command, str(path)]
        said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
        assert "'deep/codec' of" in said
        assert "acme" in said
        assert "'deep/damaged' of" in said
    with pytest.raises(fl.InvalidArgument, match=r"codec' cannot be opened: got .*acme"):
        fl.open(path / "deep" / "codec", engine="zarr")
    with pytest.warns(UserWarning, match="'deep/codec' is left out.*acme"):
        xr.open_dataset(path, engine="fluvial", group="deep")


def test_consolidated_metadata_with_one_that_cannot_be_opened(tmp_path, version):
    path = tmp_path / "u.zarr"
    dataset = xr.Dataset({"a": ("i", np.arange(4.0)), "b": ("i", np.arange(4, dtype="f4"))})
    dataset.to_zarr(path, zarr_format=version, consolidated=True)
    for name in (".zmetadata", "b/.zarray", "zarr.json", "b/zarr.json"):
        if (path / name).exists():
            said = (path / name).read_text().replace('"<f4"', '"<q9"').replace("float32", "int24")
            (path / name).write_text(said)
    with fl.open(path) as file:
        assert file.names == ["a", "b"]
        assert sorted(file.unreadable) == ["b"]
        assert file["a"].sum() == 6


def test_without_the_package_it_is_refused_at_once(tmp_path, monkeypatch):
    write(tmp_path / "run.zarr")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for name in ("run.zarr", "nowhere.zarr", pathlib.Path("run.zarr"), ["run.zarr"]):
        with pytest.raises(fl.InvalidArgument, match=r"'zarr' needs a .*: pip install zarr"):
            fl.open(name)
    with pytest.raises(fl.InvalidArgument, match=r"'zarr' needs a .*: pip install zarr"):
        fl.open("new.zarr", "w")


def test_what_cannot_be_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(fl.NoSuchFile):
        fl.open("nowhere.zarr")
    write("run.zarr")
    with pytest.raises(fl.InvalidArgument, match="another format than engine 'hdf5' reads"):
        fl.open("run.zarr", engine="hdf5")
    with pytest.raises(fl.InvalidArgument, match="isolated goes with files alone"):
        fl.open("run.zarr", isolated=True)
    with pytest.raises(fl.InvalidArgument, match="unknown zarr_format: got 1; allowed: 2, 3"):
        fl.open("new.zarr", "w", zarr_format=1)
    os.makedirs("mine.zarr/thesis")
    with pytest.raises(fl.InvalidArgument, match=r"a folder is in the way: got 'mine\.zarr'"):
        fl.open("mine.zarr", "w")
    with pytest.raises(fl.InvalidArgument, match="a folder is no series"):
        fl.open("mine.zarr")
    assert os.path.exists("mine.zarr/thesis")
    write("run.zarr", steps=1)  # overwrites what a series has written
    assert len(fl.open("run.zarr")) == 1
    with fl.open("new.zarr", "w") as series:
        for name in ("a//b", "..", "__x", "a\\b", "a\0b"):
            with (
                pytest.raises(fl.InvalidArgument, match="cannot be called that"),
                series.step() as s,
            ):
                s.put(name, [1.0])
        with (
            pytest.raises(fl.InvalidArgument, match="cannot be called that"),
            series.step() as step,
        ):
            step.put("a", [1.0])
            step.put("a/b", [1.0])
        long = pytest.raises(
            fl.InvalidArgument, match=r"too long for a folder.*300 bytes; allowed: 255"
        )
        with long, series.step() as step:
            step.put("a/" + "é" * 150, [1.0])
    assert not os.path.exists("new.zarr")


def test_a_step_that_fails_is_left_out(tmp_path):
    path = tmp_path / "run.zarr"
    with fl.open(str(path), "w") as series:
        for index in range(4):
            wrong = {1: {"n": 1}, 2: {"t": field(2).isel(lon=slice(5))}}.get(index)
            if wrong is None:
                with series.step(time=float(index)) as step:
                    step.put("t", field(index))
                continue
            with pytest.raises(fl.InvalidArgument, match="in step"), series.step(time=1.0) as step:
                for name, array in wrong.items():
                    step.put(name, array)
        with pytest.raises(KeyError), series.step(time=9.0) as step:
            step.put("t", field())
            raise KeyError
    with fl.open(path) as file, xr.open_zarr(path) as found:
        assert [step.time for step in file] == [0, 3]
        assert found.sizes["time"] == 2


@pytest.mark.parametrize("where", ["_finish", "_write_parts"])
def test_a_killed_writer_leaves_whole_records(tmp_path, where, version):
    program = f"""
import os, signal, numpy as np, fluvial as fl
series = fl.open({str(tmp_path / "a.zarr")!r}, "w", zarr_format={version})
for index in range(3):
    with series.step() as step:
        step.put("x", np.full(10, index))
        if index == 2:
            series.{where} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=60, check=False)
    assert done.returncode == -signal.SIGKILL
    with fl.open(tmp_path / "a.zarr") as file, xr.open_zarr(tmp_path / "a.zarr") as theirs:
        assert [int(step["x"].max()) for step in file] == [0, 1]
        assert theirs["x"].shape == (2, 10)


def test_large_arrays_are_cut_into_chunks():
    from fluvial.store.zarr_output import chunk_of, fits

    for shape, regions in [
        ((100_000, 1000), []),
        ((4096, 4096), [((0, 0), (4096, 2048)), ((0, 2048), (4096, 2048))]),
        ((7, 2**24 + 1), [((0, 0), (7, 2**24 + 1))]),
    ]:
        chunk = chunk_of(shape, regions, 8)
        assert np.prod(chunk) * 8 <= 64 << 20
        assert np.prod(chunk) * 8 > 8 << 20
        assert fits(regions, shape, chunk)
