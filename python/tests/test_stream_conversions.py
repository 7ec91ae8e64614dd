# SPDX-License-Identifier: Apache-2.0
"""Numbers, lists and texts that a stream takes as elements, and those that it refuses."""

import datetime
from decimal import Decimal

import numpy as np
import pytest

import fluvial as fl

PARTICLE = [("id", "i4"), ("x", "f8")]
NAMED = [("a", "S2"), ("b", "i4")]
VECTOR = [("id", "i4"), ("v", "f8", 3)]
NESTED = [("particle", PARTICLE), ("kind", "u1")]
NOON = datetime.datetime(2020, 1, 1, 12)


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
        ("M8[s]", ["2020-01-01T00:00:00.9"]),
        ("M8[s]", NOON.replace(microsecond=5)),
        ("m8[s]", datetime.timedelta(microseconds=5)),
        ("M8[s]", None),
        ("f8", None),
        ("f8", [1.0, None]),
        ("?", None),
        ("i8", Decimal("3.7")),
        ("f8", 2**53 + 1),
        ("f8", [0, 2**63 - 1]),
        ("f8", 2**70 + 1),
        ("f4", 2**24 + 1),
        ("V3", b"abcd"),
        (PARTICLE, (1.7, 2.0)),
        (PARTICLE, [(1, 2.0), (2.5, 2.0)]),
        (PARTICLE, [np.array((1.5, 2.0), [("a", "f8"), ("b", "f8")])[()]]),
        (PARTICLE, (1, None)),
        (PARTICLE, 1.5),
        (NAMED, [("abcd", 1)]),
        (VECTOR, (1, [1, 2**53 + 1, 3])),
        (VECTOR, [(1.5, 0.0)]),
        (NESTED, ((1.5, 2.0), 3)),
        (NESTED, [((1, 2.0), 3), ((1.5, 2.0), 3)]),
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
        ("M8[s]", NOON, np.datetime64(NOON, "s")),
        ("S3", b"\xff", b"\xff"),
        ("f8", 2**53 + 2, 2.0**53 + 2),
        ("f8", Decimal("0.1"), 0.1),
        (PARTICLE, (1, 2), np.array((1, 2.0), PARTICLE)),
        (PARTICLE, [(1.0, 0.1), (2, 3)], np.array([(1, 0.1), (2, 3.0)], PARTICLE)),
        (NAMED, [("ab", 1)], np.array([(b"ab", 1)], NAMED)),
        (VECTOR, [(1, 5), (2, 6)], np.array([(1, 5), (2, 6)], VECTOR)),
        (VECTOR, (1, (1, 2, 3)), np.array((1, (1, 2, 3)), VECTOR)),
        (NESTED, ((1, 2.0), 3), np.array(((1, 2.0), 3), NESTED)),
    ],
)
def test_numbers_and_lists_are_converted(dtype, element, expected):
    got = []
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream(dtype=dtype, op=lambda batch: got.extend(batch.copy()))
        stream.send(element)
    assert np.array_equal(np.ravel(got), np.ravel(expected))


def test_a_time_that_is_none_stays_one():
    got = []
    with fl.Channel(None, producer=True, consumer=True) as channel:
        stream = channel.stream(dtype="M8[s]", op=lambda batch: got.extend(batch.copy()))
        stream.send([np.datetime64("NaT", "ns"), np.datetime64("2020-01-01", "ns")])
        stream.send("NaT")
    assert np.isnat(got).tolist() == [True, False, True]
