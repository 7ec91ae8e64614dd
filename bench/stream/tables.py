# SPDX-License-Identifier: Apache-2.0
"""The figures as tables in the terminal, and which expectations hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from bench.record import Sample
from bench.stream.cases import (
    ANEW,
    APART,
    BARE_EXCHANGES,
    BETWEEN,
    DEFAULT_WAY,
    EFFICIENCY,
    EXPECTED,
    EXPECTED_ANEW,
    EXPECTED_MILLIONS,
    FAR,
    FLOPS,
    LIMIT,
    LIMIT_NAME,
    MEMORY,
    MPI_BYTES,
    NAMES,
    NEAR,
    NO_DIP,
    PATHS,
    PEERS,
    PRODUCERS,
    SAME_NODE,
    SCALING,
    SEED,
    SEND,
    SIMULATED,
    SIZES,
    STREAM,
    WINDOW,
    WINDOW_WORKED,
    Case,
    state_of,
)
from bench.stream.figures import Figures
from bench.stream.report import efficiency
from bench.stream.simulated import WAY as SIMULATED_WAY
from bench.table import machine_line, number, size_label

_STATES = (NEAR, FAR)
Cell = Callable[[Case], str]


def show(console: Console, figures: Figures, header: dict[str, Any]) -> None:
    """Print the machine, a table for each experiment and MPI, and the verdicts."""
    console.print(machine_line(header))
    for experiment in (SIZES, ANEW):
        for mpi in dict.fromkeys(case.mpi for case in figures.cases(experiment)):
            cases = figures.cases(experiment, mpi=mpi)
            for path in PATHS:
                console.print(_sizes(figures, cases, mpi, path))
                console.print(_ways(figures, cases, mpi, path))
    for experiment, axis, columns in _EXPERIMENTS:
        for mpi in dict.fromkeys(case.mpi for case in figures.cases(experiment)):
            cases = figures.cases(experiment, mpi=mpi)
            console.print(_table(f"{axis}, {mpi}", cases, columns(figures)))
    verdicts = list(judge(figures))
    for holds, sentence in verdicts:
        console.print(f"{'✓' if holds else '✗'} {sentence}", style="" if holds else "red")


def judge(figures: Figures) -> Iterable[tuple[bool, str]]:
    """Say for each expectation, MPI and state of the cores whether it holds, and the ratio."""
    for case in (*figures.cases(SIZES), *figures.cases(ANEW)):
        anew = case.experiment == ANEW
        for expected in EXPECTED_ANEW if anew else EXPECTED:
            if not expected.low <= case.bytes <= expected.high:
                continue
            way = figures.best(case, PATHS[expected.path])
            ratios = {
                state: ratio
                for state in _STATES
                if way and (ratio := figures.ratio(case, way, expected.peer, state)) is not None
            }
            for state, ratio in ratios.items():
                yield (
                    ratio >= expected.ratio,
                    f"{case.mpi}, {expected.path}, {size_label(case.bytes)}"
                    f"{f', {ANEW}' if anew else ''}, cores {state}: "
                    f"{number(ratio)}× {NAMES[expected.peer]} (expected: {expected.ratio:g}×; "
                    f"{way})",
                )
        if case.bytes == 8:
            yield from _judge_small(figures, case)
    yield from _judge_dip(figures)
    yield from _judge_memory(figures)
    yield from _judge_simulated(figures)


def _judge_small(figures: Figures, case: Case) -> Iterable[tuple[bool, str]]:
    for taken, millions in EXPECTED_MILLIONS.items():
        way = figures.best(case, [way for way in PATHS[SAME_NODE] if way.endswith(taken)])
        rate = None if way is None else figures.elements(case, way)
        if rate is not None:
            yield (
                rate.median >= millions * 1e6,
                f"{case.mpi}, 8 B: {millions_label(rate)} million elements/s with {way} "
                f"(expected: {millions:g})",
            )


def _judge_dip(figures: Figures) -> Iterable[tuple[bool, str]]:
    cases = figures.cases(PRODUCERS)
    sets = dict.fromkeys((case.mpi, case.doubles, case.placement) for case in cases)
    for mpi, doubles, placement in sets:
        some = figures.cases(PRODUCERS, mpi=mpi, doubles=doubles, placement=placement)
        most = max(some, key=lambda case: case.producers)
        one = min(some, key=lambda case: case.producers)
        who = f"{mpi}, {size_label(8 * doubles)}, {placement}"
        if most == one:
            continue
        shares = {
            state: share
            for state in _STATES
            if (share := _share(figures, most, one, DEFAULT_WAY, state)) is not None
        }
        if not shares and (share := _share(figures, most, one, DEFAULT_WAY)) is not None:
            shares[""] = share  # the cores were never in the same state
        for state, share in shares.items():
            said = f"{most.producers} producers reach {share:.2f} of the rate of one"
            bare = _share(figures, most, one, LIMIT, state)
            said += "" if bare is None else f", {LIMIT_NAME} {bare:.2f}"
            said += f" (expected: {1 / NO_DIP:g})" if placement == APART else ""
            holds = placement != APART or share * NO_DIP >= 1
            yield holds, f"{who}, cores {state or 'near or far'}: {said}"


def _share(figures: Figures, case: Case, of: Case, who: str, state: str = "") -> float | None:
    ours, theirs = figures.rate(case, who, state), figures.rate(of, who, state)
    return None if ours is None or theirs is None else ours.median / theirs.median


def _judge_memory(figures: Figures) -> Iterable[tuple[bool, str]]:
    for case in figures.cases(MEMORY):
        ways = {SAME_NODE: DEFAULT_WAY, BETWEEN: f"{DEFAULT_WAY}/messages"}
        for path, way in ways.items():
            grown = figures.grown(case, way)
            if grown is not None:
                limit = figures.turns[case][way][0].limit_bytes
                yield (
                    grown.max <= limit + MPI_BYTES,
                    f"{case.mpi}, {path}, {case.producers} producers of {size_label(case.bytes)}, "
                    f"consumer {case.away}: grows by {grown.max / 2**20:.1f} MiB "
                    f"(expected: {size_label(int(limit))}, and {size_label(MPI_BYTES)} for MPI)",
                )


def _judge_simulated(figures: Figures) -> Iterable[tuple[bool, str]]:
    for machine in dict.fromkeys(case.machine for case in figures.cases(SIMULATED)):
        most = max(figures.cases(SIMULATED, machine=machine), key=lambda case: case.consumers)
        reached = efficiency(figures, most)
        if reached is not None:
            yield (
                reached >= EFFICIENCY,
                f"simulated {machine}: {most.producers:,}+{most.consumers:,} ranks reach "
                f"{100 * reached:.1f} % of linear (expected: {100 * EFFICIENCY:g} %)",
            )


def _sizes(figures: Figures, cases: Sequence[Case], mpi: str, path: str) -> Table:
    def best(case: Case) -> str:
        way = figures.best(case, PATHS[path])
        return "—" if way is None else f"{_median(figures, way)(case)} {_bare(way)}"

    def ratio(peer: str) -> Cell:
        def cell(case: Case) -> str:
            way = figures.best(case, PATHS[path])
            value = None if way is None else figures.ratio(case, way, peer)
            return "—" if value is None else f"{number(value)}×"

        return cell

    def present(peers: Iterable[str]) -> list[str]:
        return [peer for peer in peers if any(figures.rate(case, peer) for case in cases)]

    bare = BARE_EXCHANGES[path]
    beside = present((SEED, SEND, WINDOW, WINDOW_WORKED, *bare))
    columns: dict[str, Cell] = {
        "element": lambda case: size_label(case.bytes),
        "one way, ns": lambda case: _distance(figures, case),
        **{NAMES[peer]: _median(figures, peer) for peer in present((*PEERS, *bare))},
        "Fluvial, best": best,
        **{f"× {NAMES[peer]}": ratio(peer) for peer in beside},
    }
    what = "Element size (Figure 6)" if cases[0].experiment == SIZES else ANEW.capitalize()
    return _table(f"{what}, {path}, {mpi}: median GB/s; paired ratios", cases, columns)


def _ways(figures: Figures, cases: Sequence[Case], mpi: str, path: str) -> Table:
    def cell(way: str) -> Cell:
        return lambda case: (
            f"{millions_label(figures.elements(case, way))} M/s, "
            f"{rate_label(figures.rate(case, way))} GB/s"
        )

    columns: dict[str, Cell] = {"element": lambda case: size_label(case.bytes)}
    columns |= {_bare(way): cell(way) for way in PATHS[path]}
    what = ", made anew" if cases[0].experiment == ANEW else ""
    return _table(f"How elements are given and taken{what}, {path}, {mpi}", cases, columns)


def _pair(figures: Figures) -> dict[str, Cell]:
    return {
        f"{PEERS[SEED]}, GB/s": _rate(figures, SEED),
        "Fluvial, GB/s": _rate(figures, DEFAULT_WAY),
        "ratio": _ratio(figures, DEFAULT_WAY),
    }


def _ratio(figures: Figures, way: str) -> Cell:
    def cell(case: Case) -> str:
        value = figures.ratio(case, way, SEED)
        return "—" if value is None else f"{number(value)}×"

    return cell


def _memory(figures: Figures) -> dict[str, Cell]:
    def grown(way: str) -> Cell:
        def cell(case: Case) -> str:
            sample = figures.grown(case, way)
            return "—" if sample is None else f"{sample.median / 2**20:.1f} MiB"

        return cell

    def limit(case: Case) -> str:
        turns = figures.turns[case].get(DEFAULT_WAY)
        return "—" if not turns else size_label(int(turns[0].limit_bytes))

    return {
        "element": lambda case: size_label(case.bytes),
        "producers": lambda case: str(case.producers),
        "consumer is": lambda case: case.away,
        PEERS[SEED]: grown(SEED),
        f"Fluvial, {SAME_NODE}": grown(DEFAULT_WAY),
        f"Fluvial, {BETWEEN}": grown(f"{DEFAULT_WAY}/messages"),
        "limit": limit,
    }


def _simulated(figures: Figures) -> dict[str, Cell]:
    def share(case: Case) -> str:
        value = efficiency(figures, case)
        return "—" if value is None else f"{100 * value:.1f} %"

    return {
        "machine": lambda case: case.machine,
        "pairs": lambda case: f"{case.producers}+{case.consumers}",
        f"{PEERS[SEED]}, GB/s": _rate(figures, SEED),
        "Fluvial, GB/s": _rate(figures, SIMULATED_WAY),
        "ratio": _ratio(figures, SIMULATED_WAY),
        "efficiency": share,
    }


def _with(name: str, cell: Cell) -> Callable[[Figures], dict[str, Cell]]:
    return lambda figures: {"element": _element, name: cell, **_pair(figures)}


def _producers(figures: Figures) -> dict[str, Cell]:
    def share(case: Case) -> str:
        value = figures.ratio(case, DEFAULT_WAY, LIMIT)
        return "—" if value is None else f"{value:.2f}"

    return {
        "element": _element,
        "producers": lambda case: str(case.producers),
        "placement": lambda case: case.placement,
        "one way, ns": lambda case: _distance(figures, case),
        **_pair(figures),
        f"{LIMIT_NAME}, GB/s": _rate(figures, LIMIT),
        f"× {LIMIT_NAME}": share,
    }


def _element(case: Case) -> str:
    return size_label(case.bytes)


_EXPERIMENTS: tuple[tuple[str, str, Callable[[Figures], dict[str, Cell]]], ...] = (
    (STREAM, "Kernels", _with("kernel", lambda case: case.kernel)),
    (
        PRODUCERS,
        "Producers for one consumer, equal bytes (Figure 4)",
        _producers,
    ),
    (
        FLOPS,
        "Further operations on an element (Figure 5)",
        _with("operations", lambda case: f"{case.flops:,}"),
    ),
    (
        SCALING,
        "Both sides grow, equal bytes (Figure 7)",
        _with("pairs", lambda case: f"{case.producers}+{case.consumers}"),
    ),
    (MEMORY, "A consumer is busy for 2 s: its growth", _memory),
    (SIMULATED, "Both sides grow, between nodes (Figure 7)", _simulated),
)


def _table(title: str, cases: Sequence[Case], columns: dict[str, Cell]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE)
    for name in columns:
        table.add_column(name, justify="right")
    for case in cases:
        table.add_row(*(cell(case) for cell in columns.values()))
    return table


def _rate(figures: Figures, who: str) -> Cell:
    return lambda case: rate_label(figures.rate(case, who))


def _median(figures: Figures, who: str) -> Cell:
    def cell(case: Case) -> str:
        sample = figures.rate(case, who)
        return "—" if sample is None else number(sample.median)

    return cell


def _distance(figures: Figures, case: Case) -> str:
    found = figures.distance(case)
    if found is None:
        return "—"
    return f"{found.median:.0f} ({found.min:.0f}–{found.max:.0f}) {state_of(found.median)}"


def _bare(way: str) -> str:
    return way.split("/")[0].replace("-", ", ")


def rate_label(sample: Sample | None) -> str:
    """Write ``median (min–max)`` of a rate in GB/s; of a single run its value."""
    if sample is None:
        return "—"
    if sample.runs == 1:
        return number(sample.median)
    return f"{number(sample.median)} ({number(sample.min)}–{number(sample.max)})"


def millions_label(sample: Sample | None) -> str:
    """Write the median of a rate of elements in millions a second."""
    return "—" if sample is None else number(sample.median / 1e6)
