# SPDX-License-Identifier: Apache-2.0
"""Datasets of live steps have the methods of datasets in files, with the same results."""

import contextlib
import pickle
import sys

import numpy as np
import pytest
import xarray as xr

import fluvial as fl

SHAPE = (6, 8, 10)
GRID = {
    "axisLabels": ["z", "y", "x"],
    "gridSpacing": [2.0, 0.5, 0.25],
    "gridGlobalOffset": [0.0, -2.0, 1.0],
    "position": [0.5, 0.0, 0.0],
    "gridUnitSI": 1e-3,
    "units": "K",
}


# What two ways of computing a mean or a deviation of numbers up to 400 may differ by. Of two
# numbers that are nearly the same the deviation itself may be as small.
ROUNDING = 64 * np.finfo("f8").eps * 400


def fields(seed):
    rng = np.random.default_rng(seed)
    t = rng.normal(280, 10, SHAPE)
    t[rng.random(SHAPE) < 0.1] = np.nan
    u, n = rng.normal(size=SHAPE), rng.integers(-99, 99, SHAPE).astype("i2")
    n[0, 0, 0] = -99  # with some seeds no other
    return t, u, n


def labelled(values, name):
    """Return what xarray is to compare with."""
    coords = {"z": 1 + 2.0 * np.arange(6), "y": -2 + 0.5 * np.arange(8)}
    coords["x"] = 1 + 0.25 * np.arange(10)
    return xr.DataArray(values, dims=("z", "y", "x"), coords=coords, name=name)


@contextlib.contextmanager
def step_of(tmp_path, seed):
    t, u, n = fields(seed)
    with fl.open("live", "w", directory=tmp_path, readers=0) as writer:
        with writer.step(time=0.5) as step:
            for first in range(0, 6, 2):  # three chunks
                part = np.s_[first : first + 2]
                where = {"offset": (first, 0, 0), "shape": SHAPE}
                step.put("meshes/t", t[part], **where, attrs=GRID)
                step.put("meshes/u", u[part], **where, attrs=GRID)
                packed = {"axisLabels": ["z", "y", "x"], "_FillValue": -99, "scale_factor": 0.5}
                step.put("n", n[part], **where, attrs=packed)
                step.put("bare", t[part], **where)
            step.put("whole", t, attrs=GRID)
            step.put("by/height", u[:, 0, 0], attrs={"axisLabels": ["height"]})
            step.put("by/height/label", np.zeros(1))
            step.put("profile", u[:, 0, :], attrs={"axisLabels": ["height", "x"]})
            step.put("height", np.array([10.0, 20.0, 40.0, 80.0, 160.0, 320.0]))
        with fl.open("live", directory=tmp_path) as series:
            yield series.next()


@pytest.fixture
def step(tmp_path, seed):
    with step_of(tmp_path, seed) as step:
        yield step


def same(found, expected):
    bounds = {"rtol": 1e-12, "atol": ROUNDING}
    xr.testing.assert_allclose(found.drop_attrs(), expected.drop_attrs(), **bounds)
    assert found.dims == expected.dims
    assert isinstance(found.values, np.ndarray)


def test_coordinates_of_a_grid_and_of_datasets(step):
    t = step["meshes/t"]
    assert t.dims == ("z", "y", "x")
    for dim, values in labelled(np.zeros(SHAPE), "t").coords.items():
        np.testing.assert_array_equal(t.coords[dim], values)
    assert t.coords["x"].attrs == {"unitSI": 1e-3}
    np.testing.assert_array_equal(step["profile"].coords["height"], [10, 20, 40, 80, 160, 320])
    assert "x" not in step["profile"].coords


def test_reads_have_labels_and_are_views(step, seed):
    t, _, _ = fields(seed)
    same(step["meshes/t"].read(), labelled(t, "t"))
    whole = step["whole"]
    found = whole.read()
    assert not found.values.flags.writeable and not found.values.flags.owndata
    assert np.shares_memory(found.values, whole[2:4].values)  # of the writer's memory
    same(whole[1, ::2], labelled(t, "whole")[1, ::2])
    same(
        whole.sel(x=slice(1.5, 2.5)).isel(z=slice(None, None, -1)).read(),
        labelled(t, "whole").sel(x=slice(1.5, 2.5)).isel(z=slice(None, None, -1)),
    )
    assert whole[None].shape == (1, *SHAPE)
    np.testing.assert_array_equal(np.asarray(whole), t)
    assert isinstance(step["bare"].read(), np.ndarray)


