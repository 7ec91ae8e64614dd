# SPDX-License-Identifier: Apache-2.0
"""Files that newer versions of HDF5 wrote, in their own forms: what libhdf5 can read is read.

h5py and netCDF4 bring HDF5 2.0 or later along; Fluvial's libhdf5 is the system's. What that cannot
read is listed as unreadable, with its own reason: the guard refuses nothing because it is new.
"""

import h5py
import netCDF4
import numpy as np
import pytest

import fluvial as fl

BOUNDS = ["earliest", "v108", "v110", "v112", "v114", "v200", "latest"]
FIELD = np.arange(13 * 17).reshape(13, 17)
PACKED = {"compression": 4, "shuffle": True, "fletcher32": True}
# Whatever is newer about the file: these are the structures of HDF5 1.10.
OLD_ENOUGH = {"contiguous", "growing", "growing_both", "implicit", "compact", "scalar", "half", "x"}


def put_chunks(file):
    file.create_dataset("single", data=FIELD, chunks=(13, 17), **PACKED)
    file.create_dataset("fixed", data=FIELD, chunks=(4, 5), **PACKED)
    file.create_dataset("growing", data=FIELD, chunks=(4, 5), maxshape=(None, 17))
    file.create_dataset("growing_both", data=FIELD, chunks=(4, 5), maxshape=(None, None))
    file.create_dataset("scale_offset", data=FIELD, chunks=(4, 5), scaleoffset=0)
    file.create_dataset("sparse", (40, 40), "f4", chunks=(4, 4), maxshape=(None, 40), fillvalue=2.5)
    file["sparse"][4:8, 8:12] = 1
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((3, 3))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    space = h5py.h5s.create_simple((6, 7))
    h5py.h5d.create(file.id, b"implicit", h5py.h5t.STD_I16LE, space, early)
    file["implicit"][:] = np.arange(42).reshape(6, 7)


def put_types(file):
    file["contiguous"] = FIELD.astype(">f4")
    file["contiguous"].attrs["units"] = "K"
    file["contiguous"].attrs["valid_range"] = np.array([0, 999], "f4")
    file["scalar"] = 3.5
    file["null"] = h5py.Empty("f4")
    file["half"] = np.arange(4, dtype="f2")
    file["pairs"] = np.arange(4) * (1 - 2j)
    file["flags"] = np.array([True, False])
    file["texts"] = ["a", "bcd"]
    file["x"] = np.arange(17.0)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32LE, space, compact)
    file["compact"][:] = [1, 2, 3, 4]


def put_virtual(file):
    layout = h5py.VirtualLayout((4, 17), "i8")
    layout[0] = h5py.VirtualSource(".", "growing", (13, 17))[2]
    layout[1:3, ::2] = h5py.VirtualSource(".", "growing", (13, 17))[4:6, ::2]
    layout[3, 1:4] = h5py.VirtualSource("no_such_file.h5", "growing", (13, 17))[0, :3]
    file.create_virtual_dataset("virtual", layout, fillvalue=-1)


def put_many(file):
    group = file.create_group("many")
    for i in range(60):
        group.attrs[f"attribute {i}"] = i
        group[f"dataset {i}"] = i


def put_complex(file):
    """Complex numbers as HDF5 2.0 has them, which are no compound type."""
    kind = h5py.h5t.COMPLEX_IEEE_F64LE
    native = h5py.h5d.create(file.id, b"complex", kind, h5py.h5s.create_simple((3,)))
    native.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([1 + 2j, 3j, -1]), mtype=kind)


def guarded(path, monkeypatch, word):
    """Return what is read of a file, and why of the rest it is not, with the guard on or off."""
    monkeypatch.setenv("FLUVIAL_HDF5_GUARD", word)
    with fl.open(path) as file:
        unreadable = file.unreadable
        return {n: file[n].read().values for n in file.names if n not in unreadable}, unreadable


