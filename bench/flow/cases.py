# SPDX-License-Identifier: Apache-2.0
"""The cases, and which tools are measured in each."""

from __future__ import annotations

from dataclasses import dataclass

from bench.record import Metric

RATE = Metric("rate of tasks that do nothing", "tasks/s", higher_is_better=True)
SUBMIT = Metric("time to submit a task", "ns", higher_is_better=False)
MEMORY = Metric("memory of a task", "B", higher_is_better=False)
UTILISATION = Metric("utilisation", "%", higher_is_better=True)


@dataclass(frozen=True)
class Contestant:
    """A job: what the program is told, and on how many ranks."""

    name: str
    words: tuple[str, ...]
    ranks: int = 2
    count: int = 100_000


FREE = Contestant("MPI: create_group, free", ("way=free",), count=20_000)
CACHED = Contestant("MPI: barrier in a kept communicator", ("way=barrier",))
DEPTH_1 = Contestant("C master/worker, depth 1", ("way=master", "depth=1"), count=50_000)
DEPTH_16 = Contestant("C master/worker, depth 16", ("way=master", "depth=16"), count=200_000)
SERIAL = Contestant("Fluvial, C++, 1 rank a task", ("way=serial",), count=200_000)
WIDE = Contestant("Fluvial, C++, 2 ranks a task, both work", ("way=wide", "lead_works=1"))
WIDE_OF_3 = Contestant("Fluvial, C++, 2 ranks a task, of 3", ("way=wide",), ranks=3)

IN_C = (FREE, CACHED, DEPTH_1, DEPTH_16, SERIAL, WIDE, WIDE_OF_3)
BESIDE = ((SERIAL, DEPTH_16), (SERIAL, DEPTH_1), (WIDE, FREE), (WIDE_OF_3, FREE))
"""Which of them are compared."""

KEPT = {
    "finished, of windows of 1,000": ("result=empty",),
    "finished, with a result of 8 bytes": ("result=number",),
}
"""Tasks few of which wait at a time, and whose futures are kept. Where all wait at once, memory
that has been freed since is still resident."""

OURS = "fluvial"
PYTHON_TASKS = {
    OURS: 50_000,
    "mpi4py": 5_000,
    "executorlib": 1_000,
    "dask": 2_000,
    "parsl": 2_000,
}
"""Tools that are used from Python, and how many tasks fill about a second or two."""


@dataclass(frozen=True)
class Sleeping:
    """Tasks that sleep for about a second."""

    name: str
    workers: int
    words: tuple[str, ...]
    servers: int = 1


BEST = {2: 92.0, 3: 96.5, 5: 98.6, 20: 99.5}
"""What the best of the schedulers reaches that were simulated before this one, in percent, by the
number of rounds on 64 ranks."""


@dataclass(frozen=True)
class Scheduled:
    """Simulated tasks, and the part of the ranks' time that is wanted, in percent."""

    name: str
    load: str
    ranks: int
    rounds: int
    error: float
    wanted: float
    seeds: int


SCHEDULED = (
    *(
        Scheduled(f"{rounds} rounds of widths 1, 2, 4 …", "widths", ranks, rounds, 0, best, 10)
        for ranks in (64, 518)
        for rounds, best in BEST.items()
    ),
    *(
        Scheduled(f"{rounds} rounds of widths 1, 2, 4 …", "widths", 100_000, rounds, 0, 85.0, 10)
        for rounds in BEST
    ),
    *(
        Scheduled(f"Figure 9, estimates {error:.0%} off", "sweep", ranks, 1, error, wanted, 10)
        for ranks in (512, 518)
        for error, wanted in ((0.0, 95.0), (0.3, 93.0))
    ),
)

SLEEPING = (
    Sleeping("fixed width 1", 8, ("width=1", "rounds=3")),
    Sleeping("fixed width 4", 8, ("width=4", "rounds=3")),
    Sleeping("fixed width 1", 16, ("width=1", "rounds=3")),
    Sleeping("fixed width 4", 16, ("width=4", "rounds=3")),
    Sleeping("fixed width 1, 3 servers", 16, ("width=1", "rounds=3"), 3),
    Sleeping("varying widths", 8, ("widths=varying", "rounds=3")),
    Sleeping("varying widths", 16, ("widths=varying", "rounds=3")),
)
