# SPDX-License-Identifier: Apache-2.0
"""Files that the formats' own libraries wrote, read by Fluvial."""

from __future__ import annotations

import pathlib

import netCDF4
import numpy as np
import pytest
import scipy.io

from fluvial import _core

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "corpus" / "netcdf_classic"
SEED = 1987
CLASSIC = {
    "NETCDF3_CLASSIC": ("netCDF classic (CDF-1)", ["i1", "i2", "i4", "f4", "f8"]),
    "NETCDF3_64BIT_OFFSET": ("netCDF classic (CDF-2)", ["i1", "i2", "i4", "f4", "f8"]),
    "NETCDF3_64BIT_DATA": (
        "netCDF classic (CDF-5)",
        ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"],
    ),
}
DIMENSIONS = {"time": 5, "lat": 7, "lon": 6, "odd": 3}


def numbers(rng, dtype, shape):
    """Return an array that uses all the bits of its dtype, but no NaN."""
    bits = rng.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8)
    values = bits.view(dtype)[..., 0]
    return np.where(np.isfinite(values), values, 1) if dtype[0] == "f" else values


def compare_attributes(ours, theirs, names):
    assert set(ours) == set(names)
    for name in names:
        value = theirs.getncattr(name)
        if isinstance(value, str):
            assert ours[name] == value
        elif np.asarray(value).dtype == np.uint64:
            assert np.array_equal(np.asarray(ours[name], np.uint64), value)
        else:
            assert np.array_equal(np.asarray(ours[name]), np.asarray(value)), name


def compare(path, rng):
    """Compare everything in a file, whole and in parts, with what netCDF4 reads; count datasets."""
    file = _core.open_file(str(path))
    with netCDF4.Dataset(path) as peer:
        peer.set_auto_maskandscale(False)
        peer.set_auto_chartostring(False)
        assert file.dimensions == [
            (name, len(d), d.isunlimited()) for name, d in peer.dimensions.items()
        ]
        compare_attributes(file.attributes, peer, peer.ncattrs())
        numeric = [n for n, v in peer.variables.items() if v.dtype.kind != "S" and v.ndim <= 16]
        assert file.names == numeric
        for name in numeric:
            ours, theirs = file.dataset(name), peer[name]
            assert (ours.dtype, ours.shape) == (theirs.dtype.name, theirs.shape)
            assert tuple(ours.dimensions) == theirs.dimensions
            compare_attributes(ours.attributes, theirs, theirs.ncattrs())
            whole = theirs[...]
            assert np.array_equal(ours.read((0,) * whole.ndim, whole.shape), whole)
            for _ in range(5):
                start = tuple(rng.integers(0, n + 1) for n in whole.shape)
                count = tuple(
                    rng.integers(0, n - s + 1) for n, s in zip(whole.shape, start, strict=True)
                )
                part = tuple(slice(s, s + c) for s, c in zip(start, count, strict=True))
                assert np.array_equal(ours.read(start, count), whole[part])
        return len(numeric)


def write(path, kind, rng, records):
    """Write variables of every type: scalars, plain arrays, records that interleave, and text."""
    with netCDF4.Dataset(path, "w", format=kind) as out:
        for name, length in DIMENSIONS.items():
            out.createDimension(name, None if name == "time" else length)
        out.title = "numbers of all kinds °"
        for number, dtype in enumerate(CLASSIC[kind][1]):
            out.setncattr(f"one_{dtype}", numbers(rng, dtype, (1,))[0])
            out.setncattr(f"some_{dtype}", numbers(rng, dtype, (3,)))
            for dimensions in [(), ("odd",), ("time",), ("lat", "lon"), ("time", "odd", "lon")]:
                shape = [records if d == "time" else DIMENSIONS[d] for d in dimensions]
                v = out.createVariable(
                    f"v{number}_{len(dimensions)}_{dimensions}", dtype, dimensions
                )
                v.units = "K"
                v.set_auto_maskandscale(False)
                v[...] = numbers(rng, dtype, shape)
        text = out.createVariable("text", "S1", ("time", "odd"))
        text[:records] = np.full((records, 3), b"x")


@pytest.mark.parametrize("records", [0, 1, 4])
@pytest.mark.parametrize("kind", CLASSIC)
def test_all_types_as_the_netcdf_library_reads_them(tmp_path, kind, records):
    rng = np.random.default_rng(SEED)
    write(tmp_path / "t.nc", kind, rng, records)
    assert _core.open_file(str(tmp_path / "t.nc")).format == CLASSIC[kind][0]
    assert compare(tmp_path / "t.nc", rng) == 5 * len(CLASSIC[kind][1])


