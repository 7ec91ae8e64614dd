# SPDX-License-Identifier: Apache-2.0
"""Writes the HDF5 files of the corpus: python make_hdf5_corpus.py FOLDER.

valid_ files have, between them, every structure of HDF5 that is asked about: old and new groups,
all chunk indices, filters, dimension scales, heaps, openPMD. hostile_ files are made of them by
hand. found_ files, which are not made here, are what the fuzzer or the test of mutations came upon.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path

import h5py
import netCDF4
import numpy as np


def untimed() -> h5py.h5p.PropDCID:
    """Return properties of a dataset that does not keep the time at which it was made."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_obj_track_times(False)
    return properties


def contiguous_old(path: Path) -> None:
    """Symbol tables, object headers without checksums, attributes of many types."""
    with h5py.File(path, "w", libver=("earliest", "v108"), track_order=False) as file:
        x = file.create_dataset("x", data=np.arange(12, dtype=">f4").reshape(3, 4))
        x.attrs["units"] = "K"
        x.attrs["scale_factor"] = 0.5
        x.attrs["valid_range"] = np.array([0, 9], "i2")
        x.attrs["names"] = ["a", "bc"]
        x.attrs["fixed"] = np.bytes_("text")
        x.attrs["flag"] = True
        file.create_dataset("g/scalar", data=np.int64(7))
        file["soft"] = h5py.SoftLink("/x")
        file["away"] = h5py.ExternalLink("other.h5", "/x")


def chunked_old(path: Path) -> None:
    """A B-tree of chunks, all filters of the library that have no other file here."""
    with h5py.File(path, "w", libver=("earliest", "v108")) as file:
        for name, filters in (
            ("plain", {}),
            ("deflated", {"compression": 1, "shuffle": True}),
            ("checked", {"fletcher32": True, "shuffle": True, "compression": 9}),
        ):
            data = np.arange(90, dtype="<i4").reshape(9, 10)
            file.create_dataset(name, data=data, chunks=(4, 5), fillvalue=-1, **filters)
        file.create_dataset("unwritten", (8, 8), "f8", chunks=(4, 4), fillvalue=2.5)


def indices_new(path: Path) -> None:
    """The chunk indices of HDF5 1.10: single, implicit, fixed array, extensible array, B-tree 2."""
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        data = np.arange(36, dtype="<i2").reshape(6, 6)
        file.create_dataset("single", data=data, chunks=(6, 6), compression=1)
        early = untimed()
        early.set_chunk((3, 3))
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((6, 6))
        h5py.h5d.create(file.id, b"implicit", h5py.h5t.STD_I16LE, space, early)
        file["implicit"][:] = data
        file.create_dataset("fixed", data=data, chunks=(2, 4), shuffle=True, compression=1)
        file.create_dataset("extensible", data=data, chunks=(2, 3), maxshape=(None, 6))
        grows = {"maxshape": (None, None), "fletcher32": True}
        file.create_dataset("tree", data=data, chunks=(2, 3), **grows)


def groups_new(path: Path) -> None:
    """Groups and attributes in fractal heaps, creation order, a group that holds itself."""
    with h5py.File(path, "w", libver=("v110", "v110"), track_order=True) as file:
        for number in range(12):
            file.create_dataset(f"d{number}", data=np.uint8(number))
        for number in range(10):
            file["d3"].attrs[f"attribute {number}"] = number
        file["loop"] = file


def types(path: Path) -> None:
    """Numbers of all kinds and what is no number, behind a user block."""
    with h5py.File(path, "w", libver=("earliest", "v108"), userblock_size=512) as file:
        for name in ("i1", "<u2", ">i4", "<u8", "<f2", ">f8", "<c8"):
            file[name.strip("<>")] = np.arange(3, dtype=name)
        file["enumeration"] = np.array([0, 1], dtype=h5py.enum_dtype({"A": 0, "B": 1}, "i1"))
        file["truth"] = np.array([True, False])
        file["text"] = ["one", "three"]
        file["pairs"] = np.zeros(2, dtype=[("a", "i4"), ("b", "f8")])
        file["empty"] = h5py.Empty("f4")
        file.create_dataset("none", (0, 4), "f4", chunks=(1, 4), maxshape=(None, 4))


def types_new(path: Path) -> None:
    """Types in types as new files have them, committed, of attributes and of datasets."""
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        inner = np.dtype([("a", "<i2"), ("b", ">f4", (2, 3))])
        pair = np.dtype([("first", inner), ("second", h5py.enum_dtype({"A": 0, "B": 7}, "<u2"))])
        file["committed"] = np.dtype("<f8")
        file["pair type"] = pair
        file.create_dataset("x", data=np.arange(4.0), dtype=file["committed"], fillvalue=-1)
        file["x"].attrs.create("limits", [0.0, 3.0], dtype=file["committed"])
        file["x"].attrs.create("pair", np.zeros(2, pair), dtype=file["pair type"])
        file["x"].attrs["long"] = np.array([1, 2], "g")
        file.create_dataset("pairs", data=np.zeros(3, pair))
        file.create_dataset("opaque", data=np.zeros(3, "V7"))
        file.create_dataset("ragged", (2,), h5py.vlen_dtype("i4"))
        file.create_dataset("links", (2,), h5py.ref_dtype)
        file.create_dataset("regions", (2,), h5py.regionref_dtype)


