# SPDX-License-Identifier: Apache-2.0
"""HDF5 files that are cut off or have wrong bytes, read in a child process: libhdf5 might crash."""

import json
import subprocess
import sys

import h5py
import netCDF4
import numpy as np
import pytest

import fluvial as fl
from fluvial import _core

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


@pytest.fixture
def parts(tmp_path):
    """A virtual dataset of a row of each of three files, and of a fourth that does not exist."""
    for k in range(3):
        with h5py.File(tmp_path / f"part_{k}.h5", "w", libver="earliest") as file:
            file.create_dataset("x", data=np.arange(10) + 10 * k, chunks=(4,))
    with h5py.File(tmp_path / "whole.h5", "w", libver=("earliest", "v110")) as file:
        layout = h5py.VirtualLayout((4, 10), "i8")
        for k in range(4):
            layout[k] = h5py.VirtualSource(f"part_{k}.h5", "x", (10,))
        file.create_virtual_dataset("x", layout, fillvalue=-1)
    return tmp_path


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda whole: b"x" * 8 + whole[8:], "file signature not found"),
        (lambda whole: whole[: len(whole) // 2], "truncated file"),
        (lambda whole: whole.replace(b"TREE\1\0", b"TREE\1\1"), "the index of the chunks of 'x'"),
        (lambda whole: whole.replace(b"SNOD", b"snod"), "'x' of 'part_1.h5'"),
    ],
)
def test_a_damaged_part_of_a_virtual_dataset(parts, damage, reason):
    """libhdf5 gives fill values for what it cannot open, as for what does not exist."""
    part = parts / "part_1.h5"
    intact = part.read_bytes()
    whole = _core.open_file(str(parts / "whole.h5")).dataset("x")
    assert whole.read((0, 0), (4, 10)).sum(axis=1).tolist() == [45, 145, 245, -10]
    part.write_bytes(damage(intact))
    assert part.read_bytes() != intact
    whole = _core.open_file(str(parts / "whole.h5")).dataset("x")
    assert whole.read((2, 0), (2, 10)).sum() == 245 - 10  # without that part
    with pytest.raises(_core.DamagedFile, match=reason):
        whole.read((0, 0), (4, 10))
    with pytest.raises(_core.DamagedFile, match=reason):  # again
        whole.read((1, 3), (1, 1))


def test_blocks_of_a_virtual_dataset_that_are_numbered(tmp_path):
    """The name of each file holds its number; the first that does not exist ends the dataset."""
    for k in range(3):
        with h5py.File(tmp_path / f"part_{k}.h5", "w") as file:
            file["x"] = np.arange(4) + 10 * k
    with h5py.File(tmp_path / "whole.h5", "w", libver=("earliest", "v110")) as file:
        space = h5py.h5s.create_simple((0, 4), (h5py.h5s.UNLIMITED, 4))
        space.select_hyperslab((0, 0), (h5py.h5s.UNLIMITED, 1), (1, 1), (1, 4))
        properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        source = h5py.h5s.create_simple((4,))
        properties.set_virtual(space, b"part_%b.h5", b"x", source)
        h5py.h5d.create(file.id, b"x", h5py.h5t.STD_I64LE, space, properties)
    whole = _core.open_file(str(tmp_path / "whole.h5")).dataset("x")
    assert whole.read((0, 0), whole.shape).sum(axis=1).tolist() == [6, 46, 86]
    part = tmp_path / "part_1.h5"
    part.write_bytes(b"x" * 8 + part.read_bytes()[8:])
    whole = _core.open_file(str(tmp_path / "whole.h5")).dataset("x")
    with pytest.raises(_core.DamagedFile, match="part_1"):
        whole.read((0, 0), whole.shape)


@pytest.fixture
def half_sound(tmp_path):
    """A file with two datasets of which one cannot be opened."""
    path = tmp_path / "t.h5"
    with h5py.File(path, "w", libver=("v110", "v110")) as file:
        file["sound"] = np.arange(4.0)
        file["broken"] = np.arange(3.0)
        header = h5py.h5o.get_info(file["broken"].id).addr
    damaged = bytearray(path.read_bytes())
    damaged[header + 20] ^= 1
    path.write_bytes(damaged)
    return path


def test_a_dataset_that_cannot_be_opened_is_listed(half_sound):
    with fl.open(half_sound) as file:
        assert file.keys() == file.names == ["broken", "sound"]
        assert "broken" in file
        assert list(file.unreadable) == ["broken"]
        assert "broken (cannot be opened), sound" in repr(file)
        assert float(file["sound"].reduce("sum", local=True)) == 6
        with pytest.raises(fl.DamagedFile, match=r"'broken' of .* cannot be opened: got "):
            file["broken"]


def test_info_says_what_cannot_be_opened(half_sound):
    command = [sys.executable, "-m", "fluvial", "info", str(half_sound)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "sound" in said
    assert "broken: 'broken' of" in said
    said = subprocess.run(
        [*command, "--format", "json"], capture_output=True, text=True, check=True
    ).stdout
    broken, sound = json.loads(said)["datasets"]
    assert broken["name"] == "broken"
    assert "cannot be opened" in broken["error"]
    assert sound["shape"] == [4]


def test_a_variable_along_a_dimension_that_cannot_be_opened(tmp_path):
    """What it lacks of its unlimited dimension is known from that dimension alone."""
    path = tmp_path / "t.nc"
    with netCDF4.Dataset(path, "w") as nc:
        nc.createDimension("time", None)
        nc.createVariable("time", "f8", ("time",))[:] = np.arange(3)
        nc.createVariable("lags", "f4", ("time",))[:1] = 1
    with h5py.File(path) as file:
        header = h5py.h5o.get_info(file["time"].id).addr
    assert _core.open_file(str(path)).dataset("lags").shape == (3,)
    damaged = bytearray(path.read_bytes())
    damaged[header : header + 8] = bytes(8)
    path.write_bytes(damaged)
    file = _core.open_file(str(path))
    assert sorted(file.names) == ["lags", "time"]
    with pytest.raises(_core.DamagedFile, match="'lags' has a dimension that cannot be opened"):
        file.dataset("lags")
