# SPDX-License-Identifier: Apache-2.0
"""NumPy's indexing of datasets of live steps, with names of axes and without, and of files."""

import numpy as np
import pytest

import fluvial as fl

VALUES = np.arange(60.0).reshape(3, 4, 5)
NAMED = {"axisLabels": ["z", "y", "x"], "gridSpacing": [1.0] * 3, "gridGlobalOffset": [0.0] * 3}
PACKED = {"scale_factor": 2.0}
KINDS = {"plain": None, "named": NAMED, "packed": PACKED}


@pytest.fixture(params=[(where, kind) for where in ("live", "a.h5", "a.nc") for kind in KINDS])
def dataset(request, tmp_path):
    """One of each kind with what it is read as."""
    where, kind = request.param
    live = where == "live"
    path, at = ("s", {"directory": tmp_path}) if live else (tmp_path / where, {})
    factor = PACKED["scale_factor"] if kind == "packed" else 1
    with fl.open(path, "w", **({"readers": 0, **at} if live else {})) as writer:
        with writer.step() as step:
            step.put("t", VALUES if kind != "packed" else VALUES.astype("i4"), attrs=KINDS[kind])
        if live:
            with fl.open(path, **at) as series:
                yield series.next()["t"], VALUES * factor
            return
    with fl.open(path) as series:
        yield next(iter(series))["t"], VALUES * factor


@pytest.mark.parametrize(
    "selection",
    [
        np.s_[None],
        np.s_[None, 1],
        np.s_[:, None, 2, ::-1],
        np.s_[..., None],
        np.s_[::-2, 1:3, None, -1],
    ],
    ids=str,
)
def test_none_is_a_new_axis(dataset, selection):
    found, expected = dataset
    array = found[selection]
    assert isinstance(array, np.ndarray)
    np.testing.assert_array_equal(array, expected[selection])


@pytest.mark.parametrize(
    "selection", [np.s_[::-1], np.s_[:, 3:0:-2, ::-1], np.s_[1:, ::-1]], ids=str
)
def test_reductions_of_what_runs_backwards(dataset, selection):
    found, expected = dataset
    chosen = expected[selection]
    for op, over, want in (
        ("mean", None, chosen.mean()),
        ("sum", 0, chosen.sum(0)),
        ("max", (1, 2), chosen.max((1, 2))),
    ):
        got = found.reduce(op, over, selection)
        np.testing.assert_array_equal(np.asarray(got), want)


@pytest.mark.parametrize(
    "selection", [np.s_[::-1], np.s_[:, 3:0:-2, ::-1], np.s_[1:, ::-1], np.s_[1, ::-1]], ids=str
)
def test_arrays_beside_what_runs_backwards(dataset, selection):
    """Masks, live and stored; weights of each element where live numbers are reduced in place."""
    found, expected = dataset
    chosen = expected[selection]
    mask = np.random.default_rng(5).random(chosen.shape) < 0.6
    kept = np.where(mask, chosen, np.nan)
    for over in (None, 0, chosen.ndim - 1):
        got = np.asarray(found.reduce("sum", over, selection, where=mask))
        np.testing.assert_allclose(got.reshape(np.nansum(kept, over).shape), np.nansum(kept, over))
    place = np.unravel_index(np.nanargmax(kept), kept.shape)
    assert found.reduce("max", None, selection, where=mask) == kept[place]
    weights = np.random.default_rng(6).random(chosen.shape)
    if not isinstance(found, fl.Dataset) or "scale_factor" in found.attrs:
        with pytest.raises(fl.InvalidArgument, match=r"a dict of dimensions to arrays"):
            found.reduce("mean", None, selection, weights=weights)
        return
    for over in (None, 0, chosen.ndim - 1):
        for where, given in ((None, weights), (mask, weights * mask)):
            got = np.asarray(found.reduce("mean", over, selection, weights=weights, where=where))
            with np.errstate(invalid="ignore"):  # none is weighed: NaN
                want = (chosen * given).sum(over) / given.sum(over)
            np.testing.assert_allclose(got.reshape(want.shape), want)


def test_the_first_of_equal_elements_is_the_first_as_they_run(dataset):
    found, expected = dataset
    chosen = np.s_[::-1, :, ::-1]
    same = found.reduce("argmax", None, chosen, where=np.ones(expected.shape, bool))
    plain = found.reduce("argmax", None, chosen)
    assert same == plain
