# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: the seeds of random tests, and how one run of pytest goes through many of them.

FLUVIAL_TEST_SEED names one seed or, between commas, several. With several, each random test becomes
one item a seed; the items of a test follow each other in one process, so that its jobs start once
(`harness.kept_jobs`); with pytest-xdist that takes `--dist loadscope`. FLUVIAL_TEST_SECONDS limits
how long a test goes on: then its further items are skipped. A test that has seeds of its own
(`pytest.mark.parametrize("seed", …)`) stays as it is.
"""

from __future__ import annotations

import os
from collections import Counter

import hypothesis
import pytest

FIXED_SEED = 20261122
NO_TIME_LEFT = "no time is left for further seeds"

_spent_s: Counter[str] = Counter()  # in this process, of the seeds of each test


def given_seeds(default: int | None = None) -> list[int]:
    """Return the seeds in FLUVIAL_TEST_SEED; where it is not set `default`, or none."""
    words = os.environ.get("FLUVIAL_TEST_SEED", "").split(",")
    return [int(word) for word in words if word] or ([] if default is None else [default])


def group_of(item: pytest.Item) -> str | None:
    """Return what all items have in common that are one test with one seed each, or None."""
    name = f"seed={_seed_of(item)}"
    return item.nodeid.replace(name, "") if name in item.name else None


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Return the seed of a random test's input; a failure shows it, and how to set it."""
    value = getattr(request, "param", None)
    if value is None:
        value = given_seeds(FIXED_SEED)[0]
    print(f"FLUVIAL_TEST_SEED={value}")
    return value


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a random test into one item for each of several seeds."""
    seeds = given_seeds()
    own = any("seed" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if (
        len(seeds) < 2
        or own
        or not (_draws(metafunc.definition) or "seed" in metafunc.fixturenames)
    ):
        return
    if "seed" not in metafunc.fixturenames:
        metafunc.fixturenames.append("seed")
    metafunc.parametrize("seed", seeds, ids=[f"seed={one}" for one in seeds], indirect=True)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark as random what has a seed, or examples that hypothesis draws."""
    if _draws(item) or "seed" in getattr(item, "fixturenames", ()):
        item.add_marker("random")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the seeds of a test side by side, and what takes long in front.

    Else one core would wait for another at the end.
    """
    first: dict[str, int] = {}
    for place, item in enumerate(items):
        first.setdefault(group_of(item) or item.nodeid, place)
    items.sort(
        key=lambda item: (
            item.get_closest_marker("slow") is None,
            first[group_of(item) or item.nodeid],
        )
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip the further seeds of a test that has taken its time; seed hypothesis."""
    group = group_of(item)
    if group and _spent_s[group] > float(os.environ.get("FLUVIAL_TEST_SECONDS", "inf")):
        pytest.skip(NO_TIME_LEFT)
    value = _seed_of(item) or next(iter(given_seeds()), None)
    if _draws(item) and value is not None:
        hypothesis.seed(value)(item.obj)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    """Count the time that the seeds of a test have taken."""
    _spent_s[group_of(item) or item.nodeid] += call.duration
    return (yield)


def _draws(item: pytest.Item) -> bool:
    return getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _seed_of(item: pytest.Item) -> int | None:
    """Return the seed of one of the items of a random test."""
    return getattr(getattr(item, "callspec", None), "params", {}).get("seed")