@pytest.mark.parametrize("over", [None, "x", ("z", "x"), 0])
def test_reductions_have_labels(step, seed, over):
    t, _, _ = fields(seed)
    expected = labelled(t, "t")
    dims = "z" if over == 0 else over
    for name in ("mean", "sum", "min", "std"):
        found = step["meshes/t"].reduce(name, over=over)
        same(found, getattr(expected, name)(dims))
        same(getattr(step["meshes/t"], name)(over), getattr(expected, name)(dims))
        bare = step["bare"].reduce(name, over=0 if over == 0 else None)
        wanted = getattr(np, f"nan{name}")(t, axis=0 if over == 0 else None)
        assert isinstance(bare, np.ndarray | np.generic)
        np.testing.assert_allclose(bare, wanted, rtol=1e-12, atol=ROUNDING)
    found = step["meshes/t"].reduce("mean", over=over, skipna=False)
    same(found, expected.mean(dims, skipna=False))
    assert step["meshes/t"].reduce("mean").attrs["units"] == "K"


def test_several_operators_and_places(step, seed):
    t, u, _ = fields(seed)
    expected = labelled(t, "t")
    found = step.reduce(["min", "max"], "meshes/t", "y")
    assert isinstance(found, xr.Dataset)
    same(found["max"], expected.max("y").rename("max"))
    place = step["meshes/t"].isel(z=3).reduce("argmax")
    at = np.unravel_index(np.nanargmax(t[3]), SHAPE[1:])
    assert (int(place["y_index"]), int(place["x_index"])) == at
    assert float(place["x"]) == 1 + 0.25 * at[1]
    speed = fl.ops.Apply(np.hypot, "max")
    both = step.reduce(speed, ["meshes/t", "meshes/u"], over="x")
    np.testing.assert_allclose(both.values, np.nanmax(np.hypot(t, u), axis=2), rtol=1e-12)
    exact = step["meshes/t"].reduce("median(exact)", "z")
    same(exact.drop_vars(["error", "quantile"]), expected.median("z"))


def test_selections_as_of_xarray(step, seed):
    t, _, _ = fields(seed)
    live, expected = step["meshes/t"], labelled(t, "t")
    for select in (
        lambda a: a.sel(x=slice(1.5, 2.75)),
        lambda a: a.sel(y=0.5),
        lambda a: a.sel(x=1.6, method="nearest"),
        lambda a: a.isel(z=[4, 2, 0], x=slice(None, None, 3)),
        lambda a: a.isel(y=-1).sel(z=slice(2, 8)),
    ):
        chosen = select(live)
        assert isinstance(chosen, fl.StepDataset)
        same(chosen.read(), select(expected))
        same(chosen.mean("z"), select(expected).mean("z"))
        same(chosen.reduce("argmin", "z").drop_vars(["z", "z_index"]), select(expected).min("z"))
    same(
        step["profile"].sel(height=slice(20, 80)).sum("x"),
        xr.DataArray(step["profile"].read()).sel(height=slice(20, 80)).sum("x"),
    )
    with pytest.raises(fl.InvalidArgument, match="no such label along 'x'"):
        live.sel(x=77.0)
    with pytest.raises(fl.InvalidArgument, match="no such dimension"):
        live.isel(w=0)


