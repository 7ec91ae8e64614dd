# SPDX-License-Identifier: Apache-2.0
"""Runs the experiments: all contestants of a case take turns in one job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

from bench.scan.compiled import OPEN_MPI, Program
from bench.scan.once import RunError, run_lines
from bench.stream.cases import (
    ANEW,
    APART,
    BARE_EXCHANGES,
    BARE_MESSAGES,
    BARE_RING,
    DEALT,
    DEFAULT_WAY,
    FLOPS,
    INSIDE,
    KERNELS,
    LIMIT,
    MEMORY,
    MESSAGE_WAYS,
    OUTSIDE,
    PEERS,
    PRODUCERS,
    SCALING,
    SEED,
    SEND,
    SIZES,
    STREAM,
    WAYS,
    WINDOW,
    WINDOW_WORKED,
    Case,
    turns_of,
)
from bench.stream.figures import Figures

_LIMIT_S = 300.0
_AWAY_S = 2.0
_DEALT_DOUBLES = (512,)
_ANEW_DOUBLES = (2**13, 2**17)
_MEMORY_BYTES = 2**28
_MEMORY_ELEMENTS = 2**16  # Open MPI takes minutes to work off more that came unexpected
# A rank that waits gives its core away; only where there are more ranks than cores.
_YIELDING = {
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
    "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
_OPEN_MPI_AS_ROOT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


@dataclass(frozen=True)
class Scope:
    """How much is measured."""

    doubles: tuple[int, ...]
    repeats: int
    seconds: float  # of a turn
    producers: tuple[int, ...]
    producer_doubles: tuple[int, ...]
    producer_bytes: int  # of all producers together, whatever their number
    dealt: tuple[int, ...]  # producers, where they share the consumer's core
    pair_bytes: int  # of all pairs together
    flops: tuple[int, ...]
    pairs: tuple[int, ...]
    memory: tuple[tuple[int, int], ...]  # doubles and producers

    @classmethod
    def full(cls, repeats: int) -> Scope:
        """Return everything: minutes for each MPI."""
        sizes = (1, 8, 64, 512, 2**13, 2**17, 2**21, 2**22)
        flops = (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)
        paper = (256, 512, 1024)
        memory = ((1, 1), (512, 1), (512, 5), (512, 25))
        return cls(
            doubles=sizes,
            repeats=repeats,
            seconds=0.03,
            producers=(1, 2, 5, 10, 16, 25),
            producer_doubles=paper,
            producer_bytes=2**29,
            dealt=(1, 5, 25),
            pair_bytes=2**25,
            flops=flops,
            pairs=(1, 2, 4),
            memory=memory,
        )

    @classmethod
    def quick(cls, repeats: int) -> Scope:
        """Return what takes some 20 s."""
        sizes = (1, 64, 512, 2**13, 2**17)
        return cls(
            doubles=sizes,
            repeats=repeats,
            seconds=0.01,
            producers=(1, 5, 25),
            producer_doubles=(512,),
            producer_bytes=2**28,
            dealt=(1, 25),
            pair_bytes=2**23,
            flops=(10, 1000, 100_000),
            pairs=(1, 2),
            memory=((512, 1),),
        )


@dataclass
class Laboratory:
    """The program under one MPI, and how it is started."""

    mpi: str
    program: Program
    cores: Sequence[int]
    scope: Scope
    say: Callable[[str], None]
    figures: Figures = field(default_factory=Figures)
    complaints: list[str] = field(default_factory=list)  # of jobs whose failure ended nothing

    def run(self, case: Case, contestants: Sequence[str], **words: Any) -> None:
        """Let contestants take turns in one job."""
        oversubscribed = case.ranks > len(set(self.cores))
        given = {
            "contestants": ",".join(contestants),
            "repeats": self.scope.repeats,
            "seconds": self.scope.seconds,
            "cores": ",".join(map(str, self.cores)),
            "yields": int(oversubscribed),
            **case.words(),
            **words,
        }
        environment = dict(_YIELDING if oversubscribed else {})
        if self.program.launcher and OPEN_MPI in Path(self.program.launcher[0]).name:
            environment |= _OPEN_MPI_AS_ROOT
        self.figures.add(case, self._lines(case.ranks, given, environment))

    def sizes(self) -> None:
        """Figure 6, on both paths, with all peers."""
        for doubles in self.scope.doubles:
            case = self._case(SIZES, doubles=doubles)
            self.say(f"{self.mpi}: elements of {case.bytes} bytes")
            bare = chain.from_iterable(BARE_EXCHANGES.values())
            self.run(case, turns_of([*PEERS, *bare, *WAYS, *MESSAGE_WAYS]))

    def anew(self) -> None:
        """Large elements that the producer makes anew, on both paths."""
        who = turns_of([SEED, SEND, WINDOW, WINDOW_WORKED, BARE_RING, BARE_MESSAGES])
        for doubles in _ANEW_DOUBLES:
            case = self._case(ANEW, doubles=doubles)
            self.say(f"{self.mpi}: elements of {case.bytes} bytes, made anew")
            self.run(case, [*who, *WAYS, *MESSAGE_WAYS])

    def kernels(self) -> None:
        """Compare copy, scale, add and triad."""
        for kernel in KERNELS:
            self.say(f"{self.mpi}: {kernel}")
            self.run(self._case(STREAM, kernel=kernel), [SEED, DEFAULT_WAY])

    def producers(self) -> None:
        """Figure 4: more producers a consumer send as much together."""
        placed = [
            *product(self.scope.producer_doubles, self.scope.producers, [APART]),
            *product(_DEALT_DOUBLES, self.scope.dealt, [DEALT]),
        ]
        for doubles, producers, placement in placed:
            case = self._case(PRODUCERS, doubles=doubles, producers=producers, placement=placement)
            self.say(f"{self.mpi}: {producers} producers, {case.bytes} bytes, {placement}")
            elements = max(1, self.scope.producer_bytes // case.bytes // producers)
            self.run(case, [SEED, DEFAULT_WAY, LIMIT], elements=elements)

    def flops(self) -> None:
        """Figure 5: more to do for each element."""
        for doubles in self.scope.producer_doubles:
            for flops in self.scope.flops:
                self.say(f"{self.mpi}: {flops} operations an element of {8 * doubles} bytes")
                case = self._case(FLOPS, doubles=doubles, flops=flops)
                self.run(case, [SEED, DEFAULT_WAY])

    def scaling(self) -> None:
        """Figure 7, as far as this machine goes."""
        for pairs in self.scope.pairs:
            self.say(f"{self.mpi}: {pairs}+{pairs}")
            case = self._case(SCALING, producers=pairs, consumers=pairs)
            elements = max(1, self.scope.pair_bytes // case.bytes // pairs)
            self.run(case, [SEED, DEFAULT_WAY], elements=elements)

    def memory(self, limit_bytes: int) -> None:
        """Keep the consumer busy for two seconds while producers send; each in its own job."""
        for (doubles, producers), away in product(self.scope.memory, (OUTSIDE, INSIDE)):
            case = self._case(MEMORY, doubles=doubles, producers=producers, away=away)
            elements = min(_MEMORY_BYTES // case.bytes, _MEMORY_ELEMENTS) // producers
            for who in (SEED, DEFAULT_WAY, f"{DEFAULT_WAY}/messages"):
                self.say(
                    f"{self.mpi}: memory, {producers} producers, {case.bytes} bytes, {away}, {who}"
                )
                words = {"elements": elements, "away": _AWAY_S, "buffer": limit_bytes}
                try:
                    self.run(case, [who], repeats=1, **words)
                except RunError as error:
                    self.complaints.append(f"{who}, {producers} producers, {away}: {error}")

    def _case(self, experiment: str, **fields: Any) -> Case:
        return replace(Case(experiment, self.mpi), **fields)

    def _lines(
        self, ranks: int, words: Mapping[str, Any], environment: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        command = [*self.program.launcher, "-n", str(ranks), str(self.program.path)]
        command += [f"{name}={value}" for name, value in words.items()]
        return run_lines(command, _LIMIT_S, {**environment})
