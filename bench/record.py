# SPDX-License-Identifier: Apache-2.0
"""The JSON line that every benchmark writes, and the sample of runs behind its figures."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Sample:
    """The values that the runs of one contestant gave for one metric."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("a sample needs at least one run, got none")
        if not all(math.isfinite(value) for value in self.values):
            raise ValueError(f"a sample holds finite values only, got {self.values}")

    @classmethod
    def of(cls, values: Iterable[float]) -> Sample:
        """Make a sample of any iterable of numbers."""
        return cls(tuple(float(value) for value in values))

    @property
    def median(self) -> float:
        """The middle value, or the mean of the middle two."""
        return statistics.median(self.values)

    @property
    def min(self) -> float:
        """The least value."""
        return min(self.values)

    @property
    def max(self) -> float:
        """The greatest value."""
        return max(self.values)

    @property
    def runs(self) -> int:
        """How many runs gave a value."""
        return len(self.values)


@dataclass(frozen=True)
class Metric:
    """A measured quantity: name, unit (``GB/s`` is 1e9 bytes a second) and which end is good."""

    name: str
    unit: str
    higher_is_better: bool

    def ratio(self, ours: float, theirs: float) -> float:
        """How many times better `ours` is than `theirs`: above 1 when Fluvial is ahead."""
        better, worse = (ours, theirs) if self.higher_is_better else (theirs, ours)
        if worse == 0:
            return math.inf if better > 0 else 1.0
        return better / worse

    def better(self, a: float, b: float) -> bool:
        """Whether `a` is strictly the better of the two values."""
        return a > b if self.higher_is_better else a < b


@dataclass(frozen=True)
class Record:
    """One line of results; `ratio` > 1 means that Fluvial is ahead, for times and memory too."""

    bench: str
    case: str
    params: Mapping[str, Any]
    metric: str
    unit: str
    median: float
    min: float
    max: float
    runs: int
    peer: str
    peer_median: float | None
    ratio: float | None

    def line(self) -> str:
        """Return the record as one line of JSON, without the newline."""
        return json.dumps(asdict(self), allow_nan=False)


def compare(
    bench: str,
    case: str,
    params: Mapping[str, Any],
    metric: Metric,
    ours: Sample,
    peer: str,
    theirs: Sample | None,
) -> Record:
    """Return the record of one case beside one peer; `theirs` is None without the peer's figure."""
    peer_median = None if theirs is None else theirs.median
    ratio = None if peer_median is None else metric.ratio(ours.median, peer_median)
    if ratio is not None and not math.isfinite(ratio):
        ratio = None
    return Record(
        bench=bench,
        case=case,
        params=dict(params),
        metric=metric.name,
        unit=metric.unit,
        median=_rounded(ours.median),
        min=_rounded(ours.min),
        max=_rounded(ours.max),
        runs=ours.runs,
        peer=peer,
        peer_median=None if peer_median is None else _rounded(peer_median),
        ratio=None if ratio is None else _rounded(ratio),
    )


def best_of(metric: Metric, samples: Mapping[str, Sample]) -> tuple[str, Sample] | None:
    """Return the contestant with the better median among `samples`, or None when there is none."""
    best: tuple[str, Sample] | None = None
    for name, sample in samples.items():
        if best is None or metric.better(sample.median, best[1].median):
            best = (name, sample)
    return best


def append_lines(path: Path, header: Mapping[str, Any], records: Sequence[Record]) -> None:
    """Append one header object (machine, versions, command) and the records, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(header, allow_nan=False) + "\n")
        for record in records:
            file.write(record.line() + "\n")


def last_run(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header and the record objects of the last run appended to `path`."""
    header: dict[str, Any] = {}
    records: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        if "machine" in entry:
            header, records = entry, []
        else:
            records.append(entry)
    if not header:
        raise ValueError(f"{path} holds no run: no line with a 'machine' entry")
    return header, records


def _rounded(value: float) -> float:
    """`value` to six significant digits: more would only be noise in the file."""
    return float(f"{value:.6g}")
