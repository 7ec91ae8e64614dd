# SPDX-License-Identifier: Apache-2.0
"""Elements that are compressed on their way into files, and what of it other libraries see."""

import itertools
import subprocess
import sys

import h5py
import netCDF4
import numpy as np
import pytest

import fluvial as fl

SHAPE = (300, 70)
WHOLE_CHUNKS = (0, 100, 200, 300)
NO_GRID = (0, 130, 300)
"""Rows at which an array is cut; no regular grid fits these."""


def field(index, dtype="f8"):
    grid = np.add.outer(np.arange(SHAPE[0]), np.arange(SHAPE[1]))
    return (np.round(grid / 7) + index).astype(dtype)


def put_rows(step, name, array, cuts):
    for first, last in itertools.pairwise(cuts):
        step.put(name, array[first:last], offset=(first, 0), shape=SHAPE)


def write(path, **options):
    with fl.open(str(path), "w", **options) as series:
        for index in range(3):
            with series.step(time=float(index)) as step:
                put_rows(step, "meshes/E/x", field(index), WHOLE_CHUNKS)
                put_rows(step, "meshes/E/y", field(index, "c16"), NO_GRID)
                step.put("meshes/E/z", field(index, "u2"))
                step.put("energy", np.float64(index))
                step.put("few", np.arange(4))
                step.put("none", np.empty((0, 3)))


@pytest.mark.parametrize("name", ["run.h5", "data%T.h5"])
@pytest.mark.parametrize("compression", ["gzip", "gzip:9"])
def test_hdf5_is_smaller_and_the_same(tmp_path, name, compression):
    write(tmp_path / name)
    plain = sum(path.stat().st_size for path in tmp_path.glob("*.h5"))
    for path in tmp_path.glob("*.h5"):
        path.unlink()
    write(tmp_path / name, compression=compression)
    assert sum(path.stat().st_size for path in tmp_path.glob("*.h5")) < plain / 5
    with fl.open(str(tmp_path / name)) as series:
        assert len(series) == 3
        for index, step in enumerate(series):
            np.testing.assert_array_equal(step["meshes/E/x"].read(), field(index))
            np.testing.assert_array_equal(step["meshes/E/y"].read(), field(index, "c16"))
            assert step["meshes/E/z"].reduce("max") == field(index).max()
            assert step["energy"].read() == index
            assert step["none"].shape == (0, 3)
    with h5py.File(sorted(tmp_path.glob("*.h5"))[0]) as file:
        found = file["data/0/meshes/E/x"]
        assert (found.compression, found.shuffle) == ("gzip", True)
        assert found.compression_opts == (9 if compression.endswith("9") else 4)
        assert found.chunks == (100, 70)
        np.testing.assert_array_equal(found[...], field(0))
        np.testing.assert_array_equal(file["data/0/meshes/E/y"][...], field(0, "c16"))
        assert file["data/0/few"].compression is None


