# SPDX-License-Identifier: Apache-2.0
"""Where random tests have their seeds from: fixed in ``./run test``, drawn in ``./run soak``."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

FIXED_SEED = 20261122

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell starts what is in the background so. Tests of Ctrl-C are about programs in front.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# NumPy's linear algebra starts a thread for each core, which spins for longer than all the rest of
# the import takes, in each of the thousands of processes that the tests start.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

settings.register_profile("fixed", derandomize=True)
settings.register_profile("drawn", derandomize=False)
settings.load_profile("drawn" if "FLUVIAL_TEST_SEED" in os.environ else "fixed")


@pytest.fixture
def seed() -> int:
    """Return the seed of a random test's input; a failure shows it, and how to set it."""
    value = int(os.environ.get("FLUVIAL_TEST_SEED", FIXED_SEED))
    print(f"FLUVIAL_TEST_SEED={value}")
    return value


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as random what has a seed, or examples that hypothesis draws."""
    for item in items:
        drawn = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if drawn or "seed" in getattr(item, "fixturenames", ()):
            item.add_marker("random")
    # What takes long begins first, so that no core waits for another at the end.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
