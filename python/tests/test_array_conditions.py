# SPDX-License-Identifier: Apache-2.0
"""Arrays of bool as conditions of datasets of files: which elements count, as in xarray."""

import pickle

import numpy as np
import pytest
import xarray as xr
from harness import scenario
from harness.refusal import refused
from reading_files.climate import FORMATS, climate, same, write

import fluvial as fl


@pytest.fixture
def both(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        yield file["temperature"], dataset["temperature"].load().astype("f8")


def selected(rng, sizes):
    """Return a random selection by `isel`: slices both ways, with steps, and single positions."""
    chosen = {}
    for dim, length in sizes.items():
        kind = rng.integers(5)
        if kind == 0:
            chosen[dim] = int(rng.integers(length))
        elif kind < 4:
            begin, end = sorted(rng.integers(0, length + 1, 2).tolist())
            step = int(rng.integers(1, 4))
            upwards = slice(begin, max(end, begin + 1), step)
            chosen[dim] = upwards if kind < 3 else list(range(length))[upwards][::-1]
    return chosen


def random_mask(rng, array):
    """Return a random array of bool for an array: bare, or labelled with some of its dimensions."""
    if rng.random() < 0.3:
        return rng.random(array.shape) < 0.6
    dims = [str(dim) for dim in rng.permutation(array.dims) if rng.random() < 0.7]
    coords = {d: array[d] for d in dims if d in array.coords and rng.random() < 0.6}
    shape = [array.sizes[d] for d in dims]
    return xr.DataArray(rng.random(shape) < 0.6, coords, dims)


def labelled(mask, array):
    """Return a mask as xarray takes it: with the dimensions of an array."""
    return mask if isinstance(mask, xr.DataArray) else xr.DataArray(mask, dims=array.dims)


def compare(file, dataset, seed, **options):
    """Compare random selections and masks, before and after one another, with xarray's."""
    rng = np.random.default_rng(seed)
    name = ["temperature", "u", "packed", "n"][seed % 4]
    found, expected = file[name], dataset[name]
    for _ in range(2):
        chosen = selected(rng, expected.sizes)
        found, expected = found.isel(chosen), expected.isel(chosen)
        mask = random_mask(rng, expected)
        found, expected = found.where(mask), expected.where(labelled(mask, expected))
    expected = expected.transpose(*found.dims)
    same(found.read(), expected)
    over = [dim for dim in expected.dims if rng.random() < 0.5] or None
    for op in ("sum", "count"):
        same(found.reduce(op, over, **options), getattr(expected, op)(over))
    if expected.size:
        same(found.reduce("max", over, **options), expected.max(over))
        same(found.reduce("mean", over, skipna=False, **options), expected.mean(over, skipna=False))


@pytest.mark.parametrize("kind", FORMATS)
def test_random_selections_and_masks_are_xarrays(tmp_path, kind):
    path = write(climate(), tmp_path / "t.nc", kind)
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        dataset = dataset.load().astype("f8")
        for seed in range(60):
            compare(file, dataset, seed)


def test_groups_weights_and_several_datasets(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        u, v = (dataset[name].load().astype("f8") for name in ("u", "v"))
        rng = np.random.default_rng(3)
        mask = xr.DataArray(rng.random((7, 24)) < 0.5, dims=("lat", "time"))
        by_month = (x.where(mask).groupby("time.month").sum() for x in (file["u"], u))
        same(*by_month)
        cosine = np.cos(np.deg2rad(u["lat"]))
        found = file["u"].where(mask).weighted("cos(lat)").mean(("lat", "lon"))
        same(found, u.where(mask).weighted(cosine).mean(("lat", "lon")))
        faster = file.reduce(fl.ops.Apply(np.hypot, "max"), ["u", "v"], "time", where=mask)
        same(faster, np.hypot(u, v).where(mask).max("time").transpose("lat", "lon"))
        both = (x.where(mask).where(y > 0).mean() for x, y in ((file["u"], file["v"]), (u, v)))
        same(*both)
        found = file["u"].where(file["u"].where(mask) > 1).count()
        assert found == int((u.where(mask.transpose()) > 1).sum())
        part = file["u"].reduce("count", where=mask[::2], selection=np.s_[:, ::2])
        assert part == int(mask[::2].sum()) * 8


def test_several_files_are_masked_as_one(tmp_path):
    for i, part in enumerate((slice(9), slice(9, 10), slice(10, None))):
        kind = ["cdf5", "chunked", "cdf5"][i]
        write(climate().isel(time=part), tmp_path / f"t_{i}.nc", kind)
    u = climate()["u"].astype("f8")
    mask = np.random.default_rng(4).random(u.shape) < 0.4
    chosen = {"time": slice(20, 2, -3), "lat": slice(1, 6, 2)}
    with fl.open(str(tmp_path / "t_*.nc")) as file:
        found = file["u"].where(mask).isel(chosen)
        expected = u.where(xr.DataArray(mask, dims=u.dims)).isel(chosen)
        same(found.sum("lat").drop_vars("time"), expected.sum("lat").drop_vars("time"))
        np.testing.assert_allclose(found.read().values, expected.values)


def test_scalars_and_empty_selections(path):
    with fl.open(path) as file:
        height = file["height"]
        assert height.where(np.array(True)).sum() == 2
        assert height.where(np.True_).sum() == height.reduce("sum", where=np.True_) == 2
        assert height.reduce("count", where=np.False_) == 0
        assert height.where(xr.DataArray(False)).count() == 0
        nothing = file["u"].isel(lat=slice(0))
        assert nothing.where(np.ones((24, 0, 8), bool)).count() == 0


def test_live_steps(tmp_path):
    values = np.arange(12.0).reshape(3, 4)
    array = xr.DataArray(values, dims=("x", "y"))
    mask = xr.DataArray([True, False, True, True], dims="y")
    with (
        fl.open("live", "w", readers=0, directory=str(tmp_path)) as writer,
        fl.open("live", directory=str(tmp_path)) as series,
    ):
        with writer.step() as step:
            step.put("t", array)
            step.put("one", np.float64(2))
        step = series.next()
        t = step["t"]
        for yes, total in ((np.True_, 2), (np.False_, 0)):
            assert step["one"].reduce("sum", where=yes) == total
            assert step["one"].where(yes).sum() == total
            assert step.reduce("sum", "one", where=yes) == total
        same(t.where(mask).sum("x"), array.where(mask).sum("x"))
        same(t.where(values > 5).isel(x=2).read(), array.where(array > 5).isel(x=2))
        same(t.reduce("sum", "y", where=mask), array.where(mask).sum("y"))


def test_an_array_that_changes_later_counts_as_it_was(both):
    dataset, array = both
    mask = np.random.default_rng(5).random(array.shape) < 0.5
    found, expected = dataset.where(mask), array.where(xr.DataArray(mask, dims=array.dims))
    mask[...] = True
    assert found.count() == int(expected.count())
    assert pickle.loads(pickle.dumps(found)).count() == int(expected.count())


def test_what_is_masked_is_not_true(both):
    dataset, array = both
    hidden = np.random.default_rng(6).random(array.shape) < 0.5
    mask = np.ma.array(np.ones(array.shape, bool), mask=hidden)
    assert dataset.where(mask).count() == int(array.notnull().values[~hidden].sum())


def test_memory_is_that_of_pieces(tmp_path):
    """The dataset is 64 MiB; nothing of its size, nor of the mask's bytes, is held at once."""
    import tracemalloc

    shape = (64, 512, 512)
    values = xr.DataArray(np.ones(shape, "f4"), dims=("z", "y", "x"), name="t")
    values.to_netcdf(tmp_path / "t.nc", format="NETCDF3_64BIT_DATA", engine="netcdf4")
    mask = np.zeros(shape, bool)
    mask[::2] = True
    with fl.open(tmp_path / "t.nc") as file:
        tracemalloc.start()
        found = file["t"].where(mask).sum()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert found == mask.sum()
    assert most < mask.nbytes / 2


def test_what_does_not_fit_is_refused(both):
    dataset, array = both
    some = xr.DataArray(np.ones(7, bool), {"lat": array["lat"]}, ("lat",))

    def refuses(condition, *words):
        with pytest.raises(fl.InvalidArgument) as refused:
            dataset.where(condition)
        assert all(word in str(refused.value) for word in words), str(refused.value)

    refuses(np.ones(array.shape), "got an array of float64", "allowed: dtype bool", "array > 0")
    refuses(some.astype("i4"), "got a DataArray of int32", "allowed: dtype bool")
    refuses(np.ones((7, 8), bool), "got shape (7, 8)", "(24, 3, 7, 8)", "time, level, lat, lon")
    for yes in (np.array(True), np.True_):
        refuses(yes, "got shape ()", "DataArray with named dimensions")
    refuses(some.rename(lat="y"), "got 'y'", "'time', 'level', 'lat', 'lon'")
    refuses(some[:1].drop_vars("lat"), "along 'lat': got length 1; allowed: 7")
    refuses(some.assign_coords(lat=np.arange(7)), "other coordinates along 'lat'", "xarray.align")
    refuses([True, False], "not a condition: got [True, False]", "numpy.array")
    refuses(True, "not a condition: got True")
    one = dataset.isel(lat=0)
    with pytest.raises(fl.InvalidArgument, match="got 'lat'"):
        one.where(some)
    masked = dataset.where(some)
    with pytest.raises(fl.InvalidArgument, match=r"joined by & alone.*then give the array"):
        (masked > 3) | (masked < 1)
    assert repr(masked > 3) == "<fluvial: where an array of bool and temperature > 3.0>"


def on_ranks(comm, fl, where):
    path = where / f"t_of_{comm.size}.nc"
    if comm.rank == 0:
        write(climate(), path, "chunked")
    comm.barrier()
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        dataset = dataset.load().astype("f8")
        for seed in range(24):
            compare(file, dataset, seed, buffer="4 KiB")


def ranks_differ(comm, fl, where):
    path = where / "t.nc"
    if comm.rank == 0:
        write(climate(holes=False), path)
    comm.barrier()
    rng = np.random.default_rng(7)
    with fl.open(path) as file:
        u = file["u"]
        mask = rng.random(u.shape) < 0.5
        last = comm.rank == comm.size - 1
        odd = mask.copy()
        odd[-1, -1, -1] ^= last
        words = "the ranks differ in the arrays", f"on rank {comm.size - 1}", "t.where(array).isel"
        refused(fl, u.where(odd).sum, *words)
        refused(fl, (u.where(mask) if last else u).sum, *words[:1])
        mine = slice(5 * comm.rank, 5 * comm.rank + 5)
        part = u.where(mask).isel(time=mine)
        whole = mask[: 5 * comm.size]
        values = u.read(np.s_[: 5 * comm.size]).values.astype("f8")
        found = part.sum(shuffle="to-one")
        np.testing.assert_allclose(found, values[whole].sum())
        found = part.sum(shuffle="to-all")
        np.testing.assert_allclose(found, values[mine][mask[mine]].sum())
        refused(fl, lambda: u.isel(time=mine).where(mask[mine]).sum(shuffle="to-one"), words[0])
        alone = u.isel(time=mine).where(mask[mine])
        for options in ({"local": True}, {"mode": "independent"}):
            np.testing.assert_allclose(alone.sum(**options), values[mine][mask[mine]].sum())
        assert u.where(mask).count() == mask.sum()  # all is well again


@scenario(
    "program on 1 ranks, second program on 2 ranks, third program on 3 ranks", program=on_ranks
)
def test_on_1_to_3_ranks(jobs):
    jobs.finish()


@scenario("program on 3 ranks", program=ranks_differ)
def test_ranks_give_the_same_array(jobs):
    jobs.finish()
