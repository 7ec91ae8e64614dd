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
    if isinstance(found, fl.Dataset):
        with pytest.raises(fl.InvalidArgument, match=r"array of .* does not go with .*backwards"):
            found.reduce("sum", 1, selection, where=np.ones(chosen.shape, bool))
