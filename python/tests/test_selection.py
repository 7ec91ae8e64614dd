# SPDX-License-Identifier: Apache-2.0
"""Selections against NumPy's own indexing."""

import warnings

import numpy as np
import pytest
import xarray as xr
from fluvial.describe.selection import to_hyperslab
from hypothesis import given, settings
from hypothesis import strategies as st

import fluvial as fl


@st.composite
def shapes_and_selections(draw):
    shape = tuple(draw(st.lists(st.integers(0, 7), max_size=4)))
    entries = []
    for extent in shape[: draw(st.integers(0, len(shape)))]:
        bound = st.none() | st.integers(-9, 9)
        steps = st.none() | st.integers(-4, 4).filter(bool)
        slices = st.builds(slice, bound, bound, steps)
        ints = st.integers(-extent, extent - 1) if extent else slices
        entries.append(draw(slices | ints))
    if draw(st.booleans()):
        entries.insert(draw(st.integers(0, len(entries))), Ellipsis)
    return shape, tuple(entries)


@settings(max_examples=300, deadline=None)
@given(shapes_and_selections())
def test_a_hyperslab_selects_what_numpy_selects(case):
    shape, selection = case
    # With an Ellipsis, an int may fall on an axis that is too short: then both refuse.
    array = np.arange(int(np.prod(shape))).reshape(shape)
    try:
        expected = array[selection]
    except IndexError:
        with pytest.raises(fl.InvalidArgument):
            to_hyperslab(selection, shape, backwards=True)
        return
    (start, count, stride), dropped = to_hyperslab(selection, shape, backwards=True)
    assert all(
        s + (n - 1) * d < extent
        for s, n, d, extent in zip(start, count, stride, shape, strict=True)
        if n
    )
    axes = [s + d * np.arange(n) for s, n, d in zip(start, count, stride, strict=True)]
    got = array[np.ix_(*axes)][dropped] if shape else array[dropped]
    np.testing.assert_array_equal(got, expected)
    assert np.shape(got) == np.shape(expected)


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ((0, 0, 0), "too many entries"),
        ((..., ...), "too many entries"),
        (np.s_[::-1], "axis 0: got step -1; allowed: 1 or more"),
        (np.s_[:, 5], "axis 1: got 5; allowed: -5 to 4"),
        (np.s_[:, -6], "axis 1: got -6"),
        (np.array([0, 1]), "axis 0 of the selection"),
        ((np.array([0, 1]), 0), "axis 0 of the selection"),
        ([0, 1], "axis 0 of the selection"),
        (None, "a new axis cannot be selected here: got None; allowed: ints, slices"),
        (True, "got True"),
        (np.array([True, False, True, True]), "axis 0 of the selection"),
        (1.0, "got 1.0"),
        ("x", "got 'x'"),
    ],
)
def test_what_is_no_basic_indexing_is_refused_by_name(selection, message):
    with pytest.raises(fl.InvalidArgument, match=message.replace("(", r"\(")):
        to_hyperslab(selection, (4, 5))


def test_no_step_is_0():
    with pytest.raises(fl.InvalidArgument, match="axis 0: got step 0; allowed: any other than 0"):
        to_hyperslab(np.s_[::0], (4, 5), backwards=True)


def test_numpy_ints_are_ints():
    assert to_hyperslab(np.int16(-1), (4,)) == (((3,), (1,), (1,)), (0,))


def test_a_slice_beside_method_and_times_as_numbers_are_refused(tmp_path):
    path = tmp_path / "t.nc"
    xr.Dataset({"p": ("y", np.arange(4.0))}, {"y": np.arange(4.0)}).to_netcdf(path)
    with fl.open(path) as file, pytest.raises(fl.InvalidArgument, match="without method"):
        file["p"].sel(y=slice(3, 1), method="nearest")
    with pytest.raises(TypeError, match="type that cannot be used"):
        fl.ops.Std(ddof=np.timedelta64(1, "D"))
    with (
        fl.open(tmp_path / "t.h5", "w") as series,
        pytest.raises(TypeError, match="type that cannot be used"),
    ):
        series.step(time=np.timedelta64(3, "D"))


@pytest.mark.parametrize("descends", [False, True])
def test_a_slice_the_wrong_way_round_is_warned_of(tmp_path, descends):
    path = str(tmp_path / "t.nc")
    lat = np.array([0.0, 10, 20, 30])[:: -1 if descends else 1]
    xr.Dataset({"t": ("lat", lat)}, {"lat": lat}).to_netcdf(path, engine="netcdf4")
    t = fl.open(path)["t"]
    wrong = slice(5, 25) if descends else slice(25, 5)
    with pytest.warns(UserWarning, match=f"{'de' if descends else 'in'}creases, from"):
        assert t.sel(lat=wrong).shape == (0,)
    ends = f"{lat[0]} to {lat[-1]}"
    between = slice(18, 12) if descends else slice(12, 18)
    for nothing in (between, slice(15, 15), slice(99, 95) if descends else slice(95, 99)):
        with pytest.warns(UserWarning, match=f"none of the labels of 'lat', which are {ends}"):
            assert t.sel(lat=nothing).shape == (0,)


def test_what_is_warned_of_are_the_labels_that_were_left(tmp_path):
    path = str(tmp_path / "t.nc")
    dates = np.array(["2000-01-01", "2000-01-02", "2000-01-03"], "M8[ns]")
    xr.Dataset({"t": ("time", [1.0, 2.0, 3.0])}, {"time": dates}).to_netcdf(path)
    t = fl.open(path)["t"].isel(time=[1])
    with pytest.warns(
        UserWarning, match=r"slice\(2001, None\) .*2000-01-02 .* to 2000-01-02"
    ) as told:
        assert t.sel(time=slice("2001", None)).shape == (0,)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert t.isel(time=slice(0)).sel(time=slice("2000", None)).shape == (0,)
