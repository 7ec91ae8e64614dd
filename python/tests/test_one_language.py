# SPDX-License-Identifier: Apache-2.0
"""One analysis, whatever carries the series: the same calls, labels and numbers as of xarray."""

import numpy as np
import pytest
import xarray as xr

import fluvial as fl

ENGINES = {
    "stage": "series",
    "hdf5": "run.h5",
    "hdf5, a file a step": "data%T.h5",
    "hdf5, compressed": "packed.h5",
    "netcdf": "run.nc",
    "netcdf, a file a step": "data%T.nc",
    "netcdf4": "run.nc4",
    "netcdf4, compressed": "packed.nc4",
    "zarr": "run.zarr",
    "bp": "run.bp",
}
SHAPE = (5, 6, 8)
DIMS = ("z", "y", "x")
GRID = {
    "axisLabels": list(DIMS),
    "gridSpacing": [2.0, 0.5, 0.25],
    "gridGlobalOffset": [0.0, -1.0, 1.0],
    "units": "K",
}
STEPS = 2


def labelled(name, index):
    rng = np.random.default_rng([index, len(name)])
    values = rng.normal(280, 10, SHAPE)
    values[rng.random(SHAPE) < 0.1] = np.nan
    coords = {
        dim: first + step * np.arange(n)
        for dim, first, step, n in zip(
            DIMS, GRID["gridGlobalOffset"], GRID["gridSpacing"], SHAPE, strict=True
        )
    }
    return xr.DataArray(values, coords, DIMS, name, {"units": "K"})


@pytest.fixture(params=ENGINES)
def steps(request, tmp_path):
    """Return the steps of a series that was written with an engine, one after the other."""
    engine = request.param
    name = ENGINES[engine]
    options = {"compression": "gzip"} if engine.endswith("compressed") else {}
    live = engine == "stage"
    path = name if live else str(tmp_path / name)
    if live:
        options = {"readers": 0, "directory": tmp_path, "queue_steps": STEPS + 1}
    with fl.open(path, "w", **options) as writer:
        for index in range(STEPS):
            with writer.step(time=index / 4) as step:
                for put in ("t", "u"):
                    array = labelled(put, index)
                    # Labels come with the array where files have them, and by a grid elsewhere.
                    labels = engine.startswith(("netcdf", "zarr"))
                    step.put(put, array if labels else array.values, attrs=None if labels else GRID)
        with fl.open(path, **({"directory": tmp_path} if live else {})) as series:
            yield each(series)


def each(series):
    for _ in range(STEPS):
        yield series.next()


def same(found, expected):
    assert isinstance(found.values, np.ndarray | np.generic)
    found = xr.DataArray(found).drop_attrs()
    extra = [name for name in found.coords if name not in expected.coords]  # the record's time
    found = found.drop_vars(extra)
    assert found.dims == expected.dims
    xr.testing.assert_allclose(found, expected.drop_attrs(), rtol=1e-12)


