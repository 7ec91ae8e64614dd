# SPDX-License-Identifier: Apache-2.0
"""What the turns of all contestants gave."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.record import Sample
from bench.stream.cases import Case, state_of, turns_of


@dataclass(frozen=True)
class Turn:
    """One run of one contestant."""

    repetition: int
    elements: int  # of all producers
    seconds: float
    one_way_ns: float  # between the two cores, just before; 0 when it was not probed
    grown_bytes: float
    limit_bytes: float


@dataclass
class Figures:
    """Every turn by case and contestant."""

    turns: dict[Case, dict[str, list[Turn]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(list))
    )

    def add(self, case: Case, lines: Iterable[Mapping[str, Any]]) -> None:
        """Add the lines of a program."""
        for line in lines:
            turn = Turn(**{k: v for k, v in line.items() if k != "contestant"})
            self.turns[case][line["contestant"]].append(turn)

    def cases(self, experiment: str, **wanted: Any) -> list[Case]:
        """Return the cases of an experiment, in the order measured, whose fields are `wanted`."""
        return [
            case
            for case in self.turns
            if case.experiment == experiment
            and all(getattr(case, name) == value for name, value in wanted.items())
        ]

    def rate(self, case: Case, who: str, state: str = "") -> Sample | None:
        """Return the GB/s of a contestant; `state` leaves turns with the cores in this state."""
        turns = [
            turn
            for turn in self._turns(case, who)
            if not state or state_of(turn.one_way_ns) == state
        ]
        if not turns:
            return None
        return Sample.of(turn.elements * case.bytes / turn.seconds / 1e9 for turn in turns)

    def elements(self, case: Case, who: str) -> Sample | None:
        """Return the elements a second of a contestant."""
        turns = self._turns(case, who)
        return None if not turns else Sample.of(turn.elements / turn.seconds for turn in turns)

    def best(self, case: Case, ways: Sequence[str]) -> str | None:
        """Return the one of `ways` with the greatest median rate."""
        rates = {way: rate.median for way in ways if (rate := self.rate(case, way)) is not None}
        return max(rates, key=lambda way: rates[way]) if rates else None

    def ratio(self, case: Case, ours: str, peer: str, state: str = "") -> float | None:
        """Return the median over repetitions of our rate over the peer's of the same repetition.

        `state` leaves those repetitions in which both found the cores in this state.
        """
        ratios = []
        theirs = {turn.repetition: turn for turn in self._turns(case, peer)}
        for turn in self._turns(case, ours):
            other = theirs.get(turn.repetition)
            if other is None:
                continue
            states = {state_of(turn.one_way_ns), state_of(other.one_way_ns)}
            if not state or states == {state}:
                ratios.append(turn.elements / turn.seconds / (other.elements / other.seconds))
        return statistics.median(ratios) if ratios else None

    def distance(self, case: Case) -> Sample | None:
        """Return the times of a cache line between the two cores, in ns, of all turns of a case."""
        found = [turn.one_way_ns for turns in self.turns[case].values() for turn in turns]
        return Sample.of(found) if any(found) else None

    def grown(self, case: Case, who: str) -> Sample | None:
        """Return by how many bytes the consumer that grew most has grown."""
        turns = self.turns[case].get(who)
        return None if not turns else Sample.of(turn.grown_bytes for turn in turns)

    def _turns(self, case: Case, who: str) -> Sequence[Turn]:
        """Return the turns of a contestant; of one in several variants, those of the fastest."""
        variants = turns_of([who])
        fastest = who if variants == [who] else self.best(case, variants)
        return self.turns[case].get(fastest or who, ())
