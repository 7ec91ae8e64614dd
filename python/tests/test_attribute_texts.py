# SPDX-License-Identifier: Apache-2.0
"""What the libraries of HDF5 and ADIOS2 would cut off or have no room for is refused in time."""

import numpy as np
import pytest

import fluvial as fl

X = np.arange(4.0)
WITH_NUL = {
    "the name of a dataset has a NUL": lambda step: step.put("a\0b", X),
    "attribute 'comment' of 'x' has a NUL": lambda step: step.put("x", X, attrs={"comment": "a\0"}),
    "the name of an attribute of 'x' has a NUL": lambda step: step.put("x", X, attrs={"a\0": 1}),
    "attribute 'words' of 'x' has a NUL": lambda step: step.put(
        "x", X, attrs={"words": ["", "\0"]}
    ),
}
TOO_LARGE = ["x" * 64_001, "\u00e9" * 32_001, np.zeros(8_001), ["x" * 33_000, "y"]]


@pytest.mark.parametrize("suffix", ["h5", "bp"])
@pytest.mark.parametrize("message", WITH_NUL)
def test_texts_with_a_nul(tmp_path, suffix, message):
    path = tmp_path / f"a.{suffix}"
    with fl.open(str(path), "w") as series:
        with pytest.raises(fl.InvalidArgument, match=message), series.step() as step:
            WITH_NUL[message](step)
        with series.step() as step:
            step.put("x", X, attrs={"comment": "of the next step"})
    with fl.open(str(path)) as series:
        assert [step["x"].attrs["comment"] for step in series] == ["of the next step"]


@pytest.mark.parametrize("suffix", ["h5", "bp"])
def test_a_text_with_a_nul_of_a_series(tmp_path, suffix):
    with fl.open(str(tmp_path / f"a.{suffix}"), "w") as series:
        series.attrs["author"] = "a\0b"
        refused = pytest.raises(
            fl.InvalidArgument, match="attribute 'author' of the series has a NUL"
        )
        with refused, series.step() as step:
            step.put("x", X)


@pytest.mark.parametrize("suffix", ["h5", "bp"])
def test_an_attribute_without_a_name(tmp_path, suffix):
    path = str(tmp_path / f"a.{suffix}")
    with fl.open(path, "w") as series:
        series.attrs[""] = "y"
        for _ in range(2):
            refused = pytest.raises(
                fl.InvalidArgument, match="an attribute of the series has no name"
            )
            with refused, series.step() as step:
                step.put("x", X)
        del series.attrs[""]
        series.attrs["author"] = "somebody"
        with (
            pytest.raises(fl.InvalidArgument, match="an attribute of 'x' has no name"),
            series.step() as step,
        ):
            step.put("x", X, attrs={"": 1})
        with series.step() as step:
            step.put("x", X, attrs={"comment": "with a name"})
    with fl.open(path) as series:
        assert series.attrs["author"] == "somebody"
        assert len(list(series)) == 1


def test_a_file_that_could_not_be_made_is_made_by_the_next_step(tmp_path, monkeypatch):
    pytest.importorskip("h5py")
    from fluvial.store import hdf5_output

    path = str(tmp_path / "a.h5")
    with fl.open(path, "w") as series:
        series.attrs["author"] = "somebody"
        with monkeypatch.context() as patch:

            def fail(*_):
                raise ValueError("no attributes now")

            patch.setattr(hdf5_output, "set_attributes", fail)
            with pytest.raises(ValueError, match="no attributes now"), series.step() as step:
                step.put("x", X)
        with series.step() as step:
            step.put("x", X)
    with fl.open(path) as series:
        assert series.attrs["author"] == "somebody"


@pytest.mark.parametrize("engine", ["hdf5", "netcdf4"])
@pytest.mark.parametrize("value", TOO_LARGE)
def test_attributes_that_are_too_large_for_hdf5(tmp_path, engine, value):
    if engine == "netcdf4" and isinstance(value, list):
        pytest.skip("netCDF has no lists of texts")
    with fl.open(str(tmp_path / ("a.h5" if engine == "hdf5" else "a.nc4")), "w") as series:
        refused = pytest.raises(fl.InvalidArgument, match=r"too large .* got 6.* Put it as a")
        with refused, series.step() as step:
            step.put("x", X, attrs={"comment": value})
        fits = value[:32_000] if isinstance(value, str) else np.zeros(8_000)
        with series.step() as step:
            step.put("x", X, attrs={"comment": fits})
