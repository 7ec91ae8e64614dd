# SPDX-License-Identifier: Apache-2.0
"""Weights, masks, conditions and further inputs fit by their labels, their shape and their mask."""

import contextlib

import numpy as np
import pytest
import xarray as xr

import fluvial as fl

A = np.arange(6.0).reshape(2, 3)
SQUARE = np.arange(9.0).reshape(3, 3)
LABELLED = xr.DataArray(SQUARE, dims=("a", "b"), coords={"a": [1, 2, 3]}, name="x")


@pytest.mark.parametrize("dim", ["a", "b"])
def test_weights_and_masks_of_a_labelled_array_fit_by_name(dim):
    weights = xr.DataArray([1.0, 0.0, 0.0], dims=dim)
    expected = float(LABELLED.weighted(weights).mean())
    assert float(fl.reduce("mean", LABELLED, weights=weights)) == expected
    assert float(fl.reduce("mean", LABELLED, mask=weights > 0)) == expected
    over = fl.reduce("mean", LABELLED, weights=weights, over="a")
    xr.testing.assert_allclose(over.drop_attrs(), LABELLED.weighted(weights).mean("a"))
    full = LABELLED.transpose() > 4
    assert float(fl.reduce("sum", LABELLED, mask=full)) == float(LABELLED.where(full).sum())


def test_arrays_without_labels_fit_by_position():
    weights = np.array([1.0, 0.0, 0.0])
    assert float(fl.reduce("mean", LABELLED, weights=weights)) == SQUARE[:, 0].mean()
    of_labels = xr.DataArray(weights, dims="a")
    assert float(fl.reduce("mean", SQUARE, weights=of_labels)) == SQUARE[:, 0].mean()


def test_further_inputs_fit_by_name():
    turned = xr.DataArray(SQUARE, dims=("b", "a"))
    apart = fl.ops.Apply(np.subtract, "max", inputs=2)
    assert float(fl.reduce(apart, [LABELLED, turned])) == float((LABELLED - turned).max()) == 4
    with pytest.raises(fl.InvalidArgument, match="the arrays differ in dimensions: got 'b', 'c'"):
        fl.reduce(apart, [LABELLED, turned.rename(a="c")])
    with pytest.raises(fl.InvalidArgument, match="other coordinates along 'a' in a further array"):
        fl.reduce(apart, [LABELLED, turned.assign_coords(a=[7, 8, 9])])


@pytest.mark.parametrize("name", ["weights", "mask"])
def test_labels_that_do_not_fit(name):
    other = xr.DataArray([1.0, 0.0, 0.0], dims="c")
    with pytest.raises(fl.InvalidArgument, match=f"beside {name}: got 'c'; allowed: 'a', 'b'"):
        fl.reduce("mean", LABELLED, **{name: other})
    moved = other.rename(c="a").assign_coords(a=[2, 3, 4])
    with pytest.raises(fl.InvalidArgument, match=f"other coordinates along 'a' in {name}"):
        fl.reduce("mean", LABELLED, **{name: moved})


def test_masked_arrays_do_not_count():
    counts = np.ma.masked_greater(np.arange(8), 3)
    assert fl.reduce("sum", counts) == 6
    assert fl.reduce("sum", counts).dtype == np.int64
    assert fl.reduce("mean", counts.astype("f8"), skipna=False) == 1.5
    assert fl.reduce("max", counts, mask=np.arange(8) < 2) == 1
    weights = np.ma.masked_greater(SQUARE, 2)
    expected = np.ma.average(np.ma.array(SQUARE, mask=weights.mask), weights=SQUARE)
    assert float(fl.reduce("mean", SQUARE, weights=weights)) == pytest.approx(expected)
    assert fl.reduce("count", SQUARE, mask=np.ma.array(SQUARE > 2, mask=SQUARE > 4)) == 2


