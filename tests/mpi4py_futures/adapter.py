# SPDX-License-Identifier: Apache-2.0
"""Runs mpi4py's tests of its futures against `fluvial.Pool`.

usage: python adapter.py FOLDER-OF-THE-TESTS [CLASS.TEST ...]

Prints a JSON object: of each test, ``passed``, ``skipped``, or the last line of what it raised.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
import types
import unittest
from typing import Any

import fluvial as fl

# Classes whose tests make an MPIPoolExecutor; the others test things that Fluvial does not have.
CLASSES = (
    "ProcessPoolInitTest",
    "ProcessPoolBootupTest",
    "ProcessPoolShutdownTest",
    "ProcessPoolWaitTest",
    "ProcessPoolAsCompletedTest",
    "ProcessPoolExecutorTest",
    "ProcessPoolSubmitTest",
    "ProcessPoolPickleTest",
)


MADE: list[fl.Pool] = []  # by the test that runs


class PoolOfTwo(fl.Pool):
    """A pool with the names of an MPIPoolExecutor, of two ranks where no number is given."""

    def __init__(self, max_workers: int | None = None, initializer: Any = None, **options: Any):
        if initializer is not None:
            options["initializer"] = initializer
        super().__init__(2 if max_workers is None else max_workers, **options)
        MADE.append(self)

    @property
    def num_workers(self) -> int:
        """How many ranks run tasks."""
        return self.workers

    def bootup(self, wait: bool = True) -> PoolOfTwo:
        """It has begun when it is made."""
        return self


class Outcomes(unittest.TestResult):
    """Notes the result of each test."""

    def __init__(self) -> None:
        super().__init__()
        self.said: dict[str, str] = {}

    def addSuccess(self, test: unittest.TestCase) -> None:  # noqa: N802
        """It has passed."""
        self.said[_name(test)] = "passed"

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:  # noqa: N802
        """It does not apply."""
        self.said[_name(test)] = "skipped"

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        """It does not hold."""
        self.said[_name(test)] = f"{err[0].__name__}: {err[1]}".splitlines()[0][:200]

    addError = addFailure  # noqa: N815

    def stopTest(self, test: unittest.TestCase) -> None:  # noqa: N802
        """End the pools that it has left: mpi4py's end with their last reference."""
        while MADE:
            with contextlib.suppress(fl.Error):
                MADE.pop().shutdown(cancel_futures=True)
        super().stopTest(test)


def _name(test: Any) -> str:
    return ".".join(test.id().rsplit(".", 2)[1:])


def main() -> None:
    """Import the tests with the pool in the place of mpi4py's, and run them."""
    import mpi4py
    from mpi4py import futures

    ours = types.ModuleType("mpi4py.futures")
    ours.__dict__.update(futures.__dict__)
    ours.__dict__["MPIPoolExecutor"] = PoolOfTwo
    mpi4py.futures = ours  # type: ignore[assignment]
    sys.path.insert(0, sys.argv[1])  # the ranks of pools find it there, too
    tests = importlib.import_module("test_futures")
    outcomes = Outcomes()
    for name in CLASSES:
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(getattr(tests, name)):
            if not sys.argv[2:] or _name(test) in sys.argv[2:]:
                test.run(outcomes)
    print(json.dumps(outcomes.said, indent=1))


if __name__ == "__main__":
    main()
