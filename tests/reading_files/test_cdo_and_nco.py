# SPDX-License-Identifier: Apache-2.0
"""The same numbers as CDO and NCO give, for every operation that they share with Fluvial."""

import itertools
import subprocess

import netCDF4
import numpy as np
import pytest
from fluvial.cli import command_line as cli
from reading_files.climate import climate, write

KINDS = ["classic", "netcdf4"]
T0 = "2000-01-16T00:00:00"


@pytest.fixture(scope="module", params=KINDS)
def path(request, tmp_path_factory):
    """Return a file on a regular grid, with CDO's areas of its cells along the latitudes.

    CDO draws cells with great circles, between which areas go with cos(lat) in the limit only.
    """
    folder = tmp_path_factory.mktemp("cdo")
    dataset = climate()[["temperature", "u", "packed"]]
    for name, axis in (("lat", "Y"), ("lon", "X"), ("time", "T"), ("level", "Z")):
        dataset[name].attrs["axis"] = axis
    dataset["level"].attrs["positive"] = "down"
    once = write(dataset, folder / "once.nc", request.param)
    ran("cdo", "-s", "-b", "F64", "gridweights", "-selname,u", once, folder / "weights.nc")
    dataset["area"] = ("lat", values_of(folder / "weights.nc", "cell_weights")[:, 0])
    return write(dataset, folder / "t.nc", request.param)


def ran(*command):
    result = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=60
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def values_of(path, name):
    """Return a variable without the axes of length 1 that CDO and NCO leave; NaN where missing."""
    with netCDF4.Dataset(path) as nc:
        return np.squeeze(np.ma.filled(np.ma.asarray(nc[name][...], "f8"), np.nan))


def ours(path, out, name, *options):
    words = ["reduce", path, name, "--out", out, *options]
    cli.app([str(word) for word in words], standalone_mode=False)  # in this process: it is faster
    op = next((w for o, w in itertools.pairwise(options) if o == "--op"), "mean")
    return values_of(out, op)


CDO = {
    # Over time; all of these pass over missing values.
    "timmean": ["--op", "mean", "--over", "time"],
    "timsum": ["--op", "sum", "--over", "time"],
    "timmin": ["--op", "min", "--over", "time"],
    "timmax": ["--op", "max", "--over", "time"],
    "timstd": ["--op", "std", "--over", "time"],
    "timvar": ["--op", "variance", "--over", "time"],
    "timavg": ["--op", "mean", "--over", "time", "--no-skipna"],
    # Over the sphere, weighted by area.
    "fldmean": ["--op", "mean", "--over", "lat,lon", "--weights", "area"],
    "fldmin": ["--op", "min", "--over", "lat,lon"],
    "fldmax": ["--op", "max", "--over", "lat,lon"],
    "fldsum": ["--op", "sum", "--over", "lat,lon"],
    "fldstd": ["--op", "std", "--over", "lat,lon", "--weights", "area"],
    "zonmean": ["--op", "mean", "--over", "lon"],
    "zonmax": ["--op", "max", "--over", "lon"],
    "zonstd": ["--op", "std", "--over", "lon"],
    "mermin": ["--op", "min", "--over", "lat"],
    "mermean": ["--op", "mean", "--over", "lat", "--weights", "area"],
    "vertmean": ["--op", "mean", "--over", "level"],
    "vertsum": ["--op", "sum", "--over", "level"],
    # Groups of months and years.
    "monmean": ["--op", "mean", "--over", "time", "--resample", "time=MS"],
    "monmax": ["--op", "max", "--over", "time", "--resample", "time=MS"],
    "yearmean": ["--op", "mean", "--over", "time", "--groupby", "time.year"],
    "ymonmean": ["--op", "mean", "--over", "time", "--groupby", "time.month"],
    "ymonmin": ["--op", "min", "--over", "time", "--groupby", "time.month"],
}


@pytest.mark.parametrize(
    ("operation", "name"),
    [("vertmean", "temperature"), ("vertsum", "temperature")]
    + [(o, n) for o in CDO if not o.startswith("vert") for n in ("temperature", "packed")],
)
def test_as_cdo(path, tmp_path, operation, name):
    word = f"{operation},weights=false" if operation.startswith("vert") else operation
    ran("cdo", "-s", "-b", "F64", word, f"-selname,{name}", path, tmp_path / "cdo.nc")
    expected = values_of(tmp_path / "cdo.nc", name)
    found = ours(path, tmp_path / "ours.nc", name, *CDO[operation])
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-4)