@pytest.mark.parametrize("bound", BOUNDS)
def test_every_bound_of_versions(tmp_path, monkeypatch, bound):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", libver=(bound, "latest")) as file:
        file.attrs["title"] = "newer"
        for put in (put_chunks, put_types, put_virtual, put_many):
            put(file)
    read, unreadable = guarded(path, monkeypatch, "on")
    assert guarded(path, monkeypatch, "off")[1] == unreadable
    assert set(read) >= OLD_ENOUGH
    assert len(read) >= 60
    with h5py.File(path) as file:
        for name, values in read.items():
            np.testing.assert_array_equal(values, file[name][()], err_msg=name)
    for name, why in unreadable.items():
        assert "bad version" in why, name
        assert "a newer HDF5 wrote this" in why, name
    if bound in ("earliest", "v108", "v110"):
        assert not unreadable
        assert {"single", "fixed", "scale_offset", "pairs", "flags", "virtual"} <= set(read)
    with fl.open(path) as file:
        assert file.attrs["title"] == "newer"
        assert file["contiguous"].attrs["units"] == "K"
        assert float(file["contiguous"].reduce("max")) == FIELD.max()


@pytest.mark.parametrize("bound", ["earliest", "v200"])
def test_complex_numbers_of_hdf5_2_do_not_hide_their_neighbours(tmp_path, monkeypatch, bound):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", libver=(bound, "latest")) as file:
        put_complex(file)
        file["x"] = np.arange(5.0)
    read, unreadable = guarded(path, monkeypatch, "on")
    np.testing.assert_array_equal(read["x"], np.arange(5.0))
    if "complex" in read:
        np.testing.assert_array_equal(read["complex"], [1 + 2j, 3j, -1])
    else:
        assert "bad version number for datatype" in unreadable["complex"]


@pytest.mark.parametrize("kind", ["bfloat16", "fp8", "float128"])
def test_floating_point_types_that_are_not_ieee(tmp_path, kind):
    """They are named, not read; the guard knows any that keeps its fields inside of its bytes."""
    bits, sign, exponent, mantissa = {
        "bfloat16": (16, 15, (7, 8), (0, 7)),
        "fp8": (8, 7, (3, 4), (0, 3)),
        "float128": (128, 127, (112, 15), (0, 112)),
    }[kind]
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", libver="latest") as file:
        wide = h5py.h5t.IEEE_F64LE.copy()
        wide.set_size(16)
        wide.set_precision(128)
        wide.set_fields(sign, exponent[0], exponent[1], mantissa[0], mantissa[1])
        wide.set_precision(bits)
        wide.set_size(bits // 8)
        wide.set_ebias(2 ** (exponent[1] - 1) - 1)
        h5py.h5d.create(file.id, b"odd", wide, h5py.h5s.create_simple((3,)))
        file["x"] = np.arange(5.0)
    with fl.open(path) as file:
        assert "odd" not in file.unreadable
        np.testing.assert_array_equal(file["x"].read(), np.arange(5.0))
        with pytest.raises(fl.InvalidArgument, match="floating-point type"):
            file["odd"].read()


@pytest.mark.parametrize("form", ["NETCDF4", "NETCDF4_CLASSIC"])
def test_netcdf4_of_the_newest_library(tmp_path, form):
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w", format=form) as nc:
        nc.title = "newer"
        nc.createDimension("time", None)
        nc.createDimension("x", 6)
        nc.createVariable("time", "f8", ("time",))[:] = np.arange(3) * 0.5
        nc.createVariable("x", "f4", ("x",))[:] = np.arange(6)
        v = nc.createVariable("v", "i2", ("time", "x"), zlib=True, shuffle=True, fletcher32=True)
        v[:] = np.arange(18).reshape(3, 6)
        v.units = "K"
        if form == "NETCDF4":
            group = nc.createGroup("g")
            group.createVariable("z", "u8", ("x",), chunksizes=(4,))[:] = np.arange(6)
            letters = group.createVariable("names", str, ("x",))
            letters[0] = "a"
            pair = group.createCompoundType(np.dtype([("a", "i4"), ("b", "f8")]), "pair")
            group.createVariable("pairs", pair, ("x",))
    with fl.open(path) as file:
        assert file.format == "netCDF-4"
        assert not file.unreadable
        assert file.attrs["title"] == "newer"
        np.testing.assert_array_equal(file["v"].read(), np.arange(18).reshape(3, 6))
        np.testing.assert_array_equal(file["v"].coords["time"], np.arange(3) * 0.5)
        assert float(file["v"].sel(time=0.5).reduce("sum")) == sum(range(6, 12))
        if form == "NETCDF4":
            np.testing.assert_array_equal(file["g/z"].read(), np.arange(6))
