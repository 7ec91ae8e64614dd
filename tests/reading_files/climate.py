# SPDX-License-Identifier: Apache-2.0
"""A small climate data set, and files of it, for the tests of reductions of files."""

import numpy as np
import xarray as xr

T, Z, Y, X = 24, 3, 7, 8
FORMATS = {
    "classic": {"format": "NETCDF3_CLASSIC"},
    "64bit": {"format": "NETCDF3_64BIT"},
    "cdf5": {"format": "NETCDF3_64BIT_DATA"},
    "netcdf4": {"format": "NETCDF4"},
    "chunked": {"format": "NETCDF4", "chunks": True},
}


def climate(seed=1, holes=True):
    """Return a Dataset: temperature (time, level, lat, lon), wind (time, lat, lon) and more."""
    rng = np.random.default_rng(seed)
    coords = {
        "time": ("time", 30.0 * np.arange(T) + 15, {"units": "days since 2000-01-01"}),
        "level": ("level", np.float32([850, 500, 200]), {"units": "hPa"}),
        "lat": ("lat", np.linspace(75, -75, Y), {"units": "degrees_north"}),
        "lon": ("lon", 45.0 * np.arange(X), {"units": "degrees_east"}),
    }
    temperature = rng.normal(270, 20, (T, Z, Y, X)).astype("f4")
    wind = rng.normal(0, 8, (2, T, Y, X)).astype("f4")
    if holes:
        temperature[rng.random(temperature.shape) < 0.1] = np.nan
        temperature[:, 0, 2, 3] = np.nan  # a place where there is never a value
    return xr.Dataset(
        {
            "temperature": (
                ("time", "level", "lat", "lon"),
                temperature,
                {"units": "K", "standard_name": "air_temperature", "long_name": "air"},
            ),
            "u": (("time", "lat", "lon"), wind[0], {"units": "m s-1"}),
            "v": (("time", "lat", "lon"), wind[1], {"units": "m s-1"}),
            "packed": (("time", "lat", "lon"), (wind[0] * 3).astype("f8"), {"units": "m s-1"}),
            "n": (("time", "lat", "lon"), rng.integers(-99, 99, (T, Y, X)).astype("i4")),
            "height": ((), 2.0, {"units": "m"}),
        },
        coords,
    )


def write(dataset, path, kind="cdf5", **encoding):
    """Write the data set in a format; the fill value of temperature is a number."""
    how = dict(FORMATS[kind])
    chunked = how.pop("chunks", False)
    encoding = {
        "temperature": {"_FillValue": np.float32(1e20)},
        "packed": {
            "dtype": "i2",
            "scale_factor": 0.01,
            "add_offset": 1.5,
            "_FillValue": np.int16(-32768),
        },
    } | encoding
    encoding = {name: value for name, value in encoding.items() if name in dataset}
    if chunked:
        for name, chunks in {"temperature": (5, 2, 3, 8), "u": (24, 2, 2)}.items():
            options = {"chunksizes": chunks, "zlib": True, "complevel": 1, "shuffle": True}
            if name in dataset:
                encoding[name] = encoding.get(name, {}) | options
    plain = {name: {"_FillValue": None} for name in dataset.variables if name not in encoding}
    dataset.to_netcdf(
        path, engine="netcdf4", encoding=plain | encoding, unlimited_dims=["time"], **how
    )
    return str(path)


def same(found, expected, rtol=1e-5):
    """Compare a DataArray with xarray's own: numbers to rounding, dimensions and coordinates."""
    assert found.dims == expected.dims
    assert found.shape == expected.shape
    np.testing.assert_allclose(
        found.values.astype("f8"), expected.values.astype("f8"), rtol=rtol, atol=1e-6
    )
    for name in expected.coords:
        assert name in found.coords, name
        np.testing.assert_array_equal(found.coords[name].values, expected.coords[name].values)
