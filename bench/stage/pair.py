# SPDX-License-Identifier: Apache-2.0
"""A writer process and a reader process of one contestant, kept for many runs."""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from bench.child import Child, ChildError, gather

_ROOT = Path(__file__).resolve().parents[2]
_START_TIMEOUT_S = 30.0
MEMCPY = "memcpy"
_streams = itertools.count()
Case = TypeVar("Case")


@dataclass(frozen=True)
class Contestant:
    """The name in tables, the module behind `side.py`, and the Python that has it."""

    name: str
    module: str
    settings: Mapping[str, Any]
    python: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    is_fluvial: bool = False


@dataclass(frozen=True)
class Run:
    """What one run of a pair gave."""

    bytes: int
    steps: int
    seconds: float
    latencies_s: tuple[float, ...]
    memory_writer: int
    memory_reader: int

    @property
    def bytes_per_s(self) -> float:
        """End-to-end throughput."""
        return self.bytes * self.steps / self.seconds

    @property
    def steps_per_s(self) -> float:
        """Steps that arrived and were summed, by the second."""
        return self.steps / self.seconds


class Pair:
    """The two processes of a contestant; started on first use, and anew after a failure."""

    def __init__(
        self,
        contestant: Contestant,
        cores: tuple[frozenset[int], frozenset[int]],
        folder: Path,
        library: Path,
        queue_steps: int,
        places: tuple[Sequence[str], Sequence[str]] = ((), ()),
    ) -> None:
        """`places`: words before the writer's command and the reader's, which run it elsewhere."""
        self.contestant = contestant
        self._cores = cores
        self._folder = folder
        self._library = library
        self._queue_steps = queue_steps
        self._places = places
        self._children: list[Child] = []

    def run(
        self,
        bytes_: int,
        ping_s: float,
        stream_s: float,
        steps_min: int,
        limit_s: float,
        *,
        hold_s: float = 0.0,
        measure_memory: bool = False,
    ) -> Run:
        """Send steps of `bytes_` bytes, one by one and then in a row, through a fresh stream.

        The first part takes `ping_s` seconds, the second `stream_s` seconds and at least
        `steps_min` steps; both sides have `limit_s` for all of it.
        `hold_s` makes the reader wait in between, so that the queue fills; with `measure_memory`
        the proportional set sizes are sampled meanwhile (which disturbs the times).
        Errors: ChildError; the processes are then gone and the next run starts new ones.
        """
        command = {
            "folder": str(self._folder),
            "stream": f"bench-{os.getpid()}-{next(_streams)}",
            "bytes": bytes_,
            "ping_s": ping_s,
            "stream_s": stream_s,
            "steps_min": steps_min,
            "lead": self._queue_steps + 4,
            "tail": self._queue_steps + 2,
            "hold_s": hold_s,
            "epoch_ns": time.monotonic_ns(),
            "settings": {**self.contestant.settings, "queue_steps": self._queue_steps},
        }
        try:
            self.start()
            for child in self._children:
                child.send(command)
            memory = _Memory([child.pid for child in self._children])
            watch: Callable[[], None] | None = memory.sample if measure_memory else None
            wrote, read = gather(self._children, limit_s, watch)
            if (wrote["pings"], wrote["steps"]) != (read["pings"], read["steps"]):
                raise ChildError(f"the writer wrote {wrote}, the reader read {read}")
        except BaseException:
            self.close()
            raise
        return Run(
            bytes=bytes_,
            steps=wrote["steps"],
            seconds=max(1, read["timed_ns"]) / 1e9,
            latencies_s=tuple(ns / 1e9 for ns in read["latencies_ns"]),
            memory_writer=memory.peak[0],
            memory_reader=memory.peak[1],
        )

    def start(self) -> None:
        """Start both processes unless they run, and wait until they have imported everything."""
        if self._children:
            return
        environment = {**os.environ, **self.contestant.environment}
        paths = [str(_ROOT), environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
        reads, writes = os.pipe()
        try:
            for role, ack, cores, place in (
                ("writer", reads, self._cores[0], self._places[0]),
                ("reader", writes, self._cores[1], self._places[1]),
            ):
                command = [*place, str(self.contestant.python), "-m", "bench.stage.side", role]
                command += [self.contestant.module, str(self._library), str(ack)]
                log = self._folder / f"{self.contestant.module}-{role}.log"
                self._children.append(
                    Child(
                        command,
                        cores=cores,
                        log=log,
                        environment=environment,
                        pass_fds=[ack],
                        cwd=self._folder,
                    )
                )
        finally:
            os.close(reads)
            os.close(writes)
        for child in self._children:
            child.send({"hello": True})
        gather(self._children, _START_TIMEOUT_S)

    def close(self) -> None:
        """Kill both processes."""
        for child in self._children:
            child.close()
        self._children = []

    def __enter__(self) -> Pair:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Memory:
    """Peaks of the proportional set size (PSS): a page that both sides map counts half for each."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self.peak = [0] * len(pids)
        self._peak_together = 0

    def sample(self) -> None:
        now = [proportional_set_size(pid) for pid in self._pids]
        if sum(now) > self._peak_together:
            self._peak_together = sum(now)
            self.peak = now


def proportional_set_size(pid: int) -> int:
    """Return the PSS of a process in bytes; 0 when it is gone."""
    with contextlib.suppress(OSError):
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        for line in text.splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def start_limit(folder: Path, library: Path, cores: frozenset[int]) -> Child:
    """Start the process that measures what no transport can beat here."""
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    command = [sys.executable, "-m", "bench.stage.limit", str(library)]
    return Child(command, cores=cores, log=folder / "limit.log", environment=environment)


def step_times_in_turns(
    pairs: Sequence[Pair],
    sizes: Mapping[Case, int],
    rounds: int,
    *,
    quick: bool,
    limit_s: float,
    say: Callable[[str], None],
    limit: Child | None = None,
) -> dict[tuple[Case, str], list[float]]:
    """Return the time of a step in us, by case and contestant, one of each round that went well.

    `sizes` are the bytes of a step in each case; `say` is told what failed. With `limit`, from
    `start_limit`, as a further contestant MEMCPY: one copy of a step's bytes.
    """
    least, seconds = (8, 0.1) if quick else (16, 0.5)
    figures: dict[tuple[Case, str], list[float]] = {}
    for _ in range(rounds):
        for case, bytes_ in sizes.items():
            if limit is not None:
                limit.send({"bytes": bytes_, "budget_s": seconds / 4})
                rate = gather([limit], limit_s)[0]["memcpy"]
                figures.setdefault((case, MEMCPY), []).append(1e6 * bytes_ / rate)
            for pair in pairs:
                name = pair.contestant.name
                attempt = partial(pair.run, bytes_, 0.0, seconds, least, limit_s)
                try:
                    run = run_again_once(pair, attempt)
                except ChildError as error:
                    say(f"{name} failed: {error}")
                    continue
                figures.setdefault((case, name), []).append(1e6 / run.steps_per_s)
    return figures


def run_again_once(pair: Pair, attempt: Callable[[], Run]) -> Run:
    """`attempt`, and once more in fresh processes when it fails; says so on standard error."""
    try:
        return attempt()
    except ChildError as error:
        print(f"{pair.contestant.name}: {error}; trying again", file=sys.stderr)
        return attempt()