@contextlib.contextmanager
def live(folder):
    """Give a step of a stream with labelled datasets and others."""
    with (
        fl.open("live", "w", readers=0, directory=str(folder)) as writer,
        fl.open("live", directory=str(folder)) as series,
    ):
        with writer.step() as step:
            step.put("labelled", xr.DataArray(A, dims=("a", "b")))
            step.put("plain", A)
            step.put("square", xr.DataArray(SQUARE, dims=("a", "b")))
            step.put("turned", xr.DataArray(SQUARE, dims=("b", "a")))
            step.put("plain_square", SQUARE)
        yield next(iter(series))


@pytest.mark.parametrize("name", ["labelled", "plain"])
def test_arrays_beside_a_live_dataset_have_its_shape(tmp_path, name):
    with live(tmp_path) as step:
        data = step[name]
        assert float(data.reduce("mean", weights=A)) == np.average(A, weights=A)
        assert float(data.reduce("mean", where=A > 2)) == A[A > 2].mean()
        for wrong in (A.T.copy(), A.ravel(), A[:1]):
            with pytest.raises(fl.InvalidArgument, match="fit"):
                data.reduce("mean", weights=wrong)
            with pytest.raises(fl.InvalidArgument, match="fit"):
                data.reduce("mean", where=wrong > 2)
        row = data.reduce("mean", selection=np.s_[1:], weights=A[1:])
        assert float(row) == np.average(A[1], weights=A[1])
    with live(tmp_path) as step:
        for weights in (A[1], A[1:]):  # with the axis that was selected by an int, or without
            row = step["labelled"].isel(a=1).reduce("mean", weights=weights)
            assert float(row) == np.average(A[1], weights=A[1])


@pytest.mark.parametrize("name", ["square", "plain_square"])
def test_masked_arrays_beside_a_live_dataset(tmp_path, name):
    with live(tmp_path) as step:
        weights = np.ma.masked_greater(SQUARE, 2)
        expected = np.average(SQUARE.ravel()[:3], weights=SQUARE.ravel()[:3])
        assert float(step[name].reduce("mean", weights=weights)) == pytest.approx(expected)
        where = np.ma.array(SQUARE > 2, mask=SQUARE > 4)
        assert float(step[name].reduce("mean", where=where)) == 3.5


def test_datasets_pair_by_position_only_where_their_dimensions_are_alike(tmp_path):
    path = tmp_path / "square.nc"
    turned = xr.DataArray(SQUARE, dims=("b", "a"))
    xr.Dataset({"x": LABELLED.drop_vars("a"), "y": turned, "z": ("a", [1.0, 2.0, 3.0])}).to_netcdf(
        path
    )
    apart = fl.ops.Apply(np.subtract, "max", inputs=2)
    with fl.open(path) as file, xr.open_dataset(path, engine="fluvial") as dataset:
        x = file["x"]
        wrong = [
            lambda: x.where("y > 6").mean(),
            lambda: x.where(file["y"] > 6).mean(),
            lambda: file.reduce(apart, ["x", "y"]),
            lambda: dataset.x.fluvial.where("y > 6").mean(),
        ]
        for call in wrong:
            with pytest.raises(
                fl.InvalidArgument,
                match="differ in their dimensions: got 'y' with 'b' as axis 0; allowed: 'a'",
            ):
                call()
        assert float(x.where("x > 6").mean()) == 7.5
    with (
        live(tmp_path) as step,
        pytest.raises(fl.InvalidArgument, match="differ in their dimensions"),
    ):
        step["square"].where("turned > 6").mean()


def test_what_is_no_bool_is_no_option(tmp_path):
    wrong = [
        lambda: fl.reduce("mean", A, skipna="no"),
        lambda: fl.ops.Median(exact="yes"),
        lambda: fl.ops.TopK(2, largest=1),
    ]
    with live(tmp_path) as step:
        data = step["labelled"]
        assert data.sizes == {"a": 2, "b": 3}
        wrong += [
            lambda: data.reduce("mean", local="no"),
            lambda: data.isel(a=0).mean(keep_attrs="x"),
        ]
        for call in wrong:
            with pytest.raises(fl.WrongType, match="allowed: True or False"):
                call()
