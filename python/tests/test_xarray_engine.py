# SPDX-License-Identifier: Apache-2.0
"""xarray.open_dataset(path, engine="fluvial"): what xarray's own engines read."""

import subprocess
import sys

import numpy as np
import pytest
import xarray as xr
from reading_files.climate import FORMATS, climate, write

import fluvial as fl


@pytest.mark.parametrize("kind", FORMATS)
def test_as_another_engine(tmp_path, kind):
    dataset = climate()
    if kind not in ("netcdf4", "chunked"):
        dataset["n"] = dataset["n"].astype("i4")
    path = write(dataset, tmp_path / "t.nc", kind)
    with (
        xr.open_dataset(path, engine="fluvial") as found,
        xr.open_dataset(path, engine="netcdf4") as expected,
    ):
        assert not found["temperature"].variable._in_memory
        xr.testing.assert_identical(found.load(), expected.load())


@pytest.mark.parametrize(
    "options", [{"decode_cf": False}, {"decode_times": False}, {"drop_variables": "u"}]
)
def test_options(tmp_path, options):
    path = write(climate(), tmp_path / "t.nc", "netcdf4")
    with (
        xr.open_dataset(path, engine="fluvial", **options) as found,
        xr.open_dataset(path, engine="netcdf4", **options) as expected,
    ):
        xr.testing.assert_identical(found.load(), expected.load())


KEYS = [
    np.s_[0],
    np.s_[-1, 2],
    np.s_[::2, ::-1],
    np.s_[20:3:-4, 1:5:3, -2],
    np.s_[5:5],
    np.s_[[0, 3, 1]],
    np.s_[[2, 0], [1, 1]],
    np.s_[:, np.array([True] * 3 + [False] * 4)],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_selections(tmp_path, key):
    path = write(climate(), tmp_path / "t.nc", "chunked")
    with (
        xr.open_dataset(path, engine="fluvial") as found,
        xr.open_dataset(path, engine="netcdf4") as expected,
    ):
        xr.testing.assert_identical(found["u"][key].load(), expected["u"][key].load())


def test_the_accessor_reduces_the_file(tmp_path):
    path = write(climate(), tmp_path / "t.nc", "chunked")
    with xr.open_dataset(path, engine="fluvial") as dataset:
        found = dataset.fluvial.mean("time")
        assert not dataset["u"].variable._in_memory
        np.testing.assert_allclose(found["u"], dataset["u"].astype("f8").mean("time"), rtol=1e-12)


def test_groups_and_axes_without_names(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["a"] = np.arange(6.0).reshape(2, 3)
        file["b"] = np.arange(4)
        file["inner/c"] = np.arange(5, dtype="i2")
        file.attrs["title"] = "two"
    with xr.open_dataset(tmp_path / "t.h5", engine="fluvial") as dataset:
        assert dataset["a"].dims == ("dim_0", "dim_1")
        assert dataset["b"].dims == ("b_dim_0",)
        assert dataset.attrs["title"] == "two"
        np.testing.assert_array_equal(dataset["a"].sum("dim_0"), [3, 5, 7])
    with xr.open_dataset(tmp_path / "t.h5", engine="fluvial", group="inner") as dataset:
        assert list(dataset) == ["c"]
        np.testing.assert_array_equal(dataset["c"], np.arange(5))


def test_what_is_no_file_is_an_error(tmp_path):
    (tmp_path / "t.txt").write_text("no file of ours")
    with pytest.raises(fl.InvalidArgument, match=r"t\.txt"):
        xr.open_dataset(tmp_path / "t.txt", engine="fluvial")
    with pytest.raises(FileNotFoundError):
        xr.open_dataset(tmp_path / "none.nc", engine="fluvial")


def test_xarray_finds_the_engine_by_itself():
    program = "import xarray; print('fluvial' in xarray.backends.list_engines())"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "True\n"


def test_an_unknown_group_is_an_error_that_names_the_groups(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "t.h5", "w") as file:
        file["outer/inner/c"] = np.arange(5)
    with pytest.raises(fl.UnknownName, match="'nog'; allowed: 'outer', 'outer/inner'"):
        xr.open_dataset(tmp_path / "t.h5", engine="fluvial", group="nog")
    with xr.open_dataset(tmp_path / "t.h5", engine="fluvial", group="outer/inner") as dataset:
        assert list(dataset) == ["c"]
