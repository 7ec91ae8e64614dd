# SPDX-License-Identifier: Apache-2.0
"""Numbers, lists and texts that a stream takes as elements, and those that it refuses."""

import numpy as np
import pytest

import fluvial as fl


@pytest.mark.parametrize(
    ("dtype", "element"),
    [
        ("i1", np.int64(300)),
        ("u1", np.int64(-1)),
        ("u1", [-1]),
        ("i8", 3.7),
        ("i8", [3.7, 1.0]),
        ("i8", float("nan")),
        ("i8", True + 0.5),
        ("f4", 1e300),
        ("f8", [1j]),
        ("c8", 1e300),
        ("?", 2),
        ("U3", "abcdef"),
        ("S3", "abcdef"),
        ("S3", b"abcdef"),
        ("M8[s]", np.datetime64("2020-01-01T00:00:00.5")),
    ],
)
def test_numbers_and_lists_that_would_become_something_else_are_refused(dtype, element):
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream(dtype=dtype, op=lambda batch: None)
        with pytest.raises((fl.InvalidArgument, fl.WrongType), match="elements of another kind"):
            stream.send(element)


@pytest.mark.parametrize(
    ("dtype", "element", "expected"),
    [
        ("i1", np.int64(-100), -100),
        ("i8", 3.0, 3),
        ("f4", 0.1, np.float32(0.1)),
        ("f8", float("inf"), np.inf),
        ("f8", [1, 2], [1.0, 2.0]),
        ("f4", np.float64(0.1), np.float32(0.1)),
        ("c16", 1, 1 + 0j),
        ("?", 1, True),
        ("U3", "ab", "ab"),
        ("S3", "abc", b"abc"),
        ("M8[s]", "2020-01-01", np.datetime64("2020-01-01", "s")),
        ("M8[s]", np.datetime64("2020-01-01", "ns"), np.datetime64("2020-01-01", "s")),
    ],
)
def test_numbers_and_lists_are_converted(dtype, element, expected):
    got = []
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream(dtype=dtype, op=lambda batch: got.extend(batch.copy()))
        stream.send(element)
    assert np.array_equal(np.ravel(got), np.ravel(expected))