@pytest.mark.parametrize("dtype", ["i1", "i2", "f8"])
@pytest.mark.parametrize("kind", CLASSIC)
def test_a_lone_record_variable_is_not_padded(tmp_path, kind, dtype):
    rng = np.random.default_rng(SEED)
    with netCDF4.Dataset(tmp_path / "t.nc", "w", format=kind) as out:
        out.createDimension("time", None)
        out.createDimension("odd", 3)
        out.createVariable("before", "i1", ("odd",))[:] = [1, 2, 3]
        out.createVariable("lone", dtype, ("time", "odd"))[:] = numbers(rng, dtype, (5, 3))
    assert compare(tmp_path / "t.nc", rng) == 2


@pytest.mark.parametrize("version", [1, 2])
def test_files_of_scipy(tmp_path, version):
    rng = np.random.default_rng(SEED)
    with scipy.io.netcdf_file(tmp_path / "t.nc", "w", version=version) as out:
        out.history = "made by SciPy"
        out.createDimension("time", None)
        out.createDimension("x", 5)
        for dtype in ["b", "h", "i", "f", "d"]:
            values = numbers(rng, np.dtype(dtype).str[1:], (4, 5))
            out.createVariable(f"record_{dtype}", dtype, ("time", "x"))[:] = values
            out.createVariable(f"plain_{dtype}", dtype, ("x",))[:] = values[0]
    assert compare(tmp_path / "t.nc", rng) == 10


def test_offsets_beyond_32_bits(tmp_path):
    wide = 1 << 29
    with netCDF4.Dataset(tmp_path / "t.nc", "w", format="NETCDF3_64BIT_OFFSET") as out:
        out.set_fill_off()  # a file of holes
        out.createDimension("time", None)
        out.createDimension("x", wide)
        for name in ["a", "b"]:
            out.createVariable(name, "f4", ("time", "x"))
        out["a"][1, -3:] = [1, 2, 3]
        out["b"][2, -3:] = [4, 5, 6]
    file = _core.open_file(str(tmp_path / "t.nc"))
    a, b = file.dataset("a"), file.dataset("b")
    assert a.shape == b.shape == (3, wide)
    assert b.layout["strides"] == (8 * wide, 4)
    assert a.read((1, wide - 4), (1, 4)).tolist() == [[0, 1, 2, 3]]
    assert b.read((1, wide - 4), (2, 4)).tolist() == [[0, 0, 0, 0], [0, 4, 5, 6]]


def test_a_file_that_is_being_written(tmp_path):
    rng = np.random.default_rng(SEED)
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w", format="NETCDF3_CLASSIC") as out:
        out.createDimension("time", None)
        v = out.createVariable("v", "f4", ("time",))
        out.sync()
        assert _core.open_file(str(path)).dataset("v").shape == (0,)
        v[:3] = [1, 2, 3]
        out.sync()
        assert _core.open_file(str(path)).dataset("v").shape == (3,)
    assert compare(path, rng) == 1
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    with pytest.raises(_core.DamagedFile, match="got 2 whole records; allowed: the 3"):
        _core.open_file(str(path))


# The netCDF library refuses names in Latin-1, and takes "streaming" for a number of records.
AGREED = [p for p in sorted(CORPUS.glob("valid_*.nc")) if "latin1" not in p.stem]


@pytest.mark.parametrize("path", AGREED, ids=lambda p: p.stem)
def test_the_corpus_as_the_netcdf_library_reads_it(path, tmp_path):
    if "streaming" not in path.stem:
        compare(path, np.random.default_rng(SEED))
        return
    content = path.read_bytes()
    counted = tmp_path / "counted.nc"
    width = 8 if content[3] == 5 else 4
    counted.write_bytes(content[:4] + (2).to_bytes(width, "big") + content[4 + width :])
    compare(counted, np.random.default_rng(SEED))
    open_ended, closed = _core.open_file(str(path)), _core.open_file(str(counted))
    assert open_ended.dimensions == closed.dimensions
    for name in closed.names:
        ours, theirs = open_ended.dataset(name), closed.dataset(name)
        start = (0,) * len(theirs.shape)
        assert np.array_equal(ours.read(start, ours.shape), theirs.read(start, theirs.shape))
