# SPDX-License-Identifier: Apache-2.0
"""Reductions that look at the same data several times: exact quantiles.

An operator says by ``next_pass(arrays)`` what it asks of the data once more, after it has finished
with `arrays`: an operator, or None when all is known. Operators without it need one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._core import InvalidArgument
from .custom_ops import Apply
from .distribution_ops import Quantile

Results = Mapping[str, Mapping[str, np.ndarray]]
_PASSES_MAX = 100


def repeats(op: Any) -> bool:
    """Tell whether an operator may ask for another pass."""
    while isinstance(op, Apply):
        op = op.inner
    return isinstance(op, Quantile) and op.exact


def next_passes(operators: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Return what the operators ask next, by name; those that know all are left out."""
    asked = {name: op.next_pass(results[name]) for name, op in operators.items() if repeats(op)}
    return {name: op for name, op in asked.items() if op is not None}


def run_passes(
    operators: Mapping[str, Any], run: Callable[[Mapping[str, Any]], Results]
) -> dict[str, Mapping[str, np.ndarray]]:
    """Call `run` with operators until they know all; return the last results of each."""
    return more_passes(operators, run(operators), run)


def more_passes(
    operators: Mapping[str, Any],
    first: Results,
    run: Callable[[Mapping[str, Any]], Results],
    agree: Callable[[bool], bool] = bool,
) -> dict[str, Mapping[str, np.ndarray]]:
    """Do the same after the first pass, which has found `first`.

    `agree` tells whether any rank goes on; all ranks then do.
    """
    results = dict(first)
    current = {name: op for name, op in operators.items() if repeats(op)}
    for _ in range(_PASSES_MAX if current else 0):
        asked = next_passes(current, results)
        if not agree(bool(asked)):
            return results
        # A rank that knows all takes part in what the others need.
        current = {name: asked.get(name, op) for name, op in current.items()}
        results |= run(current)
    if current:
        raise AssertionError("bug in Fluvial: the passes of an exact quantile do not end")
    return results


def refuse_repeats(operators: Mapping[str, Any], where: str, remedy: str) -> None:
    """Raise InvalidArgument for operators that need more than one pass."""
    for name, op in operators.items():
        if repeats(op):
            raise InvalidArgument(
                f"an exact quantile needs several passes over the data: got '{name}' of {where}; "
                f"allowed: Quantile(q, accuracy=…), whose result has its error. {remedy}"
            )
