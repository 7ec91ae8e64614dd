# SPDX-License-Identifier: Apache-2.0
"""The scripts of the swift bench, and what stands beside each."""

from __future__ import annotations

from dataclasses import dataclass

_LOOP = 'foreach i in [1:toint(argv("n"))] {{ int r = {call}; }}'
_IN_CPP = '(int r) nothing(int i) "leaves";\n'


@dataclass(frozen=True)
class Case:
    """A script with a loop of -n=N iterations, on so many ranks."""

    name: str
    script: str
    ranks: int
    iterations: int
    quick_iterations: int
    beside: str = ""
    """What of a pool stands beside it: `map` of a function from Python, or nothing."""
    busy_us: int = 0
    """How long a task takes."""
    memory: bool = False
    """Whether the growth of the leading rank's memory is shown."""


CASES = (
    Case("C++ leaf", _IN_CPP + _LOOP.format(call="nothing(i)"), 2, 200_000, 20_000, "C++ function"),
    Case(
        "C++ leaf, chained", _IN_CPP + "foreach i in [1:toint(argv(\"n\"))] "
        "{ int r = nothing(nothing(nothing(i))); }", 2, 60_000, 5_000,
    ),
    Case(
        "C leaf",
        '(int r) nothing_in_c(int i) "leaves";\n' + _LOOP.format(call="nothing_in_c(i)"),
        2, 20_000, 2_000,
    ),
    Case(
        "Python leaf",
        '(int r) nothing(int i) "leaf_module";\n' + _LOOP.format(call="nothing(i)"),
        2, 20_000, 2_000, "Python function",
    ),
    Case(
        "1 ms C++ tasks, 16 workers",
        '(int r) nap(int us) "leaves";\n' + _LOOP.format(call="nap(1000)"),
        17, 60_000, 20_000, "C++ nap", 1000,
    ),
    Case(
        "a million leaf calls", _IN_CPP + _LOOP.format(call="nothing(i)"),
        2, 1_000_000, 100_000, memory=True,
    ),
    Case(
        "a million iterations",
        'foreach i in [1:toint(argv("n"))] { int r = i %% 7; }',
        1, 1_000_000, 100_000, memory=True,
    ),
)  # fmt: skip
