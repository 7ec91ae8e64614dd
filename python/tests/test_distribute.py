# SPDX-License-Identifier: Apache-2.0
"""Chunks assigned to readers, from Python."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fluvial as fl
from fluvial.distribute import Piece

COMPLETE = [
    "round-robin",
    "hyperslabs",
    "hyperslabs(axis=0)",
    "cuboids",
    "binpacking",
    "even-binpacking",
    "blocks",
    "lines(0, even-binpacking)",
    "by-host(binpacking, fallback=hyperslabs)",
]


def grid(shape, cuts, hosts=3):
    """Return the chunks that a dataset is cut into at these places along each axis."""
    edges = [sorted({0, n, *(c % n for c in along)}) for n, along in zip(shape, cuts, strict=True)]
    chunks = [()]
    for along in edges:
        spans = list(itertools.pairwise(along))
        chunks = [(*chunk, span) for chunk in chunks for span in spans]
    return [
        (tuple(b for b, _ in c), tuple(e - b for b, e in c), i, f"n{i % hosts}")
        for i, c in enumerate(chunks)
    ]


@pytest.mark.parametrize("strategy", COMPLETE)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 9)),
    cuts=st.tuples(
        st.lists(st.integers(0, 40), max_size=6), st.lists(st.integers(0, 9), max_size=3)
    ),
    readers=st.integers(1, 60),
)
def test_each_element_goes_to_one_reader(strategy, shape, cuts, readers):
    made = fl.distribute.assign(grid(shape, cuts), [f"n{i % 4}" for i in range(readers)], strategy)
    seen = np.zeros(shape, int)
    for share in made.shares:
        for piece in share:
            seen[piece.selection] += 1
    assert (seen == 1).all()
    if strategy == "even-binpacking":
        most = max(sum(math.prod(p.extent) for p in share) for share in made.shares)
        assert most <= 1.1 * math.ceil(math.prod(shape) / readers)


def test_names_and_their_meaning():
    assert {"round-robin", "hyperslabs", "by-numa", "discard"} <= set(fl.distribute.names())
    assert fl.distribute.describe("by-host( blocks,fallback = fail )") == (
        "by-host(blocks, fallback=fail)"
    )


def test_chunks_of_a_dataset_and_pieces_are_chunks():
    chunk = fl.Chunk((0,), (4,), 3, "node1")
    (share,) = fl.distribute.assign([chunk], ["node1"]).shares
    assert share == [Piece((0,), (4,), 3, "node1", 0)]
    assert fl.distribute.assign(share, 1).shares == [share]
    assert fl.distribute.assign([], 2).shares == [[], []]


def test_layers_of_the_machine():
    places = [{"host": "a", "socket": 0}, {"host": "a", "socket": 1}, {"host": "b", "socket": 0}]
    chunks = [((i,), (1,), i, place) for i, place in enumerate(reversed(places))]
    made = fl.distribute.assign(chunks, places, "by-socket(blocks)")
    assert [share[0].place for share in made.shares] == places
    assert made.metrics("socket").locality == 1
    other = fl.distribute.assign(chunks, places, "round-robin").metrics("socket")
    assert other.locality == pytest.approx(1 / 3)


def test_metrics_have_names():
    made = fl.distribute.assign([((0,), (6,)), ((6,), (2,))], 2, "round-robin", itemsize=8)
    metrics = made.metrics()
    assert metrics.balance == 1.5
    assert metrics.alignment == 1
    assert metrics.bytes_max == 48
    assert metrics.partners_max == 1


def test_what_is_left_is_an_error_or_discarded():
    chunks = [((0,), (4,), 0, "far"), ((4,), (2,), 1, "near")]
    with pytest.raises(fl.Error, match="leaves elements without a reader: got 4 elements"):
        fl.distribute.assign(chunks, ["near"], "by-host(binpacking)")
    made = fl.distribute.assign(chunks, ["near"], "by-host(binpacking, fallback=discard)")
    assert [p.chunk for p in made.discarded] == [0]
    assert [p.chunk for p in made.shares[0]] == [1]


def halves(chunks, readers):
    """Give the first half of each chunk to reader 0, the other one to the last."""
    for chunk in chunks:
        first = chunk.extent[0] // 2
        behind = (chunk.offset[0] + first, *chunk.offset[1:])
        yield 0, chunk._replace(extent=(first, *chunk.extent[1:]))
        rest = (chunk.extent[0] - first, *chunk.extent[1:])
        yield len(readers) - 1, chunk._replace(offset=behind, extent=rest)


def test_a_function_is_a_strategy_alone_and_inside_of_others():
    chunks = [((0, 0), (4, 2), 0, "a"), ((4, 0), (4, 2), 1, "b")]
    made = fl.distribute.assign(chunks, 3, halves)
    assert [len(share) for share in made.shares] == [2, 0, 2]
    made = fl.distribute.assign(
        chunks, ["a", "a"], "by-host(mine, fallback=round-robin)", own={"mine": halves}
    )
    assert [[p.extent for p in share] for share in made.shares] == [[(2, 2), (4, 2)], [(2, 2)]]


def test_what_a_function_leaves_or_gets_wrong_is_found():
    chunks = [((0,), (4,)), ((4,), (4,))]
    with pytest.raises(fl.Error, match="leaves elements without a reader: got 4 elements"):
        fl.distribute.assign(chunks, 2, lambda c, r: [(0, c[0])])
    made = fl.distribute.assign(
        chunks, 2, "otherwise(mine, discard)", own={"mine": lambda c, r: [(0, c[0])]}
    )
    assert [p.chunk for p in made.discarded] == [1]
    with pytest.raises(fl.Error, match="assigned elements twice"):
        fl.distribute.assign(chunks, 2, lambda c, r: [(0, c[0]), (1, c[0]), (0, c[1])])
    with pytest.raises(fl.Error, match="not in its chunk"):
        fl.distribute.assign(chunks, 2, lambda c, r: [(0, c[0]._replace(offset=(3,)))])
    with pytest.raises(fl.Error, match="not in its chunk"):
        fl.distribute.assign(chunks, 2, lambda c, r: [(0, c[0]._replace(offset=(0, 0)))])
    with pytest.raises(fl.InvalidArgument, match="a reader that does not exist: got 2"):
        fl.distribute.assign(chunks, 2, lambda c, r: [(2, c[0])])
    with pytest.raises(fl.WrongType, match="what a strategy returns"):
        fl.distribute.assign(chunks, 2, lambda c, r: [0, 1])
    with pytest.raises(fl.WrongType, match=r"what a strategy returns.*None; allowed: a list of p"):
        fl.distribute.assign(chunks, 2, lambda c, r: None)
    with pytest.raises(ZeroDivisionError):
        fl.distribute.assign(chunks, 2, lambda c, r: 1 / 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([((0,), (4,))], 2, "hyperslap"), "Did you mean 'hyperslabs'"),
        (([((0,), (4,))], 0), "readers is out of range: got 0"),
        (([((0,), (4,))], []), "no reader"),
        (([((0,), (4,))], 2, 7), "strategy has a type that cannot be used: got 7"),
        (([((0,), (4,))], 2, "cuboids(grid=3)"), "the grid does not fit"),
        (([((0,), (-4,))], 2), "an extent is negative"),
        (([((0,), (4,)), ((0, 0), (1, 1))], 2), "other dimensions"),
        (([((0,), (4,), -1)], 2), "the rank of a chunk is out of range: got -1"),
        (([((0,), (4,), 0, 3)], 2), "a place has a type that cannot be used: got 3"),
        (([7], 2), "a chunk has a type that cannot be used: got 7"),
        (("chunks", 2), "chunks has a type that cannot be used"),
        (([((0,), (4,))], [{"host": ""}]), "a level of a place has no name"),
    ],
)
def test_wrong_arguments_say_what_is_allowed(arguments, message):
    with pytest.raises(fl.InvalidArgument, match="allowed: ") as raised:
        fl.distribute.assign(*arguments)
    assert message in str(raised.value)


def test_chunks_of_files_are_near_to_all_readers(tmp_path):
    with fl.open(tmp_path / "a.h5", "w") as writer, writer.step() as step:
        step.put("x", np.arange(24.0).reshape(6, 4))
    with fl.open(tmp_path / "a.h5") as file:
        step = next(iter(file))
        for strategy in (
            "by-host(even-binpacking, fallback=discard)",
            "by-numa(hyperslabs)",
            "by-host(by-socket(blocks), fallback=fail)",
        ):
            pieces = step["x"].mine(strategy)
            assert sum(step["x"][p.selection].size for p in pieces) == 24
            assert {str(p.place) for p in pieces} == {str(fl.distribute.ANYWHERE)}
