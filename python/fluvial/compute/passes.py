# SPDX-License-Identifier: Apache-2.0
"""Reductions that look at the same data several times: exact quantiles.

An operator says by ``next_pass(arrays)`` what it asks of the data once more, after it has finished
with `arrays`: an operator, or None when all is known. Operators without it need one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .._core import InvalidArgument
from .apply import Apply
from .distribution_operators import Quantile
from .registry import Resolved

Results = Mapping[str, Mapping[str, np.ndarray]]
_PASSES_MAX = 100


def repeats(op: Resolved) -> bool:
    """Tell whether an operator may ask for another pass."""
    while isinstance(op, Apply):
        op = op.inner
    return isinstance(op, Quantile) and op.exact


def next_passes(operators: Mapping[str, Resolved], results: Results) -> dict[str, Resolved]:
    """Return what the operators ask next, by name; those that know all are left out."""
    asked = {
        name: op.next_pass(results[name])
        for name, op in operators.items()
        if isinstance(op, Apply | Quantile) and repeats(op)
    }
    return {name: op for name, op in asked.items() if op is not None}


def run_passes(
    operators: Mapping[str, Resolved], run: Callable[[Mapping[str, Resolved]], Results]
) -> dict[str, Mapping[str, np.ndarray]]:
    """Call `run` with operators until they know all; return the last results of each."""
    return more_passes(operators, run(operators), run)


def more_passes(
    operators: Mapping[str, Resolved],
    first: Results,
    run: Callable[[Mapping[str, Resolved]], Results],
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


def refuse_repeats(operators: Mapping[str, Resolved], where: str, remedy: str) -> None:
    """Raise InvalidArgument for operators that need more than one pass."""
    for name, op in operators.items():
        if repeats(op):
            raise InvalidArgument(
                f"an exact quantile needs several passes over the data: got '{name}' of {where}; "
                f"allowed: Quantile(q, accuracy=…), whose result has its error. {remedy}"
            )
