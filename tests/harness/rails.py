# SPDX-License-Identifier: Apache-2.0
"""Hosts of a cluster in a box that several networks join, each with a switch of its own."""

from __future__ import annotations

from collections.abc import Sequence

from harness.box import Box
from harness.fabric import shape_port

RAILS = ("eth0", "eth1", "eth2")
"""The interface of each host in each network."""


def join_by_networks(box: Box, bandwidth: float | None, rails: Sequence[str] = RAILS) -> None:
    """Add networks to the first; cables carry `bandwidth` bytes per second, or what cores do."""
    for device in rails[1:]:
        box.add_switch(f"s{device}")
        for number in range(1, box.hosts + 1):
            box.add_interface(number, device, f"10.8{device[-1]}.0.{number}", f"s{device}")
    for device in rails:
        set_bandwidth(box, device, bandwidth)


def set_bandwidth(box: Box, device: str, bandwidth: float | None) -> None:
    """Give all cables of a network so many bytes per second."""
    for number in range(1, box.hosts + 1) if bandwidth else ():
        shape_port(box, number, bandwidth, device)
