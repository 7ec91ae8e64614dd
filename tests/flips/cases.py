# SPDX-License-Identifier: Apache-2.0
"""Small files of every kind whose bits are inverted one by one, with the places of their data."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import h5py
import netCDF4
import numpy as np

OLD, NEW = ("earliest", "v108"), ("v110", "v110")
Spans = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True)
class Case:
    """How a file is written, and the library that says what is right."""

    write: Callable[[pathlib.Path], Spans]  # returns where the data are
    judge: str = "h5py"


def data_of(path: pathlib.Path) -> Spans:
    """Return the places of all data of an HDF5 file: inverting bits there only changes the data."""
    spans = []

    def visit(_: str, item: h5py.HLObject) -> None:
        if not isinstance(item, h5py.Dataset) or item.is_virtual:
            return
        if item.chunks is not None:
            for i in range(item.id.get_num_chunks()):
                chunk = item.id.get_chunk_info(i)
                spans.append((chunk.byte_offset, chunk.size))
        elif item.id.get_offset() is not None:
            spans.append((item.id.get_offset(), item.id.get_storage_size()))

    with h5py.File(path) as file:
        file.visititems(visit)
    return spans


def hdf5(versions: tuple[str, str], *datasets: dict) -> Case:
    def write(path: pathlib.Path) -> Spans:
        with h5py.File(path, "w", libver=versions) as file:
            for number, options in enumerate(datasets):
                file.create_dataset(f"d{number}", **options)
        return data_of(path)

    return Case(write)


def sparse(path: pathlib.Path) -> Spans:
    """Only some of the chunks are there; attributes that change what numbers mean."""
    with h5py.File(path, "w", libver=OLD) as file:
        x = file.create_dataset("x", (20, 21), "f4", chunks=(4, 7), fillvalue=-3.5)
        x[4:8, 0:7] = 1
        x[8:12, 7:21] = np.arange(14)
        x[19, 20] = 9
        x.attrs["scale_factor"] = 0.5
        x.attrs["valid_range"] = np.array([0, 9], "f4")
    return data_of(path)


def implicit(path: pathlib.Path) -> Spans:
    """Space for all chunks from the beginning: no index at all."""
    with h5py.File(path, "w", libver=NEW) as file:
        early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        early.set_chunk((3, 3))
        early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
        space = h5py.h5s.create_simple((6, 7))
        h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I16LE, space, early)
        file["x"][:] = np.arange(42).reshape(6, 7)
    return data_of(path)


def virtual(path: pathlib.Path) -> Spans:
    """A dataset of parts of others, in this file and in another one."""
    away = path.with_name("virtual_source.h5")
    with h5py.File(away, "w", libver=OLD) as file:
        file["part"] = np.arange(100, 110)
    with h5py.File(path, "w", libver=("earliest", "v110")) as file:
        file.create_dataset("near", data=np.arange(50, 60), chunks=(4,))
        layout = h5py.VirtualLayout((3, 10), "i8")
        layout[0] = h5py.VirtualSource(".", "near", (10,))
        layout[1] = h5py.VirtualSource(away.name, "part", (10,))
        file.create_virtual_dataset("x", layout, fillvalue=-1)
    return data_of(path)


def others(path: pathlib.Path) -> Spans:
    """Contiguous, compact, big-endian, of every kind of number, with groups and scales."""
    with h5py.File(path, "w", libver=OLD) as file:
        file["g/a"] = np.arange(12, dtype=">f4").reshape(3, 4)
        file["g/scale"] = np.arange(4.0)
        file["g/scale"].make_scale("scale")
        file["g/a"].dims[1].attach_scale(file["g/scale"])
        file["g/a"].attrs["units"] = "K"
        file["half"] = np.arange(3, dtype="<f2")
        file["short"] = np.arange(-3, 3, dtype=">i2")
        file["complex"] = np.arange(3) * 1j
        compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        compact.set_layout(h5py.h5d.COMPACT)
        space = h5py.h5s.create_simple((4,))
        h5py.h5d.create(file.id, b"compact", h5py.h5t.IEEE_F32LE, space, compact)
        file["compact"][:] = [1, 2, 3, 4]
    return data_of(path)


def openpmd(path: pathlib.Path) -> Spans:
    """A mesh with axis labels, and a record component that is constant."""
    with h5py.File(path, "w", libver=OLD) as file:
        file.attrs["openPMD"] = "1.1.0"
        e = file.create_group("data/0/meshes/E")
        e.attrs["axisLabels"] = ["y", "x"]
        e["x"] = np.arange(6, dtype="f4").reshape(2, 3)
        e["x"].attrs["unitSI"] = 2.0
        constant = e.create_group("y")
        constant.attrs["value"] = 2.0
        constant.attrs["shape"] = np.array([2, 3], "u8")
    return data_of(path)


def netcdf4(path: pathlib.Path) -> Spans:
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("time", None)
        nc.createDimension("x", 6)
        nc.createVariable("time", "f8", ("time",))[:] = np.arange(3) * 0.5
        nc.createVariable("x", "f4", ("x",))[:] = np.arange(6)
        v = nc.createVariable("v", "i2", ("time", "x"), zlib=True, fill_value=-9)
        v.set_auto_maskandscale(False)
        v[:] = np.arange(18).reshape(3, 6)
        v.scale_factor = 0.1
        nc.createVariable("lags", "f4", ("time", "x"))[:1] = 1
    return data_of(path)


def classic(kind: str) -> Case:
    def write(path: pathlib.Path) -> Spans:
        with netCDF4.Dataset(path, "w", format=kind) as nc:
            nc.createDimension("time", None)
            nc.createDimension("x", 5)
            nc.createVariable("time", "f8", ("time",))[:] = np.arange(3) * 0.5
            nc.createVariable("x", "f4", ("x",))[:] = np.arange(5)
            v = nc.createVariable("v", "i2", ("time", "x"))
            v.set_auto_maskandscale(False)
            v[:] = np.arange(15).reshape(3, 5)
            v.scale_factor = 0.1
            v.units = "K"
        whole = path.read_bytes()
        begin = whole.index(np.arange(5, dtype=">f4").tobytes())
        return [(begin, len(whole) - begin)]

    return Case(write, "netCDF4")


SQUARE = np.arange(221).reshape(13, 17)
PACKED = {"compression": 4, "shuffle": True, "fletcher32": True}
CASES = {
    "btree": hdf5(OLD, {"data": SQUARE, "chunks": (4, 5)}),
    "btree_packed": hdf5(OLD, {"data": SQUARE, "chunks": (4, 5), **PACKED}),
    "btree_deep": hdf5(OLD, {"data": np.arange(80, dtype="i4").reshape(80, 1), "chunks": (1, 1)}),
    "btree_sparse": Case(sparse),
    "single": hdf5(NEW, {"data": SQUARE, "chunks": (13, 17), **PACKED}),
    "implicit": Case(implicit),
    "fixed": hdf5(NEW, {"data": SQUARE, "chunks": (4, 5)}),
    "fixed_packed": hdf5(NEW, {"data": SQUARE, "chunks": (4, 5), **PACKED}),
    "extensible": hdf5(NEW, {"data": SQUARE, "chunks": (4, 5), "maxshape": (None, 17)}),
    "btree2": hdf5(NEW, {"data": SQUARE, "chunks": (4, 5), "maxshape": (None, None), **PACKED}),
    "virtual": Case(virtual),
    "others": Case(others),
    "openpmd": Case(openpmd),
    "netcdf4": Case(netcdf4, "netCDF4"),
    "cdf1": classic("NETCDF3_CLASSIC"),
    "cdf2": classic("NETCDF3_64BIT_OFFSET"),
    "cdf5": classic("NETCDF3_64BIT_DATA"),
}
