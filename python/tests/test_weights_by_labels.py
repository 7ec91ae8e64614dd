# SPDX-License-Identifier: Apache-2.0
"""Weights that have labels belong to the elements that have them, in whatever order."""

import numpy as np
import pytest
import xarray as xr

import fluvial as fl


@pytest.fixture
def path(tmp_path):
    name = str(tmp_path / "lat.nc")
    values = {"v": ("lat", [1.0, 2, 3]), "gaps": ("lat", [1, np.nan, 1])}
    xr.Dataset(values, {"lat": [30.0, 20, 10]}).to_netcdf(name)
    return name


def weights(values, lat):
    return xr.DataArray(values, dims="lat", coords={"lat": lat})


def test_as_xarray_aligns_them(path):
    theirs = xr.open_dataset(path).load()["v"]
    lazy = xr.open_dataset(path)["v"]
    with fl.open(path) as file:
        v = file["v"]
        for some in (
            weights([1.0, 0, 0], [30.0, 20, 10]),
            weights([1.0, 0, 0], [10.0, 20, 30]),
            weights([0, 1.0, 0, 5], [10.0, 20, 30, 40]),
        ):
            for way in (slice(None), slice(None, None, -1), slice(1, None)):
                here = theirs.isel(lat=way)
                expected = float(here.weighted(some.sel(lat=here.lat)).mean())
                for ours in (
                    v.isel(lat=way).weighted(some),
                    v.isel(lat=way).weighted({"lat": some}),
                    lazy.isel(lat=way).fluvial.weighted(some),
                ):
                    np.testing.assert_equal(float(ours.mean()), expected)


def test_without_labels_they_go_by_position(path):
    plain = xr.DataArray([1.0, 0, 0], dims="lat")
    with fl.open(path) as file:
        assert float(file["v"].weighted(plain).mean()) == 1
        assert float(file["v"].isel(lat=slice(None, None, -1)).weighted(plain).mean()) == 3


def test_what_does_not_fit_is_refused(path):
    refused = {
        "other coordinates: got .*; allowed: .* such as 10": weights([1.0, 2], [30.0, 20]),
        "such as 30": weights([1.0, 2, 3], [30.0, 30, 10]),
    }
    with fl.open(path) as file:
        for message, some in refused.items():
            with pytest.raises(fl.InvalidArgument, match=message):
                file["v"].weighted(some)
        with pytest.raises(fl.InvalidArgument, match=r"other dimensions: got \('lon',\)"):
            file["v"].weighted({"lat": xr.DataArray([1.0, 2, 3], dims="lon")})
        with pytest.raises(fl.InvalidArgument, match="weights are missing: got NaN in 'gaps' at 1"):
            file["v"].weighted("gaps")
