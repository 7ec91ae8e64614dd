# SPDX-License-Identifier: Apache-2.0
"""A tuner finds what an exhaustive search would, within a twentieth."""

import random

import pytest
from fluvial.route.tuning import Choice, Search

import fluvial as fl

_WINDOWS = [2**power for power in range(10, 21)]


def seconds(plan, size, choice, seed):
    """Of a network that differs from the model: other costs of a send, a window and a path."""
    draw = random.Random(seed)
    send, window_s, path_s = (draw.uniform(0.2e-6, 12e-6) for _ in range(3))
    bandwidth = 1.8e9 * draw.uniform(0.3, 3)
    if choice.paths == 1:
        return 2 * send + size / bandwidth
    proxies = [len(path.proxies) for path in plan.paths[0]]
    deepest = sorted(proxies)[choice.paths - 1]
    windows = -(-size // choice.window)
    one = choice.window / bandwidth + window_s
    ways = windows / choice.paths * one
    return 2 * send + choice.paths * path_s + deepest * one + max(ways, windows * send)


@pytest.mark.parametrize("size", [2**15, 2**20, 2**24, 2**27])
@pytest.mark.parametrize("seed", range(25))
def test_within_a_twentieth_of_an_exhaustive_search(size, seed):
    plan = fl.route.plan("bgq:4x4x4x4x2", [(0, 426)])
    guess = fl.route.Tuner(plan).choice(size)
    search = Search(9, guess, size)
    noise = random.Random(seed + 1000)
    tried = 0
    while not search.settled:
        choice = search.choose()
        search.learn(choice, seconds(plan, size, choice, seed) * noise.uniform(1, 1.01))
        tried += 1
    best = min(
        seconds(plan, size, Choice(paths, window), seed)
        for paths in range(1, 10)
        for window in _WINDOWS
    )
    assert seconds(plan, size, search.best, seed) < 1.05 * best
    assert tried < 45


def test_what_is_known_is_not_searched_for():
    plan = fl.route.plan("torus:4x4", [(0, 5)])
    tuner = fl.route.Tuner(plan, known={2**20: (3, 4096)})
    assert tuner.choice(900_000) == (3, 4096)
    assert tuner.known == {2**20: (3, 4096)}


def test_it_learns_from_exchanges():
    plan = fl.route.plan("torus:4x4", [(0, 0)])
    tuner = fl.route.Tuner(plan)
    assert tuner.exchange(None, {0: b"abc"})[0].tobytes() == b"abc"
    with pytest.raises(fl.InvalidArgument, match="are what a tuner chooses"):
        tuner.exchange(None, {0: b"abc"}, paths=2)


def test_costs_that_nobody_knows_are_refused_before_ranks_wait():
    with pytest.raises(fl.UnknownName, match="no costs of this name: got 'tpc'"):
        fl.route.Tuner(fl.route.plan("torus:4x4", [(0, 5)]), costs="tpc")
