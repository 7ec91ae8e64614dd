# SPDX-License-Identifier: Apache-2.0
from collections import Counter

from bench import contest


class Clock:
    """A clock that moves by `step` seconds a look."""

    def __init__(self, step):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_contestants_take_turns_on_every_case():
    turns = list(contest.alternate([1, 2], ["A", "B"], 2))
    assert turns == [
        (0, 1, "A"), (0, 1, "B"), (0, 2, "A"), (0, 2, "B"),
        (1, 1, "B"), (1, 1, "A"), (1, 2, "B"), (1, 2, "A"),
    ]  # fmt: skip


def test_everyone_begins_equally_often():
    turns = list(contest.alternate(["only"], "ABC", 6))
    first = Counter(name for k, (_, _, name) in enumerate(turns) if k % 3 == 0)
    assert first == {"A": 2, "B": 2, "C": 2}


def test_a_round_that_would_not_end_in_time_is_not_begun():
    def rounds(budget_s):
        found = contest.alternate([1], ["A"], 10, rounds_min=2, budget_s=budget_s, clock=Clock(1.0))
        return len({number for number, _, _ in found})

    assert rounds(0.0) == 2
    assert 2 < rounds(8.0) < 10
    assert rounds(1000.0) == 10
