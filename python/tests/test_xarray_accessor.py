# SPDX-License-Identifier: Apache-2.0
"""`ds.fluvial`: the same results as xarray's own, from the file, or a clear refusal."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reading_files.climate import climate, same, write

import fluvial as fl


@pytest.fixture
def opened(path):
    with xr.open_dataset(path) as dataset:
        yield dataset


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf"])
@pytest.mark.parametrize("op", ["mean", "sum", "min", "max", "std", "var", "count"])
def test_as_xarray(path, engine, op):
    with xr.open_dataset(path, engine=engine) as dataset:
        for dim in [None, "time", ("lat", "lon"), ...]:
            same(
                getattr(dataset["temperature"].fluvial, op)(dim),
                getattr(dataset["temperature"].astype("f8"), op)(dim),
            )
        whole = getattr(dataset.fluvial, op)("time")
        expected = getattr(dataset.astype("f8"), op)("time")
        assert set(whole) == set(expected)
        for name in expected:
            same(whole[name], expected[name])


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_random_selections(path, data):
    with xr.open_dataset(path) as dataset:
        array = dataset[data.draw(st.sampled_from(["temperature", "packed"]))]
        for dim in array.dims:
            step = st.sampled_from([None, 1, 2])
            some = st.builds(slice, st.none() | st.integers(-5, 3), st.none(), step)
            # Backwards from before the first element is nothing, but xarray 2026.9 reads from
            # the end there, beside empty coordinates (at least three elements in each dimension).
            back = st.builds(slice, st.none() | st.integers(-3, 3), st.none(), st.just(-1))
            array = array.isel({dim: data.draw(some | back | st.integers(-3, 2))})
        found = array.fluvial.reduce("mean")
        assert not array.variable._in_memory
        same(found, array.astype("f8").mean())


def test_only_the_file_is_read(opened):
    part = opened["temperature"].sel(lat=slice(50, -30)).transpose("lon", ...)
    assert part.fluvial.dataset().shape == (24, 3, 4, 8)
    part.fluvial.mean("time")
    assert not part.variable._in_memory


def test_values_in_memory_are_reduced_there(opened):
    double = opened["u"] * 2
    same(double.fluvial.mean("time"), double.astype("f8").mean("time"))
    loaded = opened["u"].load()
    loaded[0] = 1000
    same(loaded.fluvial.reduce("max", ["lat", "lon"]), loaded.max(["lat", "lon"]))
    both = double.fluvial.reduce(["min", "argmin"], "time")
    same(both["min"], double.min("time"))
    np.testing.assert_array_equal(both["argmin_time_index"], double.argmin("time"))


def test_what_cannot_be_found_in_the_file_is_refused(path, tmp_path, opened):
    with pytest.raises(fl.InvalidArgument, match=r"no file.*fl\.open"):
        (opened["u"] * 2).fluvial.dataset()
    with pytest.raises(fl.InvalidArgument, match="values in memory"):
        opened["u"].load().fluvial.dataset()
    with pytest.raises(fl.InvalidArgument, match="not regular"):
        opened["n"].isel(lat=[0, 1, 3]).fluvial.dataset()
    with pytest.raises(fl.InvalidArgument, match="new name of what the file calls"):
        opened["v"].rename("w").fluvial.mean()
    without = write(climate().drop_vars("lat"), tmp_path / "t.nc")
    with xr.open_dataset(without) as dataset:
        assert dataset["u"].fluvial.count() == dataset["u"].size
        with pytest.raises(fl.InvalidArgument, match="indexed in an unusual way"):
            points = xr.DataArray([0, 1], dims="lon")
            dataset["u"].isel(lat=points, lon=points).fluvial.count()
    with pytest.raises(fl.InvalidArgument, match="no such dimension: got 'x'"):
        opened.fluvial.mean("x")


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("chunks", [None, {}])
def test_folders_of_zarr(tmp_path, version, chunks):
    dataset = climate()
    path = tmp_path / "folder"
    packing = {"dtype": "i2", "scale_factor": 0.01, "add_offset": 273.0, "_FillValue": -32768}
    how = {"zarr_format": version, "consolidated": True}
    for variable in dataset.variables.values():
        variable.encoding = {}
    dataset["u"].encoding = {"_FillValue": -999.0, "chunks": (5, 3, 8)}
    dataset.to_zarr(path, encoding={"packed": packing}, **how)
    dataset.to_zarr(path, group="deep/er", mode="a", **how)
    with xr.open_zarr(path, chunks=chunks) as opened:
        with pytest.raises(fl.InvalidArgument, match="labels along 'lat' that were assigned"):
            opened["u"].assign_coords(lat=opened["lat"] + 1).fluvial.mean()
        for name in ("temperature", "packed", "u"):
            part = opened[name].isel(time=slice(3, 20, 4)).transpose("lon", ...)
            for over in (None, "time", ["lat", "lon"]):
                same(part.fluvial.mean(over), part.astype("f8").mean(over))
        whole = opened.fluvial.max("time")
        same(whole["u"], opened["u"].max("time"))
    with xr.open_dataset(path, engine="zarr", group="deep/er", chunks=chunks) as deep:
        assert deep["u"].fluvial.dataset().name == "deep/er/u"
        found = deep["u"].fluvial.max("time")
        del deep["u"].encoding["_FillValue"]  # as where xarray was told to take none for missing
        with pytest.raises(fl.InvalidArgument, match="got the fill value None, in the file"):
            deep["u"].fluvial.mean()
        same(found, deep["u"].max("time"))
    store = zarr.storage.MemoryStore()
    dataset.to_zarr(store, **how)
    refused = pytest.raises(fl.InvalidArgument, match=r"got no file .*folders of Zarr on this")
    with xr.open_zarr(store) as opened, refused:
        opened["u"].fluvial.mean()


def test_undecoded_and_valid_ranges_as_xarray_has_them(tmp_path):
    dataset = climate(holes=False)
    dataset["u"].attrs["valid_max"] = np.float32(1)
    path = write(dataset, tmp_path / "t.nc")
    with xr.open_dataset(path) as decoded, xr.open_dataset(path, decode_cf=False) as raw:
        same(decoded["u"].fluvial.max(), decoded["u"].max())
        same(raw["packed"].fluvial.max(), raw["packed"].max())
    assert fl.open(path)["u"].reduce("max") <= 1


@pytest.mark.parametrize("order", ["import fluvial, xarray", "import xarray, fluvial"])
def test_the_order_of_imports_does_not_matter(path, order):
    program = f"{order}; print(float(xarray.open_dataset({path!r})['u'].fluvial.count()))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "1344.0\n"


@pytest.mark.parametrize(
    "first",
    [
        "fluvial.open({!r})",
        "fluvial.File",
        "__import__('fluvial.xarray.accessor')",
        "fluvial.PendingScan",
    ],
)
def test_any_part_may_be_the_first_that_needs_xarray(path, first):
    program = f"import fluvial; {first.format(path)}; print(fluvial.open({path!r})['u'].size)"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "1344\n"


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """Files that hold eight times each; by name they are not in the order of time."""
    folder, whole = tmp_path_factory.mktemp("months"), climate()
    return [
        write(whole.isel(time=slice(at, at + 8)), folder / f"{name}.nc", "netcdf4")
        for at, name in ((0, "c"), (8, "a"), (16, "b"))
    ]


@pytest.fixture(params=["netcdf4", "h5netcdf", "fluvial"])
def joined(request, months):
    with xr.open_mfdataset(
        months, engine=request.param, data_vars="minimal", coords="minimal", compat="override"
    ) as dataset:
        yield dataset


def test_several_files_as_one(joined, months):
    t = joined["temperature"]
    assert t.fluvial.dataset().shape == t.shape
    same(t.fluvial.mean("time"), t.astype("f8").mean("time").compute())
    part = t.sel(lat=slice(50, -30)).isel(time=slice(4, 20)).transpose("lon", ...)
    same(part.fluvial.max("lon"), part.max("lon").compute())
    same(part.chunk(time=3).fluvial.mean("lat"), part.fluvial.mean("lat"))
    grouped = joined.fluvial.groupby("time.month").mean()["u"]
    expected = joined["u"].astype("f8").compute().groupby("time.month").mean()
    np.testing.assert_allclose(grouped, expected, rtol=1e-9)
    assert joined.fluvial.weighted("cos(lat)").mean("lat")["u"].shape == (24, 8)


def test_chunks_of_one_file(path):
    with xr.open_dataset(path, chunks={"time": 5}) as dataset:
        same(dataset["u"].fluvial.mean("time"), dataset["u"].astype("f8").mean("time").compute())


def test_what_was_computed_with_several_files_is_refused(joined):
    t = joined["temperature"]
    for changed in (t + 1, t.fillna(0), t.where(t > 270), t.astype("f8"), t.compute().chunk()):
        changed.encoding = dict(t.encoding)
        with pytest.raises(fl.InvalidArgument, match="no file that it comes from"):
            changed.fluvial.dataset()


def test_files_in_no_known_order_are_refused(tmp_path):
    for name in "ab":
        write(climate().drop_vars("time"), tmp_path / f"{name}.nc", "netcdf4")
    options = {"combine": "nested", "concat_dim": "time", "data_vars": "minimal"}
    options |= {"coords": "minimal", "compat": "override"}
    with (
        xr.open_mfdataset(str(tmp_path / "*.nc"), engine="netcdf4", **options) as dataset,
        pytest.raises(fl.InvalidArgument, match="no labels that tell the order"),
    ):
        dataset["u"].fluvial.mean("time")


ENGINES = [("netcdf4", "NETCDF3_CLASSIC"), ("h5netcdf", "NETCDF4"), ("fluvial", "NETCDF4")]
ENGINES += [("netcdf4", "NETCDF4")]


@pytest.fixture(params=ENGINES, ids=str)
def upside_down(request, tmp_path):
    """A file with latitudes and two variables, opened by each engine of xarray."""
    engine, kind = request.param
    t = np.arange(6.0).reshape(3, 2)
    lat = ("lat", [-60.0, 0, 60])
    made = xr.Dataset({"t": (("lat", "lon"), t), "u": (("lat", "lon"), t + 100)})
    made = made.assign_coords(lat=lat, lon=[0, 1])
    made["when"] = ("lat", np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[ns]"))
    made["b"] = xr.Variable("lat", np.array([-1, 2, 3], "i1"), {"_Unsigned": "true"})
    made.to_netcdf(tmp_path / "k.nc", format=kind, engine="scipy" if kind[6] == "3" else "h5netcdf")
    return lambda **options: xr.open_dataset(tmp_path / "k.nc", engine=engine, **options)


@pytest.mark.parametrize("chunks", [{}, {"chunks": {"lat": 2}}], ids=["lazy", "dask"])
def test_labels_that_were_assigned_are_not_the_files(upside_down, chunks):
    opened = upside_down(**chunks)
    found = opened.t.isel(lat=[2, 0]).fluvial.mean("lon")
    assert found.values.tolist() == [4.5, 0.5]
    assert opened.t.sortby("lat", ascending=False).fluvial.mean("lon").values[0] == 4.5
    flipped = opened.t.assign_coords(lat=-opened.lat)
    for array in (flipped, flipped.isel(lat=0), flipped.isel(lat=[0, 1])):
        with pytest.raises(fl.InvalidArgument, match="labels along 'lat' that were assigned"):
            array.fluvial.mean()
    same = opened.t.assign_coords(lat=opened.lat.values)
    assert same.fluvial.mean("lon").values.tolist() == [0.5, 2.5, 4.5]


@pytest.mark.parametrize("chunks", [{}, {"chunks": {}}], ids=["lazy", "dask"])
def test_a_renamed_variable_is_not_another_of_the_file(upside_down, chunks):
    opened = upside_down(**chunks)
    assert opened.t.fluvial.mean() == 2.5
    swapped = opened.rename({"t": "u", "u": "t"})
    for array in (opened.t.rename("u"), swapped.t, swapped.u.isel(lat=1)):
        with pytest.raises(fl.InvalidArgument, match="a new name of what the file calls"):
            array.fluvial.mean()


def test_times_are_no_numbers(upside_down):
    opened = upside_down()
    with pytest.raises(fl.InvalidArgument, match=r"datetime64.*no numbers"):
        opened.when.fluvial.max()


def test_unsigned_is_applied_where_xarray_applies_it(upside_down):
    for options in ({}, {"mask_and_scale": False}):
        b = upside_down(**options).b
        assert float(b.fluvial.mean()) == pytest.approx(float(b.mean()))


def assert_as_xarray_or_refused(array, dim):
    """What the file gives is what xarray has; or nothing is given."""
    try:
        found = array.fluvial.mean(dim)
    except fl.InvalidArgument as error:
        assert "labels along" in str(error) or "axes that were renamed" in str(error)
        return False
    same(found, array.mean(dim))
    return True


@pytest.mark.parametrize("chunks", [{}, {"chunks": {"lat": 2}}], ids=["lazy", "dask"])
def test_labels_that_kept_their_encoding_are_not_believed(upside_down, chunks):
    opened = upside_down(**chunks)
    lat = opened.lat
    for other in (lat.variable[::-1], lat.copy(data=-lat.values), lat[::-1].variable):
        assert not assert_as_xarray_or_refused(opened.t.assign_coords(lat=other), "lon")
    assert assert_as_xarray_or_refused(opened.t.isel(lat=slice(None, None, -1)), "lon")


@pytest.mark.parametrize("chunks", [{}, {"chunks": {"y": 2}}], ids=["lazy", "dask"])
@pytest.mark.parametrize("labels", [{}, {"y": [1, 2, 3], "x": [1, 2, 3]}], ids=["bare", "labelled"])
def test_positions_are_followed_without_labels(tmp_path, chunks, labels):
    square = xr.Dataset({"t": (("y", "x"), np.arange(9.0).reshape(3, 3))}, labels)
    square.to_netcdf(tmp_path / "s.nc")
    with xr.open_dataset(tmp_path / "s.nc", **chunks) as opened:
        t = opened.t
        assert not assert_as_xarray_or_refused(t.rename(y="x", x="y"), "x")
        assert not assert_as_xarray_or_refused(t.T.rename(y="x", x="y"), "x")
        for array in (
            t.T,
            t[::-1],
            t[1:, 0],
            t[:, -1],
            t.T[::-1, [2, 0]],
            t.isel(y=[2, 0]).T.isel(x=slice(1, 3)),
            t.isel(y=[0, 2]).chunk(),
            t.isel(y=slice(2, None, -2)).chunk({"x": 1}).T,
        ):
            assert assert_as_xarray_or_refused(array, array.dims[0])


def test_labels_of_joined_files_that_were_assigned_are_not_believed(joined):
    u, time = joined["u"], joined.time.values
    part = u.isel(time=slice(8, 16))
    for array in (
        u.assign_coords(time=time[::-1]),
        part.assign_coords(time=time[:8]),
        u.isel(time=3).assign_coords(time=time[4]),
    ):
        assert not assert_as_xarray_or_refused(array, "lon")
    for array in (u, part, u[::-1], u.isel(time=[20, 3]).T, u.isel(time=11)):
        assert assert_as_xarray_or_refused(array, "lon")


def test_dimensions_of_a_transposed_array_stay_in_its_order(opened):
    t = opened["temperature"].transpose("lon", "time", ...)
    double = t.astype("f8")
    for dim in t.dims:
        same(t.fluvial.mean(dim), double.mean(dim))
    several = t.fluvial.reduce(["min", "quantile(0.5)"], "lat")
    expected = tuple(dim for dim in t.dims if dim != "lat")
    assert all(several[name].dims[: len(expected)] == expected for name in several.data_vars)
    bins = t.fluvial.reduce("histogram(200:320:4)", "lat")
    counts = next(iter(bins.data_vars.values())) if isinstance(bins, xr.Dataset) else bins
    assert [dim for dim in counts.dims if dim in t.dims] == list(expected)


@pytest.mark.parametrize("engine", ["fluvial", "netcdf4", "h5netcdf"])
def test_a_variable_of_a_group_is_that_of_the_group(tmp_path, engine):
    path = tmp_path / "groups.nc"
    values = np.arange(12.0).reshape(3, 4)
    for number, group in enumerate([None, "g1", "g2", "g1/inner"]):
        made = xr.Dataset({"t": (("y", "x"), values * 10**number)}, attrs={"number": number})
        made.to_netcdf(path, mode="a" if group else "w", group=group, engine="h5netcdf")
    for number, group in enumerate([None, "g1", "g2", "g1/inner"]):
        with xr.open_dataset(path, engine=engine, group=group) as dataset:
            assert dataset.attrs["number"] == number
            assert dataset["t"].fluvial.reduce("sum") == 66 * 10**number
        with xr.open_dataset(path, engine=engine, group=group) as dataset:
            chosen = dataset["t"].isel(x=slice(1, 3))
            assert chosen.fluvial.reduce("sum") == values[:, 1:3].sum() * 10**number


def test_values_and_labels_are_decoded_each_as_xarray_was_told(tmp_path):
    paths = []
    for number in range(2):
        times = pd.date_range(f"2000-01-0{1 + 2 * number}", periods=2)
        data = xr.Dataset({"v": (("time", "y"), np.ones((2, 3)))}, {"time": times})
        paths.append(str(tmp_path / f"part{number}.nc"))
        data.to_netcdf(paths[-1], encoding={"v": {"dtype": "i2", "_FillValue": -9}})
    stored = xr.open_mfdataset(paths, mask_and_scale=False)["v"]
    xr.testing.assert_equal(
        stored.mean("y").compute(), stored.fluvial.mean("y").drop_vars("day", errors="ignore")
    )
    assert stored.fluvial.groupby("time.day").mean().sizes["day"] == 4
    plain = xr.open_dataset(paths[1], decode_times=False)["v"]
    xr.testing.assert_equal(plain.mean("y"), plain.fluvial.mean("y"))


def test_selections_without_elements(tmp_path):
    path = str(tmp_path / "empty.nc")
    xr.Dataset({"v": (("a", "b"), np.ones((2, 3)))}).to_netcdf(path)
    for chunks in (None, {}):
        v = xr.open_dataset(path, chunks=chunks)["v"]
        for some in (
            v.isel(b=slice(3, None)),
            v.transpose("b", "a").isel(b=slice(3, None)),
            v.transpose("b", "a").isel(a=slice(0, 0), b=1),
        ):
            assert float(some.fluvial.sum()) == 0
            assert np.isnan(float(some.fluvial.mean()))
