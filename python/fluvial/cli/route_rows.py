# SPDX-License-Identifier: Apache-2.0
"""A plan as rows: the paths of a flow, and what they gain by size of message."""

from __future__ import annotations

from ..route.planning import Path, Plan
from .tables import Row


def _names(made: Plan, nodes: tuple[int, ...]) -> str:
    return " → ".join(map(made.topology.name, nodes))


def paths_of(made: Plan, flow: int, costs: str) -> list[Row]:
    """Return one row a path of a flow."""
    source, target, size = made.flows[flow]
    found = made.predict(size, flow, costs=costs)
    ends = _names(made, (source, target))
    rows: list[Row] = []
    for number, path in enumerate(_by_proxies(made.paths[flow]), start=1):
        rows.append(
            {
                "flow": ends,
                "path": number,
                "used": not found.direct and number <= found.paths,
                "proxies": _names(made, path.proxies) or "none",
                "links": len(path.nodes) - 1,
                "share": round(path.share, 6),
                "speed-up": round(found.speed_up, 2),
                "way": _names(made, path.nodes),
            }
        )
    if found.direct:
        for row in rows:
            row["used"] = row["proxies"] == "none"
    return rows


def _by_proxies(paths: list[Path]) -> list[Path]:
    """In the order in which the model uses them."""
    return sorted(paths, key=lambda path: len(path.proxies))


def sizes_of(made: Plan, flow: int, sizes: list[int], costs: str) -> list[Row]:
    """Return one row a size of message: what is predicted for it."""
    source, target, _ = made.flows[flow]
    rows: list[Row] = []
    for size in sizes:
        found = made.predict(size, flow, costs=costs)
        rows.append(
            {
                "flow": _names(made, (source, target)),
                "bytes": size,
                "paths": found.paths,
                "window (bytes)": None if found.direct else int(found.window),
                "time (s)": float(f"{found.seconds:.4g}"),
                "direct (s)": float(f"{found.direct_seconds:.4g}"),
                "speed-up": round(found.speed_up, 2),
            }
        )
    return rows
