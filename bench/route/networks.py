# SPDX-License-Identifier: Apache-2.0
"""The networks of the contest, laid between hosts of a cluster in a box (tests/harness)."""

from __future__ import annotations

from dataclasses import dataclass

PACE = 12.5e6
"""Bytes per second of a cable: 100 Mbit/s, of which two cores feed as many as are in use."""


@dataclass(frozen=True)
class Network:
    """Hosts, a flow from one to another, and how many paths it takes."""

    name: str
    hosts: int
    paths: int
    grid: str = ""
    """The shape of a torus; empty: a cable between any two hosts."""
    slow: tuple[int, int] | None = None
    """A cable with a quarter of the speed, of which the plan knows nothing."""

    def topology(self, names: list[str]) -> str | dict[str, object]:
        """Return what the plan is made for: a text, or what a JSON file says of these hosts."""
        if self.grid:
            return f"torus:{self.grid},bandwidth={PACE}"
        links = [{"from": a, "to": b, "bandwidth": PACE} for a in names for b in names if a < b]
        return {"hosts": names, "links": links}


NETWORKS = (
    Network("mesh of 6 hosts", 6, 5),
    Network("torus of 3x3 hosts", 9, 4, grid="3x3"),
    Network("mesh of 6 hosts, one cable at a quarter", 6, 5, slow=(0, 2)),
)
"""The flow is from host 0 to host 1."""
