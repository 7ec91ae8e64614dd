# SPDX-License-Identifier: Apache-2.0
"""The figures of Bui et al. 2016 on a simulated machine, beside MPI's own message on the same.

Simulated time does not depend on this computer. Windows are the best of a few, as in the paper.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from bench.plotter import Layout, Line, Panel
from bench.record import Metric, Record, Sample, compare

if TYPE_CHECKING:
    from harness.simulated import Flow, Software

TORUS = "bgq:4x4x4x4x2"
SOURCE, TARGET = 0, 426
KiB, MiB = 1 << 10, 1 << 20
_TIME = Metric("simulated time", "ms", higher_is_better=False)
_COLOURS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#2e4057", "#8d96a3")

Ways = dict[str, list[list["Flow"]]]
"""Flows by name of the way, each with several windows of which the fastest counts."""


def records(quick: bool, show: Callable[[str], None]) -> list[Record]:
    """Simulate the figures, one after the other."""
    from harness.simulated import MPI, PAMI

    sizes = [KiB << (2 * k) for k in range(9)] if not quick else [KiB, 64 * KiB, MiB, 16 * MiB]
    out: list[Record] = []
    for software in (MPI, PAMI):
        out += _figure(4 if software is MPI else 5, TORUS, software, sizes, one_proxy, show)
        out += _figure(6, TORUS, software, [*sizes, 128 * MiB], paths_of_a_pair, show)
    out += _figure(7, TORUS, PAMI, sizes, hops_of_a_pair, show)
    out += _figure(
        8, TORUS, PAMI, [16 * KiB, 128 * KiB, 2 * MiB, 32 * MiB], windows_of_a_pair, show
    )
    groups = [64 * KiB, 512 * KiB, 2 * MiB] if not quick else [512 * KiB]
    out += _figure(9, TORUS, PAMI, groups, two_groups, show)
    out += _figure(0, TORUS, PAMI, [MiB] if quick else [MiB, 4 * MiB, 16 * MiB], random_pairs, show)
    out += _figure(0, "dragonfly:9x8x4,bandwidth=1.8e9,latency=4e-8", PAMI, [MiB], two_blocks, show)
    return out


def _figure(
    figure: int,
    topology: str,
    software: Software,
    sizes: Sequence[int],
    ways_of: Callable[[str, int], tuple[list[Flow], Ways]],
    show: Callable[[str], None],
) -> list[Record]:
    """Simulate the ways of one figure for each size; a record for each way."""
    from harness.simulated import Machine

    machine, runs = Machine(topology, software), []
    for size in sizes:
        plain, ways = ways_of(topology, size)
        direct = machine.add_messages(plain)
        runs.append((size, direct, {way: [*map(machine.add, some)] for way, some in ways.items()}))
    seconds = machine.seconds()
    out = []
    for size, direct, ways in runs:
        theirs = Sample.of([seconds[direct] * 1e3])
        for way, numbers in ways.items():
            mine = Sample.of([min(seconds[number] for number in numbers) * 1e3])
            params = {"figure": figure, "bytes": size, "software": software.name, "way": way}
            case = f"{ways_of.__name__}, {software.name}, {way}"
            record = compare("route", case, params, _TIME, mine, "MPI, direct", theirs)
            show(f"figure {figure or '–'}: {case}, {size} bytes: {record.ratio:.2f} times as fast")
            out.append(record)
    return out


def _stops(topology: str, pairs: Iterable[tuple[int, int]]) -> list[list[tuple[int, ...]]]:
    import fluvial as fl

    plan = fl.route.plan(topology, list(pairs))
    return [
        [path.stops for path in sorted(paths, key=lambda path: len(path.proxies))]
        for paths in plan.paths
    ]


def _windows(size: int, paths: int) -> list[int]:
    """Return a few sizes of windows about the best one, and no more of them than 4,096."""
    fair = [w for w in (4 * KiB, 16 * KiB, 32 * KiB, 64 * KiB) if size // 4096 <= w < size / paths]
    return fair[:3] or [max(256, size // (2 * paths))]


def _flow(size: int, window: int, paths: Sequence[tuple[int, ...]]) -> Flow:
    from harness.simulated import Flow

    return Flow(paths[0][0], paths[0][-1], size, window, tuple(paths))


def _plain(size: int, pairs: Iterable[tuple[int, int]]) -> list[Flow]:
    from harness.simulated import Flow

    return [Flow(source, target, size) for source, target in pairs]


def one_proxy(topology: str, size: int) -> tuple[list[Flow], Ways]:
    """Figures 4 and 5: by one proxy, whole or in windows."""
    path = _stops(topology, [(SOURCE, TARGET)])[0][1:2]
    windows = [[_flow(size, window, path)] for window in _windows(size, 1)]
    return _plain(size, [(SOURCE, TARGET)]), {
        "windows": windows,
        "whole": [[_flow(size, size, path)]],
    }


def paths_of_a_pair(topology: str, size: int) -> tuple[list[Flow], Ways]:
    """Figure 6: by 1 to 9 paths, and what the model chooses."""
    import fluvial as fl

    paths = _stops(topology, [(SOURCE, TARGET)])[0]
    ways = {
        f"{count} paths": [[_flow(size, window, paths[:count])] for window in _windows(size, count)]
        for count in (2, 3, 5, 9)
    }
    plan = fl.route.plan(topology, [(SOURCE, TARGET)])
    found = plan.predict(size)
    direct = _plain(size, [(SOURCE, TARGET)])
    chosen = direct if found.direct else [_flow(size, int(found.window), paths[: found.paths])]
    return direct, {**ways, "the model's choice": [chosen]}


def hops_of_a_pair(topology: str, size: int) -> tuple[list[Flow], Ways]:
    """Figure 7: a proxy wherever the route allows none to be left out, or at every host."""
    import fluvial as fl

    paths = fl.route.plan(topology, [(SOURCE, TARGET)]).paths[0]
    windows = _windows(size, len(paths))
    every = [[_flow(size, window, [path.nodes for path in paths])] for window in windows]
    few = [[_flow(size, window, [path.stops for path in paths])] for window in windows]
    return _plain(size, [(SOURCE, TARGET)]), {"every host": every, "routing-aware": few}


def windows_of_a_pair(topology: str, size: int) -> tuple[list[Flow], Ways]:
    """Figure 8: by one proxy, in windows of all sizes."""
    path = _stops(topology, [(SOURCE, TARGET)])[0][1:2]
    windows = [w for w in (KiB << (2 * k) for k in range(6)) if size // 4096 <= w <= size]
    return _plain(size, [(SOURCE, TARGET)]), {
        f"windows of {window} bytes": [[_flow(size, window, path)]] for window in windows
    }


def _planned(topology: str, size: int, pairs: list[tuple[int, int]]) -> tuple[list[Flow], Ways]:
    """Return what `fl.route.exchange` does: paths and windows as the model chooses them."""
    from harness.simulated import planned

    import fluvial as fl

    plan = fl.route.plan(topology, [(source, target, size) for source, target in pairs])
    return _plain(size, pairs), {"planned jointly": [planned(plan, "pami")]}


def two_groups(topology: str, size: int) -> tuple[list[Flow], Ways]:
    """Figure 9: each of 64 hosts to its partner in another block of 64."""
    return _planned(topology, size, [(host, host + 448) for host in range(64)])


def random_pairs(topology: str, size: int) -> tuple[list[Flow], Ways]:
    """64 pairs of hosts, no host twice."""
    hosts = random.Random(1).sample(range(512), 128)
    return _planned(topology, size, [*zip(hosts[:64], hosts[64:], strict=True)])


def two_blocks(topology: str, size: int) -> tuple[list[Flow], Ways]:
    """16 hosts of one group of a dragonfly to 16 of another: one link between the two groups."""
    return _planned(topology, size, [(host, host + 256) for host in range(16)])


def layout(machine: str, drawn: Sequence[Record]) -> Layout:
    """One panel a figure of the paper."""
    panels = []
    for title, cases in _groups(drawn).items():
        lines = tuple(
            Line(case.rsplit(", ", 1)[1], _COLOURS[i % len(_COLOURS)], case=case)
            for i, case in enumerate(cases)
        )
        panels.append(
            Panel(
                title, (_TIME.name,), "times as fast as direct", lines, y="ratio", x_label="bytes"
            )
        )
    return Layout("Several paths on a simulated Blue Gene/Q", machine, tuple(panels))


def _groups(drawn: Sequence[Record]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for record in drawn:
        figure = record.params["figure"]
        if figure:
            title = f"Figure {figure}, {record.params['software']}"
            cases = groups.setdefault(title, [])
            if record.case not in cases:
                cases.append(record.case)
    return groups
