# SPDX-License-Identifier: Apache-2.0
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.text_plot import EIGHTHS, decade_labels, log_bars, place_labels, resample, sparkline

values = st.lists(st.none() | st.floats(1e-3, 1e5), max_size=60)


@given(values, st.integers(1, 80))
def test_resampling_keeps_the_width_and_the_highest_peak(data, width):
    result = resample(data, width)
    known = [v for v in data if v is not None]
    assert len(result) == width
    assert max((v for v in result if v is not None), default=None) == max(known, default=None)


@given(values, st.integers(1, 80), st.integers(1, 12))
def test_plots_have_their_size(data, width, height):
    assert len(sparkline(data, width)) == width
    rows = log_bars(data, width, height, 0.01, 1e4)
    assert len(rows) == height and {len(row) for row in rows} == {width}


def test_a_sparkline_rises_with_its_data():
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7], 8) == EIGHTHS[1:]
    assert sparkline([3, 3, 3], 3) == "▁▁▁"
    assert sparkline([1, None, float("nan"), 2], 4) == "▁  █"
    assert sparkline([-5, 50], 2, low=0, high=10) == "▁█"


def test_bars_stand_on_the_bottom_and_end_at_their_value():
    rows = log_bars([1.0, 10.0, 100.0, 1000.0, 1e9, None, -1.0], 7, 3, 1.0, 1000.0)
    assert rows == ["   ██  ", "  ███  ", " ████  "]
    assert log_bars([10**0.5], 1, 1, 1.0, 10.0) == [EIGHTHS[4]]


def test_decades_are_labelled_where_their_bars_end():
    labels = decade_labels(6, 0.1, 100.0)
    assert labels == ["10²", "", "10¹", "", "10⁰", ""]
    bars = log_bars([10.0], 1, 6, 0.1, 100.0)
    assert bars.index(next(row for row in bars if row.strip())) == labels.index("10¹")


@given(st.lists(st.floats(0, 1), max_size=6), st.integers(8, 60))
def test_labels_never_overlap(places, width):
    row = place_labels([(p, f"({i}{i})") for i, p in enumerate(sorted(places))], width)
    assert len(row) == width
    assert set(row.split()) <= {f"({i}{i})" for i in range(len(places))}


@pytest.mark.parametrize(("place", "column"), [(0.0, 0), (0.5, 8), (1.0, 15)])
def test_a_label_is_centred_at_its_place(place, column):
    assert place_labels([(place, "(111)")], 20).index("(") == column