def test_netcdf4_is_smaller_and_the_same(tmp_path):
    path, plain = tmp_path / "run.nc4", tmp_path / "plain.nc4"
    for name, options in ((path, {"compression": "gzip:9"}), (plain, {})):
        with fl.open(str(name), "w", **options) as series:
            for index in range(3):
                with series.step(time=float(index)) as step:
                    put_rows(step, "x", field(index), WHOLE_CHUNKS)
                    put_rows(step, "y", field(index, "i4"), NO_GRID)
                    step.put("energy", np.float64(index))
                    step.put("few", np.arange(4))
    assert path.stat().st_size < plain.stat().st_size / 5
    with fl.open(str(path)) as series, netCDF4.Dataset(path) as theirs:
        assert [float(step.time) for step in series] == [0, 1, 2]
        for index, step in enumerate(series):
            np.testing.assert_array_equal(step["x"].read(), field(index))
            np.testing.assert_array_equal(theirs["x"][index], field(index))
            np.testing.assert_array_equal(theirs["y"][index], field(index, "i4"))
            assert theirs["energy"][index] == index
        assert theirs["x"].chunking() == [1, 100, 70]
        filters = theirs["x"].filters()
        assert (filters["zlib"], filters["shuffle"], filters["complevel"]) == (True, True, 9)
        assert not theirs["few"].filters()["zlib"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_any_shape_comes_back(tmp_path, seed, monkeypatch):
    monkeypatch.setattr("fluvial.store.hdf5_objects._CHUNK_BYTES_MAX", 3000)
    monkeypatch.setattr("fluvial.store.hdf5_objects._COMPRESSED_BYTES_MIN", 1)
    rng = np.random.default_rng(seed)
    arrays = {}
    for number in range(12):
        shape = tuple(int(n) for n in rng.integers(1, 40, rng.integers(1, 4)))
        dtype = rng.choice(["i1", "f2", "f4", "i8", "c16"])
        arrays[f"d{number}"] = rng.integers(0, 5, shape).astype(dtype)
    with fl.open(str(tmp_path / "a.h5"), "w", compression="gzip:1") as series, series.step() as out:
        for name, array in arrays.items():
            out.put(name, array)
    with h5py.File(tmp_path / "a.h5") as file:
        for name, array in arrays.items():
            np.testing.assert_array_equal(file["data/0"][name][...], array)
            assert file["data/0"][name].compression == "gzip"


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("codec", ["gzip:1", "zstd", "blosc:9", "none"])
def test_zarr(tmp_path, version, codec):
    zarr = pytest.importorskip("zarr")
    path = str(tmp_path / "run.zarr")
    with fl.open(path, "w", zarr_format=version, compression=codec) as series, series.step() as out:
        out.put("x", field(0))
    array = zarr.open_group(path, mode="r")["x"]
    name = codec.partition(":")[0]
    assert [type(c).__name__.lower().startswith(name) for c in array.compressors] == (
        [] if codec == "none" else [True]
    )
    with fl.open(path) as series:
        np.testing.assert_array_equal(series.steps[0]["x"].read(), field(0))


@pytest.mark.parametrize(
    ("name", "compression", "message"),
    [
        ("a.h5", "zstd", r"cannot compress so: got 'zstd'; allowed: gzip, none"),
        ("a.h5", "gzip:0", r"gzip has no such level: got 0; allowed: 1 to 9"),
        ("a.h5", "gzip:high", r"cannot compress so: got 'gzip:high'"),
        ("a.nc", "gzip", r"engine 'netcdf' cannot compress: got 'gzip'; allowed: 'none'"),
        ("a.zarr", "lz", r"allowed: gzip, zstd, blosc, none"),
    ],
)
def test_what_is_refused(tmp_path, name, compression, message):
    if name.endswith("zarr"):
        pytest.importorskip("zarr")
    with pytest.raises(fl.InvalidArgument, match=message):
        fl.open(str(tmp_path / name), "w", compression=compression)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(fl.WrongType, match="compression"):
        fl.open(str(tmp_path / name), "w", compression=4)


LIMITED = """
import sys, resource, signal
import numpy as np
import fluvial as fl

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
rng = np.random.default_rng(1)
with fl.open(sys.argv[1], "w", compression="gzip:1") as series:
    with series.step() as step:
        step.put("x", rng.random(20000))
    size = 100 << 10
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    for _ in range(2):
        try:
            with series.step() as step:
                step.put("x", rng.random(40000))
        except fl.SystemError as error:
            print("cannot be written" in str(error))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    with series.step() as step:
        step.put("x", rng.random(10000))
"""


def test_a_full_disk_leaves_the_steps_before(tmp_path):
    """A file that may not grow, as one on a full disk."""
    path = str(tmp_path / "run.h5")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, path], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\nTrue\n"
    rng = np.random.default_rng(1)
    with fl.open(path) as series:
        assert series.steps.indices == [0, 3]
        np.testing.assert_array_equal(series.steps[0]["x"].read(), rng.random(20000))
        assert len(series.steps[1]["x"].read()) == 10000
