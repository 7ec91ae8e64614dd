# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments: both sides alternate on every case."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.contest import alternate
from bench.record import Sample
from bench.scan import files
from bench.scan.cases import LATS, LEVELS, LONS, DataFile
from bench.scan.once import run

MPI, SCAN = "mpi", "scan"
RATIOS = (0.1, 0.2, 1 / 3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # computation : I/O
SCALING_RATIO = 0.2
RANKS = (1, 2, 4)
BUFFERS = tuple(2**power for power in range(16, 25))
_LIMIT_S = 120.0
_KERNEL_COST = 64
_AGREEMENT = 1e-3  # the loops add lanes in float32
Extents = tuple[int, int, int, int]


@dataclass
class Runs:
    """Everything measured: values by experiment, side and position on its axis."""

    values: dict[tuple[str, str, float, str], list[float]] = field(
        default_factory=lambda: defaultdict(list)
    )
    io_s: dict[str, float] = field(default_factory=dict)
    costs: dict[tuple[str, float], int] = field(default_factory=dict)

    def add(self, experiment: str, side: str, x: float, found: dict[str, Any]) -> None:
        """Add what one run of a side gave."""
        for name in ("total_s", "read_s", "compute_s", "reduce_s", "bytes_sent", "metadata_bytes"):
            self.values[experiment, side, x, name].append(float(found[name]))

    def sample(self, experiment: str, side: str, x: float, name: str) -> Sample | None:
        """Return what was measured at one position."""
        values = self.values.get((experiment, side, x, name))
        return Sample.of(values) if values else None

    def positions(self, experiment: str) -> list[float]:
        """Return the positions of an experiment that were measured, ascending."""
        return sorted({x for name, _, x, _ in self.values if name == experiment})


@dataclass
class Laboratory:
    """The program, the file, and how one run is started."""

    program: Path
    file: DataFile
    cores: Sequence[int]
    rounds: int
    budget_s: float  # of each half of Figure 9
    say: Callable[[str], None]
    runs: Runs = field(default_factory=Runs)
    _expected: dict[tuple[str, float], float] = field(default_factory=dict)

    def selection(self, steps: int) -> tuple[Extents, Extents]:
        """Return start and count of the experiments' subset: a quarter, not contiguous."""
        start = 0, LEVELS // 4, LATS // 8, LONS // 6
        return start, (steps, LEVELS // 2, LATS * 3 // 4, LONS * 2 // 3)

    def once(
        self, way: str, ranks: int, steps: int, *, levels: int = LEVELS // 2, **words: Any
    ) -> dict[str, Any]:
        """Run one side and return what it measured."""
        start, count = self.selection(steps)
        count = (count[0], levels, count[2], count[3])
        given = {
            "way": way,
            "file": self.file.path,
            "variable": "temperature",
            "offset": self.file.offset,
            "shape": ",".join(map(str, self.file.shape)),
            "start": ",".join(map(str, start)),
            "count": ",".join(map(str, count)),
            "cores": ",".join(map(str, self.cores)),
            **words,
        }
        launcher = [str(Path(sys.prefix) / "bin" / "mpiexec"), "-n", str(ranks)]
        command = [*launcher, str(self.program)]
        return run([*command, *(f"{name}={value}" for name, value in given.items())], _LIMIT_S)

    def speed_up(self, ratios: Sequence[float], cold: bool) -> None:
        """Figure 9: both sides at computations that take `ratios` times the time of reading."""
        state = "cold" if cold else "warm"
        steps = self.file.steps
        rate = self._element_s(2)
        self.say(f"time of reading, {state}")
        reads = []
        for _ in range(3):
            self._prepare(cold)
            reads.append(self.once(MPI, 2, steps, cost=0)["read_s"])
        self.runs.io_s[state] = Sample.of(reads).median
        sides = MPI, SCAN
        for number, ratio, way in alternate(ratios, sides, self.rounds, budget_s=self.budget_s):
            cost = self._cost(ratio * self.runs.io_s[state], steps, 2, rate)
            self.runs.costs[state, ratio] = cost
            self.say(f"figure 9, {state}, round {number + 1}: ratio {ratio:.2g}, {way}")
            self._turn(f"ratio, {state}", way, ratio, cold, 2, steps, cost=cost)

    def scaling(self) -> None:
        """Figures 10 and 11: more ranks, each with as much to do."""
        steps_a_rank = self.file.steps // max(RANKS)
        rate = self._element_s(2)
        self.say("time of reading a rank's share")
        io_s = min(self.once(MPI, 1, steps_a_rank, cost=0)["read_s"] for _ in range(3))
        cost = self._cost(SCALING_RATIO * io_s, steps_a_rank, 1, rate)
        for number, ranks, way in alternate(RANKS, (MPI, SCAN), self.rounds):
            self.say(f"figures 10 and 11, round {number + 1}: {ranks} ranks, {way}")
            self._turn("ranks", way, ranks, False, ranks, steps_a_rank * ranks, cost=cost)

    def metadata(self, ranks: int) -> None:
        """Figure 12: what the logical map takes at different buffer sizes."""
        for buffer in BUFFERS:
            self.say(f"figure 12: buffers of {buffer // 1024} KiB")
            found = self.once(SCAN, ranks, self.file.steps, cost=1, buffer=buffer, split="lat")
            self.runs.add("buffer", SCAN, buffer, found)

    def minimum(self) -> None:
        """Figure 13: the least value and where it lies, of the lowest level: WRF's first task."""
        for number, _, way in alternate([0], (MPI, SCAN), 2 * self.rounds):
            self.say(f"figure 13, round {number + 1}: {way}")
            self._turn("minimum", way, 0, False, 2, self.file.steps, task="minimum", levels=1)

    def shuffle(self, ranks: Sequence[int]) -> None:
        """Run scans to count what ranks send: one result for all, or one each."""
        for count in ranks:
            for shuffle in ("to one", "to all"):
                for split in ("time", "lat"):
                    self.say(f"shuffle: {count} ranks, {shuffle}, divided along {split}")
                    words = {"shuffle": shuffle, "split": split}
                    found = self.once(SCAN, count, self.file.steps, cost=1, **words)
                    self.runs.add(f"shuffle, {shuffle}, {split}", SCAN, count, found)

    def _turn(
        self, experiment: str, way: str, x: float, cold: bool, ranks: int, steps: int, **words: Any
    ) -> None:
        self._prepare(cold)
        found = self.once(way, ranks, steps, **words)
        result = float(found["sum"]) + float(found["min"])
        expected = self._expected.setdefault((experiment, x), result)
        if abs(result - expected) > _AGREEMENT * abs(expected):
            raise RuntimeError(f"{experiment} at {x}: {way} gives {result}, the other {expected}")
        self.runs.add(experiment, way, x, found)

    def _prepare(self, cold: bool) -> None:
        if cold:
            files.forget(self.file.path)

    def _element_s(self, ranks: int) -> float:
        found = self.once("kernel", ranks, self.file.steps, cost=_KERNEL_COST)
        return float(found["element_s"])

    def _cost(self, seconds: float, steps: int, ranks: int, rate: float) -> int:
        """Return the cost at which a rank's share of `steps` steps computes for `seconds`."""
        _, levels, lats, lons = self.selection(steps)[1]
        elements = steps * levels * lats * lons / ranks
        return max(1, round(seconds / elements / rate))
