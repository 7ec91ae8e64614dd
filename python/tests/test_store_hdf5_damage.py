# SPDX-License-Identifier: Apache-2.0
"""HDF5 files that are cut off or have wrong bytes, read in a child process: libhdf5 might crash."""

import subprocess
import sys

import h5py
import netCDF4
import numpy as np
import pytest

# Reads all there is in each file; prints its number and how that ended.
CHILD = """
import sys
from fluvial._core import Error, open_file
for number, path in enumerate(sys.argv[1:]):
    try:
        file = open_file(path)
        for name in file.names:
            dataset = file.dataset(name)
            few = tuple(min(n, 50) for n in dataset.shape)
            dataset.read((0,) * len(few), few)
        print(number, "read", flush=True)
    except Error as error:
        print(number, type(error).__name__, flush=True)
"""


def write_hdf5(path, libver):
    with h5py.File(path, "w", libver=libver) as file:
        file["contiguous"] = np.arange(50.0)
        z = file.create_dataset(
            "g/chunked",
            data=np.arange(400, dtype=">i4").reshape(20, 20),
            chunks=(7, 7),
            compression="gzip",
            shuffle=True,
            fletcher32=True,
        )
        file.create_dataset("g/growing", data=np.arange(60), chunks=(7,), maxshape=(None,))
        z.attrs["units"] = "K"
        z.attrs["list"] = ["a", "b"]
        file["scale"] = np.arange(20.0)
        file["scale"].make_scale("scale")
        z.dims[0].attach_scale(file["scale"])
        file["soft"] = h5py.SoftLink("/g/chunked")
        file["complex"] = np.arange(3) * 1j


def write_netcdf4(path):
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("time", None)
        nc.createDimension("x", 8)
        nc.createVariable("time", "f8", ("time",))[:] = np.arange(4)
        v = nc.createVariable("v", "f4", ("time", "x"), zlib=True)
        v[:] = 1
        v.setncattr_string("units", "m")


@pytest.fixture(scope="module", params=["old groups", "new groups", "netCDF-4"])
def intact(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "t.h5"
    if request.param == "netCDF-4":
        write_netcdf4(path)
    else:
        old = request.param == "old groups"
        write_hdf5(path, ("earliest", "v108") if old else ("v110", "v110"))
    return path.read_bytes()


def outcomes(folder, damaged):
    paths = []
    for number, content in enumerate(damaged):
        paths.append(folder / f"{number}.h5")
        paths[-1].write_bytes(content)
    child = subprocess.run(
        [sys.executable, "-c", CHILD, *map(str, paths)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    ends = [line.split()[1] for line in child.stdout.splitlines()]
    where = f"file {len(ends)} of {len(paths)} ended the process"
    assert child.returncode == 0, f"{where}: {child.stderr[-2000:]}"
    assert len(ends) == len(paths)
    return ends


def test_every_truncation_is_an_error(intact, tmp_path):
    lengths = [*range(0, len(intact), 97), len(intact) - 1]
    ends = outcomes(tmp_path, [intact[:n] for n in lengths])
    assert set(ends) <= {"DamagedFile", "InvalidArgument"}
    assert ends[-1] == "DamagedFile"


@pytest.mark.parametrize("flip", [0x01, 0xFF])
def test_wrong_bytes_never_end_the_process(intact, tmp_path, flip):
    damaged = []
    for at in range(0, len(intact), 97):
        content = bytearray(intact)
        content[at] ^= flip
        damaged.append(bytes(content))
    ends = outcomes(tmp_path, damaged)
    assert set(ends) <= {"read", "DamagedFile", "InvalidArgument"}
    assert "DamagedFile" in ends


def test_a_heap_that_is_damaged(tmp_path):
    """libhdf5 1.10 by itself crashes on wrong indices and sizes in the heap of texts."""
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file["x"] = [1.0]
        file["x"].attrs["units"] = "metres"
    intact = path.read_bytes()
    heap = intact.index(b"GCOL")
    reference = intact.index(heap.to_bytes(8, "little") + b"\1\0\0\0")
    damaged = []
    for at in (*range(reference - 4, reference + 12), *range(heap, heap + 48)):
        for flip in (0x01, 0x40, 0xFF):
            content = bytearray(intact)
            content[at] ^= flip
            damaged.append(bytes(content))
    ends = outcomes(tmp_path, damaged)
    assert set(ends) <= {"read", "DamagedFile"}
    assert ends.count("DamagedFile") > len(ends) // 4
