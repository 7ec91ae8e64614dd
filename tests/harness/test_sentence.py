# SPDX-License-Identifier: Apache-2.0
import pytest

from harness import Cast, parse


def test_ranks_and_processes():
    assert parse("writer on 2 ranks, late reader on 1 rank and monitor on 3 processes") == [
        Cast("writer", 2, False),
        Cast("late_reader", 1, False),
        Cast("monitor", 3, True),
    ]


@pytest.mark.parametrize("sentence", ["writer", "writer on 0 ranks", "writer on two ranks", ""])
def test_what_cannot_be_read_is_named(sentence):
    with pytest.raises(ValueError, match="NAME on N ranks"):
        parse(sentence)


def test_a_name_comes_once():
    with pytest.raises(ValueError, match="comes twice"):
        parse("reader on 1 rank, reader on 2 ranks")