def by_library(path: Path) -> None:
    """Layouts that only libhdf5 reads: compact, virtual, a filter of its own."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        compact = untimed()
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32LE, space, compact)
        file["compact"][:] = [1, 2, 3, 4]
        file.create_dataset("scaled", data=np.arange(20), chunks=(8,), scaleoffset=5)
        virtual, whole = untimed(), h5py.h5s.create_simple((2, 20))
        whole.select_hyperslab((0, 0), (1, 20))
        virtual.set_virtual(whole, b".", b"scaled", h5py.h5s.create_simple((20,)))
        whole.select_all()
        h5py.h5d.create(file.id, b"virtual", h5py.h5t.STD_I64LE, whole, virtual)


def netcdf(path: Path) -> None:
    """Dimension scales, an unlimited dimension that a variable lags behind, zstd, texts."""
    with netCDF4.Dataset(path, "w") as nc:
        nc.title = "corpus"
        nc.createDimension("time", None)
        nc.createDimension("x", 6)
        nc.createDimension("bare", 2)
        nc.createVariable("time", "f8", ("time",))[:] = np.arange(3) * 0.5
        nc.createVariable("x", "f4", ("x",))[:] = np.arange(6)
        v = nc.createVariable("v", "i2", ("time", "x"), compression="zstd", fill_value=-9)
        v.set_auto_maskandscale(False)
        v[:] = np.arange(18).reshape(3, 6)
        v.setncattr_string("units", "m")
        v.scale_factor = 0.1
        nc.createVariable("lags", "f4", ("time", "bare"), zlib=True, fletcher32=True)[:1] = 1


def openpmd(path: Path) -> None:
    """A mesh with axis labels, and a record component that is constant."""
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file.attrs["openPMD"] = "1.1.0"
        file.attrs["meshesPath"] = "meshes/"
        e = file.create_group("data/0/meshes/E")
        e.attrs["axisLabels"] = ["y", "x"]
        e.attrs["dataOrder"] = "C"
        e["x"] = np.arange(6, dtype="f4").reshape(2, 3)
        constant = e.create_group("y")
        constant.attrs["value"] = 2.0
        constant.attrs["shape"] = np.array([2, 3], "u8")


VALID = {
    "contiguous_old.h5": contiguous_old,
    "chunked_old.h5": chunked_old,
    "indices_new.h5": indices_new,
    "groups_new.h5": groups_new,
    "types.h5": types,
    "types_new.h5": types_new,
    "by_library.h5": by_library,
    "netcdf.nc": netcdf,
    "openpmd.h5": openpmd,
}


def chunk_of(path: Path, name: str) -> tuple[int, int]:
    """Return offset and length of the first chunk of a dataset."""
    with h5py.File(path) as file:
        info = file[name].id.get_chunk_info(0)
        return int(info.byte_offset), int(info.size)


def hostile(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of files that are to be refused."""
    old = folder / "valid_chunked_old.h5"
    whole = old.read_bytes()

    def patched(at: int, new: bytes) -> bytes:
        return whole[:at] + new + whole[at + len(new) :]

    checked, checked_bytes = chunk_of(old, "checked")
    deflated, deflated_bytes = chunk_of(old, "deflated")
    plain, _ = chunk_of(old, "plain")
    yield "cut_in_data.h5", whole[: checked + checked_bytes - 1]
    yield "cut_in_superblock.h5", whole[:50]
    yield "checksum.h5", patched(checked + checked_bytes - 1, b"\x5a")
    yield "no_zlib_stream.h5", patched(deflated, b"\0\0")
    yield "stream_ends_early.h5", patched(deflated, deflate_of_nothing(deflated_bytes))
    address = plain.to_bytes(8, "little")
    at = whole.index(address)
    yield "chunk_beyond_the_end.h5", patched(at, (2**40).to_bytes(8, "little"))
    yield "chunk_at_the_largest_address.h5", patched(at, (2**63 - 8).to_bytes(8, "little"))
    yield "no_superblock.h5", whole[:8] + bytes(88) + whole[96:]


def deflate_of_nothing(length: int) -> bytes:
    """Return a valid zlib stream of no bytes, and zeros behind it."""
    return zlib.compress(b"").ljust(length, b"\0")


def main() -> None:
    """Write all files into the folder that is named."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, write in VALID.items():
        write(folder / f"valid_{name}")
    for name, content in hostile(folder):
        (folder / f"hostile_{name}").write_bytes(content)


if __name__ == "__main__":
    main()
