# SPDX-License-Identifier: Apache-2.0
"""The figures as records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bench.record import Metric, Record, Sample, compare
from bench.stream.cases import (
    ANEW,
    BARE_EXCHANGES,
    BETWEEN,
    DEFAULT_WAY,
    FLOPS,
    LIMIT,
    LIMIT_NAME,
    MEMORY,
    NAMES,
    PATHS,
    PEERS,
    PRODUCERS,
    SAME_NODE,
    SCALING,
    SEED,
    SIMULATED,
    SIZES,
    STREAM,
    Case,
)
from bench.stream.figures import Figures
from bench.stream.simulated import WAY as SIMULATED_WAY

RATE = Metric("rate", "GB/s", True)
ELEMENTS = Metric("element rate", "elements/s", True)
GROWTH = Metric("growth of a consumer that computes", "bytes", False)
DISTANCE = Metric("cache line between the cores", "ns", False)
BEST = "best way"
LINEAR = "as much a pair as the fewest"


def records(figures: Figures) -> list[Record]:
    """Return a record for each case, way and peer, in the order measured."""
    found: list[Record] = []
    for case in figures.cases(SIZES):
        found += _sizes(figures, case)
    for case in figures.cases(ANEW):
        found += [replace(made, case=f"{ANEW}, {made.case}") for made in _sizes(figures, case)]
    for experiment in (STREAM, PRODUCERS, FLOPS, SCALING):
        for case in figures.cases(experiment):
            found += _beside(figures, case, experiment, DEFAULT_WAY, SEED)
            found += _alone(figures, case, f"{experiment}, {PEERS[SEED]}", SEED)
            found += _alone(figures, case, f"{experiment}, {LIMIT_NAME}", LIMIT)
    for case in figures.cases(MEMORY):
        theirs = figures.grown(case, SEED)
        for path, way in ((SAME_NODE, DEFAULT_WAY), (BETWEEN, f"{DEFAULT_WAY}/messages")):
            ours = figures.grown(case, way)
            if ours is not None:
                params = case.params | {"limit": figures.turns[case][way][0].limit_bytes}
                found.append(
                    compare("stream", f"memory, {path}", params, GROWTH, ours, PEERS[SEED], theirs)
                )
    for case in figures.cases(SIMULATED):
        found += _simulated(figures, case)
    return found


def _sizes(figures: Figures, case: Case) -> Iterable[Record]:
    distance = figures.distance(case)
    if distance is not None:
        yield compare("stream", "core distance", case.params, DISTANCE, distance, "", None)
    for path, ways in PATHS.items():
        for way in ways:
            yield from _beside(figures, case, f"{path}, {way.split('/')[0]}", way, SEED)
        best = figures.best(case, ways)
        for peer in (*PEERS, *BARE_EXCHANGES[path]) if best is not None else ():
            named = _beside(figures, case, f"{path}, {BEST}", best or "", peer)
            yield from (record for record in named if record.metric == RATE.name)
    for peer, name in NAMES.items():
        yield from _alone(figures, case, name, peer)


def _alone(figures: Figures, case: Case, name: str, who: str) -> Iterable[Record]:
    """Yield a peer's own rate, with its spread."""
    rate = figures.rate(case, who)
    if rate is not None:
        yield compare("stream", name, case.params, RATE, rate, "", None)


def _beside(figures: Figures, case: Case, name: str, way: str, peer: str) -> Iterable[Record]:
    ratio = figures.ratio(case, way, peer)
    for metric, take in ((RATE, figures.rate), (ELEMENTS, figures.elements)):
        ours = take(case, way)
        if ours is not None:
            params = case.params | {"way": way}
            made = compare("stream", name, params, metric, ours, NAMES[peer], take(case, peer))
            yield replace(made, ratio=None if ratio is None else float(f"{ratio:.6g}"))


def _simulated(figures: Figures, case: Case) -> Iterable[Record]:
    ours, theirs = figures.rate(case, SIMULATED_WAY), figures.rate(case, SEED)
    if ours is None:
        return
    name, params = f"{SIMULATED}, {case.machine}", case.params
    yield compare("stream", name, params, RATE, ours, PEERS[SEED], theirs)
    yield compare("stream", name, params, RATE, ours, LINEAR, linear(figures, case))
    yield from _alone(figures, case, f"{name}, {PEERS[SEED]}", SEED)


def linear(figures: Figures, case: Case) -> Sample | None:
    """Return what this many pairs would reach if each did as the fewest did."""
    fewest = min(figures.cases(SIMULATED, machine=case.machine), key=lambda other: other.consumers)
    rate = figures.rate(fewest, SIMULATED_WAY)
    factor = case.consumers / fewest.consumers
    return None if rate is None else Sample.of(value * factor for value in rate.values)


def efficiency(figures: Figures, case: Case) -> float | None:
    """Return the rate over `linear`."""
    rate, ideal = figures.rate(case, SIMULATED_WAY), linear(figures, case)
    return None if rate is None or ideal is None else rate.median / ideal.median
