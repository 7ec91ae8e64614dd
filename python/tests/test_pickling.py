# SPDX-License-Identifier: Apache-2.0
"""What can be pickled is the same afterwards; what cannot is refused."""

import copy
import pickle

import numpy as np
import pytest
import xarray as xr
from reading_files.climate import same

import fluvial as fl

X = np.random.default_rng(7).uniform(0.1, 3, (3, 50))
NUMBER = 18


def operators():
    """Made anew by each test: what a module keeps outlives the extension."""
    return [
        *(
            cls()
            for cls in (fl.ops.Sum, fl.ops.Product, fl.ops.Count, fl.ops.ArgMin, fl.ops.ArgMax)
        ),
        fl.ops.Mean(skipna=True),
        fl.ops.Std(ddof=1),
        fl.ops.Norm(3),
        fl.ops.Median(accuracy=1e-2),
        fl.ops.Quantile([0.1, 0.5], exact=True),
        fl.ops.Histogram(bins=4, range=(0, 2)),
        fl.ops.Histogram2D([0, 1, 2], [0, 3]),
        fl.ops.TopK(2, largest=False),
        fl.ops.Apply(np.hypot, fl.ops.TopK(2), name="speed"),
        fl.ops.StructureFactor((3, 3, 3), 8),
        fl.ops.StructureFactor.detector((3, 3, 3), (8, 5)),
        fl.ops.StructureFactor.plane((1, 0, 0), (0, 1, 0), (2, 3)),
        fl.ops.StructureFactor.at([[0.5, 1, 2]]),
    ]


def test_all_operators_are_tried():
    assert len(operators()) == NUMBER


@pytest.mark.parametrize("number", range(NUMBER))
@pytest.mark.parametrize("again", [lambda op: pickle.loads(pickle.dumps(op)), copy.deepcopy])
def test_operators(number, again):
    op = operators()[number]
    other = again(op)
    assert type(other) is type(op)
    found, expected = (fl.reduce(o, list(X)) for o in (other, op))
    assert pickle.dumps(found) == pickle.dumps(expected)


def test_errors():
    error = pickle.loads(pickle.dumps(fl.UnknownName("no such thing")))
    assert isinstance(error, fl.UnknownName)
    assert isinstance(error, KeyError)
    assert "no such thing" in str(error)


def test_files_and_selections(path, tmp_path, monkeypatch):
    with fl.open(path) as file:
        warm = file["temperature"].isel(level=0).where("value > 270").weighted("cos(lat)")
        grouped = (file["u"] * 2).groupby("time.month")
        pickled = pickle.dumps((file, warm, grouped))
        expected = warm.mean("time"), grouped.max()
    monkeypatch.chdir(tmp_path)
    again, warm, grouped = pickle.loads(pickled)
    assert again.names == file.names
    same(warm.mean("time"), expected[0])
    same(grouped.max(), expected[1])


def test_raw_files_and_relative_paths(tmp_path, monkeypatch):
    np.arange(6.0).tofile(tmp_path / "a.bin")
    monkeypatch.chdir(tmp_path)
    pickled = pickle.dumps(fl.open("a.bin", raw={"dtype": "f8", "shape": (2, 3)})["data"])
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(pickle.loads(pickled).sum("dim_0"), [3, 5, 7])


def test_a_closed_file_is_refused(path):
    file = fl.open(path)
    file.close()
    with pytest.raises(fl.InvalidArgument, match="closed"):
        pickle.dumps(file)


@pytest.mark.parametrize("what", ["channel", "scan"])
def test_what_runs_is_refused(path, what):
    with fl.Channel(None, producer=True, consumer=True) as channel:
        running = channel if what == "channel" else fl.open(path)["u"].start("mean")
        with pytest.raises(TypeError, match="pickle"):
            pickle.dumps(running)


def test_variables_of_the_engine(path):
    with xr.open_dataset(path, engine="fluvial") as dataset:
        again = pickle.loads(pickle.dumps(dataset))
        assert not again["u"].variable._in_memory
        same(again["u"], dataset["u"])