def test_conditions_groups_and_weights(step, seed):
    t, u, _ = fields(seed)
    live, expected, other = step["meshes/t"], labelled(t, "t"), labelled(u, "u")
    warm = expected.where(other > 0)
    for where in ("u > 0", "meshes/u > 0", step["meshes/u"] > 0):
        same(live.where(where).mean("x"), warm.mean("x"))
        same(live.reduce("count", "x", where=where).astype("i8"), warm.count("x"))
    same(
        live.where("t > 280").sum("z", min_count=1),
        expected.where(expected > 280).sum("z", min_count=1),
    )
    same(live.where(lambda a: a > 280).mean("z"), expected.where(expected > 280).mean("z"))
    same(live.reduce("mean", "z", where=u > 0), warm.mean("z"))  # an array
    same(live.reduce("mean", "z", where=u > 0, skipna=False), warm.mean("z", skipna=False))
    same(live.isel(y=2).reduce("mean", "z", where=u[:, 2] > 0), warm.isel(y=2).mean("z"))
    weight = xr.DataArray(np.arange(8.0), dims="y")
    same(live.weighted({"y": np.arange(8.0)}).mean("y"), expected.weighted(weight).mean("y"))
    same(live.weighted(weight).mean("y"), expected.weighted(weight).mean("y"))
    whole = live.reduce("mean", "x", weights=np.abs(u))
    same(whole, expected.weighted(abs(other)).mean("x"))
    grouped = live.groupby("y")
    assert len(grouped.groups) == 8
    same(grouped.mean(over="y"), expected.groupby("y").mean().transpose("z", "y", "x"))
    pending = live.start("max", over="x")
    same(pending.wait(), expected.max("x"))
    with pytest.raises(fl.InvalidArgument, match="does not go with"):
        live.where("u > 0").reduce("mean", weights=np.ones(SHAPE))


def test_arithmetic_and_comparisons(step, seed):
    t, _, _ = fields(seed)
    celsius = step["meshes/t"] - 273.15
    same(celsius.mean("x"), (labelled(t, "t") - 273.15).mean("x"))
    same(
        celsius.where(celsius > 10).max("x"),
        (labelled(t, "t") - 273.15).where(lambda a: a > 10).max("x"),
    )
    bare = step["bare"]
    np.testing.assert_allclose((bare * 2).reduce("sum", 0).values, 2 * np.nansum(t, axis=0))
    far = abs(celsius - 10)
    same(far.max("x"), abs(labelled(t, "t") - 273.15 - 10).max("x"))
    np.testing.assert_array_equal(abs(bare).reduce("max", 0).values, np.nanmax(abs(t), axis=0))
    np.testing.assert_array_equal(bare.values, np.asarray(bare))
    with pytest.raises(fl.WrongType, match=r"a\.read\(\) - b\.read"):
        bare - bare
    np.testing.assert_array_equal(bare + np.ones(SHAPE), t + 1)


def test_declared_missing_and_packed_values(step, seed):
    _, _, n = fields(seed)
    decoded = labelled(np.where(n == -99, np.nan, 0.5 * n), "n").drop_vars(["x", "y", "z"])
    assert (n == -99).any()
    same(step["n"].mean("x"), decoded.mean("x"))
    same(step["n"].sum("x", skipna=False), decoded.sum("x", skipna=False))
    same(step["n"].read(), decoded)
    np.testing.assert_array_equal(np.asarray(step["n"]), decoded.values)
    same((step["n"] + 1).read(), decoded + 1)
    same((step["n"] + 1).mean("z"), (decoded + 1).mean("z"))


def test_without_xarray_numbers_stay_numpys(tmp_path, seed, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    for module in [m for m in sys.modules if m.startswith(("fluvial.scan.", "fluvial.store."))]:
        monkeypatch.delitem(sys.modules, module)
    with step_of(tmp_path, seed) as step:
        t, _, _ = fields(seed)
        found = step["meshes/t"].mean("x")
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, np.nanmean(t, axis=2), rtol=1e-12)
        assert isinstance(step["meshes/t"][0], np.ndarray)
        with pytest.raises(fl.InvalidArgument, match="pip install"):
            step["meshes/t"].sel(x=1)


def test_what_a_step_cannot_do(step):
    selected = step["meshes/t"].isel(z=0)
    with pytest.raises(fl.InvalidArgument, match="cannot be pickled"):
        pickle.dumps(selected)
    assert repr(selected).startswith("<fluvial.StepDataset 'meshes/t' float64 (y: 8, x: 10)")
    step._core.finish()
    with pytest.raises(fl.InvalidArgument, match="has ended"):
        selected.mean()
    with pytest.raises(fl.InvalidArgument, match="has ended"):
        selected.where("value > 0").mean()
