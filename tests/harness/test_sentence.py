# SPDX-License-Identifier: Apache-2.0
import pytest

from harness import Cast, parse
from harness.sentence import Link, link_of


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


def test_hosts_and_what_joins_them():
    sentence = "writer on 2 hosts x 2 ranks, reader on 1 host x 3 ranks, link 100 Mbit/s"
    assert parse(sentence) == [
        Cast("writer", 4, False, (1, 2)),
        Cast("reader", 3, False, (3,)),
    ]
    assert link_of(sentence) == Link(12.5e6)
    sentence = "writer on 1 rank of host 1, reader on 1 rank of host 2"
    sentence += ", link 1.5 Gbit/s with 5 ms of delay"
    assert [cast.hosts for cast in parse(sentence)] == [(1,), (2,)]
    assert link_of(sentence) == Link(1.5e9 / 8, 0.005)
    assert link_of("writer on 2 ranks of host 1") is None


@pytest.mark.parametrize(
    "link",
    [
        "link 0 Mbit/s",
        "link 1 kbit/s",
        "link 1000 Gbit/s",
        "link 100 MB/s",
        "link 100",
        "link -5 Mbit/s",
        "link fast",
        "link 100 Mbit/s with 1e9 ms of delay",
        "link 100 Mbit/s with 99999 ms of delay",
        "link 1 Mbit/s, link 2 Mbit/s",
    ],
)
def test_a_link_that_cannot_be_is_named(link):
    with pytest.raises(ValueError, match=r"cannot read 'link .*write once.*link R Mbit/s"):
        link_of(f"writer on 2 hosts x 1 rank, {link}")


def test_a_link_joins_hosts():
    with pytest.raises(ValueError, match="joins no hosts"):
        link_of("writer on 2 ranks, link 100 Mbit/s")
    with pytest.raises(ValueError, match="H hosts x N ranks"):
        parse("writer on 2 hosts x 1 rank of host 3")
