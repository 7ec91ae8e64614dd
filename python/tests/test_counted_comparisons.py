# SPDX-License-Identifier: Apache-2.0
"""Numbers and fractions of elements for which comparisons are true, as xarray gives them."""

import functools
import operator
import pickle
import re

import numpy as np
import pytest
import xarray as xr
from harness import scenario
from harness.refusal import refused
from reading_files.climate import FORMATS, climate, write

import fluvial as fl

SIGNS = ["lt", "le", "gt", "ge", "eq", "ne"]
WORDS = ["sum", "mean", "any", "all"]


@pytest.fixture
def both(path):
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        yield file, dataset.load()


def same(found, expected):
    """Compare with xarray's own: dtype, name, dimensions, coordinates, and numbers to the bit."""
    assert isinstance(found, xr.DataArray)
    assert found.dtype == expected.dtype
    assert (found.name, found.attrs) == (expected.name, {})
    xr.testing.assert_equal(found, expected)


def condition(rng, name):
    """Return a random function of a dataset to comparisons of it, which & and | join, and ~."""
    bounds = {"temperature": (250, 290), "n": (-99, 99)}.get(name, (-8, 8))

    def one():
        sign = getattr(operator, SIGNS[rng.integers(len(SIGNS))])
        bound = float(rng.integers(*bounds))
        return [
            lambda x: sign(x, bound),
            lambda x: sign(x * 2 - 1, bound),
            lambda x: sign(abs(x), bound),
            lambda x: ~sign(x, bound),
        ][rng.integers(4)]

    a, b = one(), one()
    return [a, lambda x: a(x) & b(x), lambda x: a(x) | b(x), lambda x: ~(a(x) & b(x))][
        rng.integers(4)
    ]


def compare(file, dataset, seed, **options):
    """Compare random comparisons of a random selection with xarray's."""
    rng = np.random.default_rng(seed)
    name = ["temperature", "u", "packed", "n"][seed % 4]
    found, expected = file[name], dataset[name]
    if name != "n":
        expected = expected.astype("f8")
    chosen = {
        dim: [slice(None), slice(None, None, -2), slice(1, 4), int(rng.integers(length))][
            rng.integers(4)
        ]
        for dim, length in expected.sizes.items()
    }
    found, expected = found.isel(chosen), expected.isel(chosen)
    if rng.random() < 0.4:
        found, expected = (x.where(x != 2) for x in (found, expected))
        found, expected = (x.where(x < 280) for x in (found, expected))
    is_true = condition(rng, name)
    over = [dim for dim in expected.dims if rng.random() < 0.5] or None
    for word in WORDS:
        same(getattr(is_true(found), word)(over, **options), getattr(is_true(expected), word)(over))


@pytest.mark.parametrize("kind", FORMATS)
def test_random_comparisons_are_xarrays(tmp_path, kind):
    path = write(climate(), tmp_path / "t.nc", kind)
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        dataset.load()
        for seed in range(60):
            compare(file, dataset, seed)


def test_what_is_missing_is_unequal_and_else_false(both):
    t, expected = (x["temperature"] for x in both)
    missing = int(expected.isnull().sum())
    assert missing > 0
    assert (t > -1e9).sum() == expected.size - missing
    assert (~(t > -1e9)).sum() == missing
    assert (t != 0).all()
    assert not (t == 0).any()
    assert (t > -1e9).mean() == (expected.size - missing) / expected.size


def test_what_an_array_leaves_out_is_missing(both):
    mask = xr.DataArray(np.random.default_rng(8).random((8, 24)) < 0.6, dims=("lon", "time"))
    found, expected = (x["u"].where(mask).isel(time=slice(20, 3, -2)) for x in both)
    for word in WORDS:
        for sign in (operator.gt, operator.ne):
            wanted = getattr(sign(expected, 1) & (expected < 5), word)("lat")
            same(getattr(sign(found, 1) & (found < 5), word)("lat"), wanted)


def test_axes_by_number_and_by_the_words_of_others(both):
    u, expected = (x["u"] for x in both)
    same((u > 0).sum(dim="lat"), (expected > 0).sum("lat"))
    same((u > 0).mean(axis=0), (expected > 0).mean("time"))
    same((u > 0).any(["time", "lon"]), (expected > 0).any(["time", "lon"]))
    for word in WORDS:
        same(getattr(np, word)(u > 0), getattr(np, word)(expected > 0))
        same(getattr(np, word)(u > 0, axis=1), getattr(np, word)(expected > 0, axis=1))


def test_of_nothing(both):
    u, expected = (x["u"].isel(lat=slice(0)) for x in both)
    for word in WORDS:
        with np.errstate(invalid="ignore"):
            wanted = getattr((expected > 0), word)("lat")
        same(getattr(u > 0, word)("lat"), wanted)
    assert (u > 0).all()
    assert not (u > 0).any()


def test_several_datasets(both):
    found, expected = (((x["u"] > 0) & (x["v"] < 3) & (x["u"] < 5) & (x["n"] != 7)) for x in both)
    for word in WORDS:
        same(getattr(found, word)("time"), getattr(expected, word)("time"))
    same(pickle.loads(pickle.dumps(found)).sum(), expected.sum())


@pytest.mark.parametrize("sign", [operator.and_, operator.or_])
def test_a_thousand_comparisons(both, sign):
    n, expected = (x["n"] for x in both)
    found = functools.reduce(sign, [n != bound for bound in range(1000, 2200)])
    wanted = functools.reduce(sign, [expected != bound for bound in range(1000, 2200)])
    assert found.sum() == wanted.sum()


