# SPDX-License-Identifier: Apache-2.0
"""What is asked of every contestant: a task on a part of one variable of one file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

VARIABLE = "temperature"
DIMENSIONS = ("time", "level", "lat", "lon")
LEVELS, LATS, LONS = 32, 360, 720
CHUNK = (1, 4, 180, 360)
SMALL = (2, 4, 6, 8)
STEP_BYTES = 4 * LEVELS * LATS * LONS
BINS, LOW, HIGH = 100, 200.0, 300.0

CDF5, HDF5, NETCDF4 = "CDF-5", "HDF5 contiguous", "netCDF-4 compressed"
FORMATS = (CDF5, HDF5, NETCDF4)
SUMMARY, SUBSET, STEPS, HISTOGRAM = "whole", "subset", "steps", "histogram"
TASKS = {
    SUMMARY: "sum, min, max, mean of all",
    SUBSET: "sum, min, max, mean of a non-contiguous 1/8",
    STEPS: "mean over space of each time step",
    HISTOGRAM: "histogram of 100 bins",
}
_KINDS = {SUMMARY: "summary", SUBSET: "summary", STEPS: "steps", HISTOGRAM: "histogram"}

Extents = tuple[int, int, int, int]


@dataclass(frozen=True)
class DataFile:
    """One file of the variable: where its bytes lie, which only the bare loops need to be told."""

    format: str
    path: Path
    steps: int
    offset: int = 0
    chunks: Path | None = None
    small: Path | None = None  # one of the same format, on which a process finds its feet

    @property
    def shape(self) -> Extents:
        """Extents of the variable."""
        return self.steps, LEVELS, LATS, LONS

    @property
    def bytes(self) -> int:
        """Bytes of the variable, uncompressed."""
        return self.steps * STEP_BYTES


@dataclass(frozen=True)
class Case:
    """A task on a part of a file; `part` of the time steps only, for slow contestants."""

    task: str
    file: DataFile
    part: int = 1

    @property
    def start(self) -> Extents:
        """First index along each dimension."""
        if self.task == SUBSET:
            return self.file.steps // 8, LEVELS // 4, LATS // 4, LONS // 6
        return 0, 0, 0, 0

    @property
    def count(self) -> Extents:
        """How many indices along each dimension; of the subset, 3/4 · 1/2 · 1/2 · 2/3 = 1/8."""
        steps = self.file.steps
        if self.task == SUBSET:
            part = max(1, steps * 3 // 4 // self.part)
            return part, LEVELS // 2, LATS // 2, LONS * 2 // 3
        return max(1, steps // self.part), LEVELS, LATS, LONS

    @property
    def share(self) -> float:
        """How much of the task this part is."""
        return self.count[0] / replace(self, part=1).count[0]

    @property
    def kind(self) -> str:
        """What is computed, as programs are told."""
        return _KINDS[self.task]

    @property
    def bytes(self) -> int:
        """Bytes of the selected values."""
        return 4 * math.prod(self.count)

    def words(self) -> list[str]:
        """Return the case as NAME=VALUE words, for a program's command line."""
        words = {
            "file": str(self.file.path),
            "task": self.kind,
            "variable": VARIABLE,
            "offset": self.file.offset,
            "swapped": int(self.file.format == CDF5),
            "shape": _list(self.file.shape),
            "start": _list(self.start),
            "count": _list(self.count),
            "bins": BINS,
            "low": LOW,
            "high": HIGH,
        }
        if self.file.chunks is not None:
            words |= {"chunks": str(self.file.chunks), "chunk": _list(CHUNK)}
        if self.file.small is not None:
            words |= {"small": str(self.file.small), "small_shape": _list(SMALL)}
        return [f"{name}={value}" for name, value in words.items()]


class DisagreementError(RuntimeError):
    """A contestant's result is not the one expected."""


def check(case: Case, who: str, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raise DisagreementError unless `found` is `expected` to rounding.

    Sums agree to 1e-9, or to the tolerance that `found` states (a program that adds in float32);
    extremes and counts agree exactly unless it states one.
    """
    tolerance = float(found.get("tolerance", 0.0))
    for name in ("sum", "min", "max", "steps", "counts"):
        if name not in expected:
            continue
        if name not in found:
            raise DisagreementError(f"{who} gave no {name!r} for {case.task} of {case.file.format}")
        mine, theirs = _values(found[name]), _values(expected[name])
        rtol = max(tolerance, 1e-9) if name in ("sum", "steps") else tolerance
        if len(mine) != len(theirs) or not all(
            math.isclose(a, b, rel_tol=rtol) for a, b in zip(mine, theirs, strict=True)
        ):
            raise DisagreementError(
                f"{who}, {case.task} of {case.file.format}: {name} is {found[name]}, "
                f"expected {expected[name]}"
            )


def _values(value: Any) -> Sequence[float]:
    return value if isinstance(value, list) else [value]


def _list(values: Sequence[int]) -> str:
    return ",".join(str(value) for value in values)