# What is done to a dataset here and to an array of xarray; `u` is another of the same step.
ANALYSES = {
    "read": (lambda t, u: t.read(), lambda t, u: t),
    "isel": (
        lambda t, u: t.isel(z=1, x=slice(None, None, 3)).read(),
        lambda t, u: t.isel(z=1, x=slice(None, None, 3)),
    ),
    "isel, backwards": (
        lambda t, u: t.isel(y=slice(None, None, -1)).read(),
        lambda t, u: t.isel(y=slice(None, None, -1)),
    ),
    "isel, a list": (
        lambda t, u: t.isel(z=[4, 2, 0]).mean("x"),
        lambda t, u: t.isel(z=[4, 2, 0]).mean("x"),
    ),
    "sel": (lambda t, u: t.sel(x=slice(1.3, 2.1)).read(), lambda t, u: t.sel(x=slice(1.3, 2.1))),
    "sel, nearest": (
        lambda t, u: t.sel(y=0.4, method="nearest").mean("x"),
        lambda t, u: t.sel(y=0.4, method="nearest").mean("x"),
    ),
    "mean": (lambda t, u: t.mean(("z", "x")), lambda t, u: t.mean(("z", "x"))),
    "all": (lambda t, u: t.sum(), lambda t, u: t.sum()),
    "missing values kept": (
        lambda t, u: t.reduce("max", "z", skipna=False),
        lambda t, u: t.max("z", skipna=False),
    ),
    "std": (lambda t, u: t.std("y"), lambda t, u: t.std("y")),
    "count": (
        lambda t, u: t.reduce("count", "z").astype("i8"),
        lambda t, u: t.count("z"),
    ),
    "where, in words": (
        lambda t, u: t.where("t > 280").mean("z"),
        lambda t, u: t.where(t > 280).mean("z"),
    ),
    "where, of another": (
        lambda t, u: t.where(u > 285).mean("z"),
        lambda t, u: t.where(u > 285).mean("z"),
    ),
    "where, a function": (
        lambda t, u: t.where(lambda a: a < 275).sum("x"),
        lambda t, u: t.where(t < 275).sum("x"),
    ),
    "groupby": (
        lambda t, u: t.groupby("y").mean(over="y"),
        lambda t, u: t.groupby("y").mean().transpose("z", "y", "x"),
    ),
    "weighted": (
        lambda t, u: t.weighted({"y": np.arange(6.0)}).mean("y"),
        lambda t, u: t.weighted(xr.DataArray(np.arange(6.0), dims="y")).mean("y"),
    ),
    "arithmetic": (
        lambda t, u: (t - 273.15).isel(z=0).mean("y"),
        lambda t, u: (t - 273.15).isel(z=0).mean("y"),
    ),
    "start": (lambda t, u: t.start("min", over="z").wait(), lambda t, u: t.min("z")),
    "median": (
        lambda t, u: t.reduce("median(exact)", "x").drop_vars(["error", "quantile"]),
        lambda t, u: t.median("x"),
    ),
}


def test_all_engines_speak_one_language(steps):
    for index, step in enumerate(steps):
        assert (step.index, step.time) == (index, index / 4)
        mine = [step["t"], step["u"]]
        theirs = [labelled("t", index), labelled("u", index)]
        assert mine[0].dims == DIMS
        assert mine[0].attrs["units"] == "K"
        for name, (here, there) in ANALYSES.items():
            try:
                same(here(*mine), there(*theirs))
            except Exception as error:
                raise AssertionError(f"{name}: {error}") from error


@pytest.mark.parametrize(
    "selection", [np.s_[::-1], np.s_[..., ::-2], np.s_[3, ::-1, 6:1:-1], np.s_[:0:-1, ..., -1]]
)
def test_selections_run_backwards_as_in_numpy(steps, selection):
    expected = labelled("t", 0)[selection]
    found = next(iter(steps))["t"][selection]
    np.testing.assert_array_equal(found.values, expected.values)
    for dim in expected.dims:
        np.testing.assert_array_equal(found[dim], expected[dim])


@pytest.mark.parametrize("selection", [np.s_[::-1, 0, 0, 0], np.s_[::-1, ::-1, ::-1, ::-1]])
def test_no_entry_of_a_selection_is_ignored(steps, selection):
    with pytest.raises(fl.InvalidArgument, match="too many entries"):
        next(iter(steps))["t"][selection]


def test_places_have_labels(steps):
    for index, step in enumerate(steps):
        expected = labelled("t", index)
        place = step["t"].isel(z=3).reduce("argmax")
        at = expected.isel(z=3).argmax(...)
        assert {dim: int(place[f"{dim}_index"]) for dim in "yx"} == {d: int(at[d]) for d in "yx"}
        assert float(place["x"]) == float(expected.x[at["x"]])


def test_several_operators_at_once(steps):
    for index, step in enumerate(steps):
        found = step.reduce(["min", "max"], "t", "y")
        assert isinstance(found, xr.Dataset)
        same(found["max"], labelled("t", index).max("y").rename("max"))
        speed = step.reduce(fl.ops.Apply(np.hypot, "max"), ["t", "u"], over="x")
        wanted = np.hypot(labelled("t", index), labelled("u", index)).max("x")
        np.testing.assert_allclose(speed.values, wanted.values, rtol=1e-12)


def test_what_does_not_work_is_refused_in_the_same_words(steps):
    step = next(steps)
    t = step["t"]
    for call, words in (
        (lambda: t.isel(w=0), "no such dimension"),
        (lambda: t.isel(z=[4, 0, 2]).mean(), "not regular"),
        (lambda: t.sel(x=77.0), "no such label along 'x'"),
        (lambda: t.reduce("nothing"), "nothing"),
        (lambda: step["v"], "v"),
        (lambda: t.where("t > ").mean(), "condition"),
    ):
        with pytest.raises(fl.InvalidArgument, match=words):
            call()
