# SPDX-License-Identifier: Apache-2.0
"""Fluvial's libhdf5 and those that h5py and netCDF4 bring along live in one process."""

import itertools
import subprocess
import sys

import h5py
import numpy as np
import pytest
from fluvial._core import open_file

USES = {
    "fluvial": """
import fluvial._core as core
assert (core.open_file(path).dataset("x").read((0,), (100,)) == np.arange(100)).all()
assert core.open_file(path).dataset("x").attributes == {"units": "K"}
try:
    core.open_file(path + ".bad")
except core.DamagedFile:
    pass
""",
    "h5py": """
import h5py
with h5py.File(path) as file:
    assert (file["x"][:] == np.arange(100)).all()
try:
    h5py.File(path + ".bad")
except OSError:
    pass
""",
    "netCDF4": """
import netCDF4
with netCDF4.Dataset(path) as nc:
    assert (nc["x"][:] == np.arange(100)).all()
""",
}


@pytest.mark.parametrize("order", list(itertools.permutations(USES)), ids=" ".join)
def test_in_any_order_of_import(tmp_path, order):
    path = tmp_path / "t.nc"
    write = f"""
import netCDF4, numpy as np
with netCDF4.Dataset({str(path)!r}, "w") as nc:
    nc.createDimension("n", 100)
    x = nc.createVariable("x", "f8", ("n",), zlib=True)
    x[:] = np.arange(100)
    x.setncattr_string("units", "K")
"""
    (tmp_path / "t.nc.bad").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(1000))
    use = f"import numpy as np\npath = {str(path)!r}\n"
    use += "".join(USES[name] for name in (*order, *order))
    for program in (write, use):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""


def test_a_file_that_h5py_has_open_for_writing_is_readable(tmp_path):
    path = tmp_path / "t.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(4.0)
        file.flush()
        dataset = open_file(str(path)).dataset("x")  # takes no file lock
        assert (dataset.read((0,), (4,)) == np.arange(4.0)).all()


def test_a_file_that_was_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "t.h5"
    kept = []
    for length in (3, 5):
        with h5py.File(path, "w") as file:
            file["x"] = np.arange(float(length))
        kept.append(open_file(str(path)))
        assert kept[-1].dataset("x").shape == (length,)