def test_the_cosine_is_cdos_area_on_a_fine_grid(tmp_path):
    ran("cdo", "-s", "-b", "F64", "-f", "nc4", "topo,r360x180", tmp_path / "topo.nc")
    ran("cdo", "-s", "fldmean", tmp_path / "topo.nc", tmp_path / "c.nc")
    weights = "--weights", "cos(lat)"
    found = ours(tmp_path / "topo.nc", tmp_path / "o.nc", "topo", "--over", "lat,lon", *weights)
    np.testing.assert_allclose(found, values_of(tmp_path / "c.nc", "topo"), rtol=1e-4)


@pytest.mark.parametrize(
    ("cdo", "selection"),
    [
        ("-sellonlatbox,90,225,-30,50", ["--where", "lat=-30:50", "--where", "lon=90:225"]),
        ("-sellevel,500", ["--where", "level=500"]),
        ("-seldate,2000-03-01,2000-03-31", ["--where", "time=2000-03"]),
        ("-seltimestep,2/20/6", ["--isel", "time=1:20:6"]),
        ("-seldate,2000-02-01,2000-05-31", ["--where", "time=2000-02-01:2000-05-31"]),
    ],
)
def test_selections_as_cdo(path, tmp_path, cdo, selection):
    ran("cdo", "-s", "-b", "F64", "timmean", cdo, "-selname,temperature", path, tmp_path / "c.nc")
    expected = values_of(tmp_path / "c.nc", "temperature")
    found = ours(path, tmp_path / "o.nc", "temperature", "--over", "time", *selection)
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_a_mask_as_cdo(path, tmp_path):
    expression = "u=(u>2)?u:missval(u)"
    ran("cdo", "-s", "-b", "F64", "timmean", f"-expr,{expression}", path, tmp_path / "c.nc")
    found = ours(path, tmp_path / "o.nc", "u", "--over", "time", "--mask", "u > 2")
    np.testing.assert_allclose(found, values_of(tmp_path / "c.nc", "u"), rtol=2e-6)


def test_files_as_one_as_cdo(path, tmp_path):
    ran("cdo", "-s", "splitmon", path, tmp_path / "month_")
    ran("cdo", "-s", "-b", "F64", "timmean", "-selname,u", path, tmp_path / "c.nc")
    found = ours(f"{tmp_path}/month_*.nc", tmp_path / "o.nc", "u", "--over", "time")
    np.testing.assert_allclose(found, values_of(tmp_path / "c.nc", "u"), rtol=2e-6)


NCO = {
    "avg": ["--op", "mean"],
    "ttl": ["--op", "sum"],
    "min": ["--op", "min"],
    "max": ["--op", "max"],
}


@pytest.mark.parametrize("operation", NCO)
@pytest.mark.parametrize("dims", ["time", "lat,lon", "time,level,lat,lon"])
def test_as_ncwa(path, tmp_path, operation, dims):
    out = tmp_path / "nco.nc"
    ran("ncwa", "-O", "-d", "lat,1,5", "-v", "temperature", "-y", operation, "-a", dims, path, out)
    found = ours(
        *(path, tmp_path / "o.nc", "temperature", "--isel", "lat=1:6", "--over", dims),
        *NCO[operation],
    )
    np.testing.assert_allclose(found, values_of(out, "temperature"), rtol=1e-5)


def test_as_ncra_with_a_stride(path, tmp_path):
    ran("ncra", "-O", "-d", "time,1,20,6", "-v", "u", path, tmp_path / "nco.nc")
    found = ours(path, tmp_path / "o.nc", "u", "--over", "time", "--isel", "time=1:21:6")
    np.testing.assert_allclose(found, values_of(tmp_path / "nco.nc", "u"), rtol=1e-5)


def test_cdo_and_nco_read_what_we_write(path, tmp_path):
    out = tmp_path / "o.nc"
    ours(path, out, "temperature", "--over", "lat,lon", "--isel", "level=0")
    assert T0.split("T")[0] in ran("cdo", "-s", "showdate", out)
    assert 'mean:units = "K"' in ran("ncks", "-m", out)