def test_several_files_and_the_steps_of_one(tmp_path):
    for i, part in enumerate((slice(9), slice(9, 10), slice(10, None))):
        write(climate().isel(time=part), tmp_path / f"t_{i}.nc", ["cdf5", "chunked", "cdf5"][i])
    u = climate()["u"]
    with fl.open(str(tmp_path / "t_*.nc")) as file:
        found = (file["u"].isel(time=slice(None, None, 3)) > 2).sum("lon")
        np.testing.assert_array_equal(found, (u.isel(time=slice(None, None, 3)) > 2).sum("lon"))
    with fl.open(tmp_path / "t_0.nc") as file:
        found = [int((step["u"] > 2).sum()) for step in file]
    assert found == (u[:9] > 2).sum(("lat", "lon")).values.tolist()


@pytest.mark.parametrize("named", [False, True])
def test_live_steps(tmp_path, named):
    values = np.arange(12.0).reshape(3, 4)
    values[1, 1] = np.nan
    array = xr.DataArray(values, dims=("x", "y") if named else ("dim_0", "dim_1"), name="t")
    with (
        fl.open("live", "w", readers=0, directory=str(tmp_path)) as writer,
        fl.open("live", directory=str(tmp_path)) as series,
    ):
        with writer.step() as step:
            step.put("t", array if named else values)
            step.put("u", array * 2 if named else values * 2)
        step = series.next()
        t, u = step["t"], step["u"]
        for word in WORDS:
            same(getattr(t > 5, word)(array.dims[0]), getattr(array > 5, word)(array.dims[0]))
            part = t.isel({array.dims[1]: slice(2)})
            same(getattr(part != 5, word)(), getattr(array[:, :2] != 5, word)())
        assert ((t > 3) & (u < 20)).sum() == int(((values > 3) & (values < 10)).sum())


def test_what_does_not_fit_is_refused(both):
    file, _ = both
    u = file["u"]
    for wrong, words in (
        (lambda: (u > 0).groupby("time.month"), "got groupby('time.month') of <fluvial: where u"),
        (lambda: (u > 0).resample(time="MS"), "t.where(t > 0).resample(time='MS').count()"),
        (lambda: (u.weighted("cos(lat)") > 0).sum(), "got weights along 'lat'; allowed: none"),
        (lambda: ((u.where("u > 1") > 0) & (file["v"] > 0)).sum(), "only of one dataset"),
        (lambda: ((u.where("u > 1") > 0) & (u > 0)).sum(), "only of one dataset"),
        (lambda: (u > 0).sum("height"), "got 'height'; allowed: 'time', 'lat', 'lon'"),
        (lambda: (u > 0).sum("lat", dim="lon"), "allowed: "),
        (lambda: (u > 0).mean(skipna=True), "got skipna"),
    ):
        with pytest.raises(fl.InvalidArgument, match=re.escape(words)):
            wrong()
    assert (u > 0).sum() > 0


def test_more_datasets_than_an_operator_reads_are_refused(tmp_path):
    x = xr.Dataset({name: ("x", np.arange(5.0)) for name in "abcde"})
    x.to_netcdf(tmp_path / "t.nc", engine="netcdf4")
    with fl.open(tmp_path / "t.nc") as file:
        joined = (file["a"] > 0) & (file["b"] > 1) & (file["c"] > 0) & (file["d"] < 4)
        assert joined.sum() == 2
        with pytest.raises(fl.InvalidArgument, match=r"got 5 .*'e'.*allowed: 4 at most"):
            (joined & (file["e"] > 0)).sum()


def on_ranks(comm, fl, where):
    path = where / f"t_of_{comm.size}.nc"
    if comm.rank == 0:
        write(climate(), path, "chunked")
    comm.barrier()
    with fl.open(path) as file, xr.open_dataset(path) as dataset:
        dataset.load()
        for seed in range(24):
            compare(file, dataset, seed, buffer="4 KiB")
        u, expected = file["u"], dataset["u"]
        mine = slice(5 * comm.rank, 5 * comm.rank + 5)
        of_all = expected[: 5 * comm.size]
        for word in WORDS:
            found = getattr(u.isel(time=mine) > 1, word)(shuffle="to-one")
            same(found, getattr(of_all > 1, word)())
            found = getattr(u.isel(time=mine) > 1, word)(shuffle="to-all")
            same(found, getattr(expected[mine] > 1, word)())
            same(getattr(u > 1, word)(local=True), getattr(expected > 1, word)())
        if comm.size > 1:
            last = comm.rank == comm.size - 1
            refused(fl, (u > (2 if last else 1)).sum, "u > 2.0", "u > 1.0")
            odd = u.weighted("cos(lat)") if last else u
            refused(fl, (odd > 1).sum, "got weights along 'lat'")
            refused(fl, lambda: (u > 1).sum("x" if last else "lat"), "got 'x'")
        same((u > 1).sum(), (expected > 1).sum())  # all is well again


@scenario(
    "program on 1 ranks, second program on 2 ranks, third program on 3 ranks", program=on_ranks
)
def test_on_1_to_3_ranks(jobs):
    jobs.finish()


def test_what_joins_comparisons_of_another_dataset_is_named(tmp_path):
    path = str(tmp_path / "two.nc")
    xr.Dataset({"t": ("x", [1.0, 2]), "u": ("x", [1.0, 2])}).to_netcdf(path)
    with fl.open(path) as file:
        t, u = file["t"], file["u"]
        for condition, sign in (((u > 0) | (u < -1), r"\|"), (~(u > 0), "~")):
            with pytest.raises(fl.InvalidArgument, match=f"{sign} is for comparisons of 't'"):
                t.where(condition)
