# SPDX-License-Identifier: Apache-2.0
"""What runs under the MPI that is not the default one.

Tests marked ``any_mpi`` do, unless they are marked ``one_mpi``; of those with
``any_mpi(cases=3)`` so many of their cases, from the first to the last, as what their parameters
say is no matter of MPI's.
"""

from __future__ import annotations

import os
from collections import defaultdict

import pytest


def chosen(count: int, most: int) -> set[int]:
    """Return the places of `most` of `count` cases, spread over all."""
    if count <= most:
        return set(range(count))
    return {round(i * (count - 1) / max(most - 1, 1)) for i in range(most)}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the cases out that the default MPI alone is to see."""
    if os.environ.get("FLUVIAL_FLAVOUR", "mpich") == "mpich":
        return
    cases = defaultdict(list)
    for item in items:
        for mark in item.iter_markers("any_mpi"):
            if "cases" in mark.kwargs:
                cases[item.nodeid.partition("[")[0], mark.kwargs["cases"]].append(item)
                break
    left_out = {item for item in items if item.get_closest_marker("one_mpi")}
    for (_, most), of_test in cases.items():
        kept = chosen(len(of_test), most)
        left_out |= {item for place, item in enumerate(of_test) if place not in kept}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
